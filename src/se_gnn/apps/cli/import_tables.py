"""`se-gnn import`: shows what was understood of two tables, then writes the graph."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import LARGEST_SEED, column_names
from se_gnn.apps.cli.output import say
from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.graph import Graph


def import_tables(
    nodes: Annotated[
        list[str],
        typer.Option(
            metavar="[KIND=]FILE",
            help="Table with one row per node, .csv or .parquet; several kinds: paper=FILE. Repeatable.",
            show_default=False,
        ),
    ],
    edges: Annotated[
        list[str],
        typer.Option(
            metavar="[TYPE=]FILE",
            help="Table with one row per edge; several kinds: writes=FILE or writes:author-paper=FILE. Repeatable.",
            show_default=False,
        ),
    ],
    id: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Column that names the nodes; or paper=COLUMN,author=COLUMN.", show_default=False
        ),
    ],
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with the class; empty: not known.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the graph.", show_default=False)],
    source: Annotated[str, typer.Option(metavar="COLUMN", help="Column with one end of an edge.")] = "source",
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the other end.")] = "target",
    directed: Annotated[
        bool, typer.Option("--directed", help="An edge leads from its source to its target; else it has no direction.")
    ] = False,
    edge_weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the edges: how much one counts, above 0.")
    ] = None,
    edge_type: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the edges with their type, as pays or owns.")
    ] = None,
    edge_time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the edges with their date, or Unix seconds.")
    ] = None,
    edge_ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns of the edges to leave out; all others are their attributes."),
    ] = None,
    edge_kind: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=KIND", help="What a column of the edges is, as --kind for nodes. Repeatable."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Leave out edges after this day, as 2026-03-31.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column that says train, validation, test, calibration or nothing.  [default: drawn]"
        ),
    ] = None,
    split_by_time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Date by which the latest nodes test; edges: that of their first edge."),
    ] = None,
    caption: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with what people see for a node.  [default: the id]"),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="New rows for a model, or for a graph imported before: use its encoding."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Leave these out: names with commas. Repeatable.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Use these although they look like keys: names with commas. Repeatable."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=KIND", help="number, boolean, category, date or text. Repeatable."),
    ] = None,
    text_words: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most words of a text column that become features.")
    ] = 500,
    merge_classes: Annotated[
        bool, typer.Option("--merge-classes", help="Make one class of those that look alike, as a and A, 1 and 1.0.")
    ] = False,
    drop_dangling: Annotated[
        bool, typer.Option("--drop-dangling", help="Leave out edges that name no node, instead of an error.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors: nothing is written.")] = False,
    sep: Annotated[
        str | None, typer.Option(metavar="CHAR", help="Between the columns of CSV files.  [default: found out]")
    ] = None,
    decimal: Annotated[str, typer.Option(metavar="CHAR", help="Decimal point in CSV files.")] = ".",
    missing: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word that means no value, as NA. Repeatable.")
    ] = None,
    train_share: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Of a drawn split: labeled nodes that vote.")
    ] = 0.6,
    val_share: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Of a drawn split: nodes that choose the best epoch.")
    ] = 0.2,
    max_train: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of a drawn split: most labeled nodes of a class that vote.")
    ] = 200,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="Draws the split.")] = 0,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the graph.  [default: that of the node table]")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the graph that DIR holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make a graph of a node table and an edge table, or of one table per kind of nodes and one per type of edges.

    Shows first what was understood: columns and their kinds, classes, split, edges, warnings. Numbers, booleans,
    categories, dates and texts become features; no label is looked at for it. Columns of the edges are read in the
    same way and stay with them; edges with the same ends and different values are all kept. DIR is then what
    `se-gnn train` takes.
    """
    from se_gnn.apps.cli.kinds import edge_tables, id_columns, node_tables
    from se_gnn.apps.cli.output_folder import check_import_folder
    from se_gnn.datasets import tables
    from se_gnn.datasets.tables.importing import ABOUT, EDGE_TABLE, TABLE, check_no_warnings

    check_import_folder(out, (TABLE, EDGE_TABLE, ABOUT), overwrite=overwrite)
    kinds = node_tables(nodes)
    columns = id_columns(id, kinds)
    settings = tables.ImportSettings(
        id=id if columns is None else next(iter(columns.values())),
        label=label,
        source=source,
        target=target,
        split=split,
        split_by_time=split_by_time,
        caption=caption,
        train_share=train_share,
        val_share=val_share,
        max_train=max_train,
        seed=seed,
        ignore=column_names(ignore),
        keep=column_names(keep),
        kinds=_kinds(kind),
        text_words=text_words,
        merge_classes=merge_classes,
        drop_dangling=drop_dangling,
        separator=None if sep is None else sep.replace("\\t", "\t"),
        decimal=decimal,
        missing=missing or (),
        name=name,
        directed=directed,
        edge_weight=edge_weight,
        edge_type=edge_type,
        edge_time=edge_time,
        edge_ignore=column_names(edge_ignore),
        edge_kinds=_kinds(edge_kind),
        until=until,
    )
    imported: tables.Imported | tables.ImportedKinds
    if kinds is None:
        known = None if like is None else _graph_of(like)
        imported = tables.import_tables(nodes[0], _one(edges), settings, like=known)
    elif like is not None:
        raise InputError(
            "--like is for one kind of nodes; import the tables of all kinds with the same options instead"
        )
    else:
        imported = tables.import_kinds(kinds, edge_tables(edges), settings, ids=columns)
    say(imported.summary.to_json() if as_json else str(imported.summary))
    if strict:
        check_no_warnings(imported.summary)
    imported.save(out)
    if not as_json:
        say(f"\nSaved to {out}. {'Predict its nodes' if like else 'Train on it'}:")
        say("  " + shlex.join(_next_command(out, like)))


def _next_command(out: Path, like: Path | None) -> list[str]:
    from se_gnn.model.folder import is_model_folder

    if like is None:
        return ["se-gnn", "train", str(out), "--out", "model"]
    model = str(like) if is_model_folder(like) else "model"
    return ["se-gnn", "predict", model, "--graph", str(out), "--out", "predictions.csv"]


def _graph_of(folder: Path) -> Graph:
    from se_gnn.graph.storage import holds_graph, load_graph

    if not holds_graph(folder):
        raise InputError(f"--like {folder} is neither a model folder nor the folder of a graph")
    return load_graph(folder)


def _one(edges: list[str]) -> str:
    if len(edges) > 1:
        raise InputError(
            f"--edges is given {len(edges)} times, but --nodes has one table; say the kind of the nodes, as in "
            "--nodes paper=FILE, or give the type of an edge in a column: --edge-type COLUMN"
        )
    return edges[0]


def _kinds(given: list[str] | None) -> dict[str, str]:
    kinds = {}
    for text in given or ():
        name, equals, kind = text.rpartition("=")
        if not equals:
            raise InputError(f"--kind must look like postcode=category, got {text!r}")
        kinds[name.strip()] = kind.strip()
    return kinds
