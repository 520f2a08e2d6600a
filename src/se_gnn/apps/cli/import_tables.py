"""`se-gnn import`: shows what was understood of two tables, then writes the graph."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.arguments import LARGEST_SEED, column_roles
from se_gnn.apps.cli.commands import Only
from se_gnn.apps.cli.output import say
from se_gnn.errors import InputError, did_you_mean, shortened

if TYPE_CHECKING:
    from se_gnn.graph import Graph

KINDS = ("number", "boolean", "category", "date", "text")
NODE_ROLES = (*KINDS, "caption", "keep", "ignore")
EDGE_ROLES = (*KINDS, "weight", "type", "time", "ignore")
SETTINGS: dict[str, type] = {
    "train_share": float, "val_share": float, "max_train": int, "text_words": int, "merge_classes": bool,
    "drop_dangling": bool, "separator": str, "decimal": str, "missing": list, "name": str,
}  # fmt: skip
TYPE_WORDS = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "text",
    list: 'a word, or ["a", "b"]',
}


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
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ROLE",
            help="What a column of the nodes is: number, boolean, category, date, text, caption (what people see), "
            "keep (although it looks like a key) or ignore. Repeatable.  [default: detected]",
        ),
    ] = None,
    edge_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ROLE",
            help="What a column of the edges is: weight (how much an edge counts), type, time (date or Unix seconds), "
            "number, boolean, category, date, text or ignore. Repeatable.  [default: detected]",
        ),
    ] = None,
    directed: Annotated[
        bool, typer.Option("--directed", help="An edge leads from its source to its target; else it has no direction.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Leave out edges after this day, as 2026-03-31; needs a column =time."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column that says train, validation, test, calibration or nothing.  [default: drawn]"
        ),
    ] = None,
    split_by_time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Split by this date; the newest nodes form the test set. edges: the date of their first edge.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="Random seed of the split."),
        Only("if the split is drawn", lambda values: values["split"] is None and values["split_by_time"] is None),
    ] = 0,
    like: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="New rows for a model, or for a graph imported before: use its encoding."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help=f"{', '.join(SETTINGS)}. Repeatable."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors: nothing is written.")] = False,
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
    roles, edge_roles = column_roles(column, NODE_ROLES), column_roles(edge_column, EDGE_ROLES)
    given = tables.ImportSettings(
        id=id if columns is None else next(iter(columns.values())),
        label=label,
        source=source,
        target=target,
        split=split,
        split_by_time=split_by_time,
        caption=_one_column(roles, "caption"),
        seed=seed,
        ignore=roles["ignore"],
        keep=roles["keep"],
        kinds={name: kind for kind in KINDS for name in roles[kind]},
        directed=directed,
        edge_weight=_one_column(edge_roles, "weight"),
        edge_type=_one_column(edge_roles, "type"),
        edge_time=_one_column(edge_roles, "time"),
        edge_ignore=edge_roles["ignore"],
        edge_kinds={name: kind for kind in KINDS for name in edge_roles[kind]},
        until=until,
        **_settings(settings, drawn=split is None),
    )
    imported: tables.Imported | tables.ImportedKinds
    if kinds is None:
        known = None if like is None else _graph_of(like)
        imported = tables.import_tables(nodes[0], _one(edges), given, like=known)
    elif like is not None:
        raise InputError(
            "--like is for one kind of nodes; import the tables of all kinds with the same options instead"
        )
    else:
        imported = tables.import_kinds(kinds, edge_tables(edges), given, ids=columns)
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


def _one_column(roles: Mapping[str, list[str]], role: str) -> str | None:
    if len(roles[role]) > 1:
        raise InputError(f"one column can be the {role}, got {' and '.join(map(repr, roles[role]))}")
    return roles[role][0] if roles[role] else None


def _settings(given: list[str] | None, *, drawn: bool) -> dict[str, Any]:
    """What ``--set`` says, each value with the type of its setting."""
    from se_gnn.settings.reading import read_assignments

    found = read_assignments(given or ())
    for name, value in found.items():
        if name not in SETTINGS:
            raise InputError(f"--set: unknown setting {shortened(name)}{did_you_mean(name, SETTINGS)}")
        if name in ("train_share", "val_share", "max_train") and not drawn:
            raise InputError(f"{name} has an effect only if the split is drawn, not with --split: leave it out")
        kind = SETTINGS[name]
        words = [value] if isinstance(value, str) else value
        if kind is list and isinstance(words, list) and all(isinstance(word, str) for word in words):
            found[name] = tuple(words)
        elif kind is str and not isinstance(value, list | dict):
            found[name] = str(value).replace("\\t", "\t") if name == "separator" else str(value)
        elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = float(value)
        elif type(value) is not kind:
            raise InputError(f"{name} must be {TYPE_WORDS[kind]}, got {shortened(value)}")
    return found
