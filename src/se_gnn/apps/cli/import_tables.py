"""`se-gnn import`: shows what was understood of two tables, then writes the graph."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import Only, without
from se_gnn.apps.cli.options import LARGEST_SEED, LESS_COMMON, column_roles, one_column
from se_gnn.apps.cli.printing import say
from se_gnn.apps.cli.typed_tables import edge_tables, id_columns, node_tables, table_path
from se_gnn.errors import InputError, did_you_mean, shortened

if TYPE_CHECKING:
    from se_gnn.graph import Graph

KINDS = ("number", "boolean", "category", "date", "text")
NODE_ROLES = (*KINDS, "caption", "keep", "ignore")
EDGE_ROLES = (*KINDS, "weight", "type", "time", "ignore")
SETTINGS: dict[str, type] = {
    "train_share": float, "val_share": float, "max_train": int, "seed": int, "split_by_time": str, "strict": bool,
    "unit": str, "text_words": int, "name_types": bool, "merge_classes": bool, "drop_dangling": bool, "separator": str,
    "decimal": str, "missing": list, "name": str, "feature_type": str,
}  # fmt: skip
FITTED = ("split_by_time", "text_words", "name_types")  # not read for a graph like another
DRAWN = ("train_share", "val_share", "max_train", "seed")  # read only if the split is drawn
TYPE_WORDS = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "text",
    list: 'a word, or ["a", "b"]',
}
COLUMNS = "Columns and edges"


def import_tables(
    nodes: Annotated[
        list[str],
        typer.Option(
            metavar="[TYPE=]FILE",
            help="Node table, one row per node; .csv or .parquet. For several node types, repeat it: --nodes "
            "paper=FILE.",
            show_default=False,
        ),
    ],
    edges: Annotated[
        list[str],
        typer.Option(
            metavar="[TYPE=]FILE",
            help="Edge table, one row per edge. For several types, repeat it: --edges writes=FILE, or "
            "writes:author-paper=FILE.",
            show_default=False,
        ),
    ],
    id: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="ID column of the node table; for several node types, paper=COLUMN,author=COLUMN.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the graph.", show_default=False)],
    label: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Column with the class to predict; a cell is empty if unknown.", show_default=False
        ),
        without("--target-number"),
    ] = "",
    target_number: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with a number to predict, instead of --label.")
    ] = None,
    source: Annotated[str, typer.Option(metavar="COLUMN", help="Edge column with the ID of one node.")] = "source",
    target: Annotated[
        str, typer.Option(metavar="COLUMN", help="Edge column with the ID of the other node.")
    ] = "target",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the graph in DIR.")] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ROLE",
            help="How to use a column of the node table: number, boolean, category, date or text; caption (shown to "
            "people, not learned from), keep (use it even if it looks like an ID) or ignore. Repeatable.  "
            "[default: detected]",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    edge_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ROLE",
            help="How to use a column of the edge table: weight, type, time (a date or Unix seconds), number, boolean, "
            "category, date, text or ignore. Repeatable.  [default: detected]",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    directed: Annotated[
        bool,
        typer.Option(
            "--directed", help="Edges lead from source to target.  [default: no direction]", rich_help_panel=COLUMNS
        ),
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Drop edges after this day, for example 2026-03-31; needs a time column.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that says train, validation, test or calibration.  [default: a random split]",
            rich_help_panel=LESS_COMMON,
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Import new rows for the model or graph in DIR: encode the columns in the same way.",
            rich_help_panel=LESS_COMMON,
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Encoding of CSV files, for example cp1252.  [default: detected]",
            rich_help_panel=LESS_COMMON,
        ),
        Only("for CSV files", lambda values: any(map(_is_csv, (*values["nodes"], *values["edges"])))),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help=f"A setting that is rarely needed, one of {', '.join(SETTINGS)}. Repeatable.",
            rich_help_panel=LESS_COMMON,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON.", rich_help_panel=LESS_COMMON)
    ] = False,
) -> None:
    """Make a graph from a node table and an edge table.

    Name the column to predict with --label (a class) or --target-number (a number). The command prints what it
    understood (columns, classes, split, edges, warnings) and writes the graph to DIR, ready for `se-gnn train`.

    All other columns become attributes of the nodes or edges, unless they look like IDs. There may be one table per
    node type and one per edge type. Tables that do not fit into memory are read in parts.
    """
    from se_gnn.apps.cli.outputs import check_import_folder
    from se_gnn.tables import read_tables

    check_import_folder(out, overwrite=overwrite)
    of_nodes = node_tables(nodes)
    roles = column_roles(column, NODE_ROLES, beside="caption")
    edge_roles = column_roles(edge_column, EDGE_ROLES)
    imported = read_tables(
        of_nodes,
        edge_tables(edges),
        id=id_columns(id, of_nodes),
        label=label,
        target_number=target_number,
        source=source,
        target=target,
        split=split,
        caption=one_column(roles, "caption"),
        ignore=roles["ignore"],
        keep=roles["keep"],
        kinds={name: kind for kind in KINDS for name in roles[kind]},
        directed=directed,
        edge_weight=one_column(edge_roles, "weight"),
        edge_type=one_column(edge_roles, "type"),
        edge_time=one_column(edge_roles, "time"),
        edge_ignore=edge_roles["ignore"],
        edge_kinds={name: kind for kind in KINDS for name in edge_roles[kind]},
        until=until,
        encoding=encoding,
        like=None if like is None else _graph_of(like),
        out=out,
        **_settings(settings, target_number, like=like, split=split, typed=not isinstance(of_nodes, str)),
    )
    say(imported.summary.to_json() if as_json else str(imported.summary))
    if not as_json:
        say(f"\nSaved to {out}. {'Predict its nodes' if like else 'Train on it'}:")
        say("  " + shlex.join(_next_command(out, like)))


def _is_csv(given: str) -> bool:
    from se_gnn.tables.source import PARQUET_ENDINGS

    return table_path(given).suffix.lower() not in PARQUET_ENDINGS


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


def _settings(
    given: list[str] | None, number: str | None, *, like: Path | None, split: str | None, typed: bool
) -> dict[str, Any]:
    """What ``--set`` says, each value with the type of its setting."""
    from se_gnn.settings.reading import read_assignments

    found = read_assignments(given or ())
    for name, value in found.items():
        if name not in SETTINGS:
            raise InputError(f"--set: unknown setting {shortened(name)}{did_you_mean(name, SETTINGS)}")
        if name in DRAWN and (split is not None or like is not None or (name == "seed" and "split_by_time" in found)):
            raise InputError(f"--set {name} has an effect only if the split is drawn: leave it out")
        if name in FITTED and like is not None:
            raise InputError(f"--set {name} has an effect only without --like: leave it out")
        if name == "name_types" and not typed:
            raise InputError("--set name_types has an effect only with several node types: leave it out")
        if name == "unit" and number is None:
            raise InputError("--set unit has an effect only with --target-number: leave it out")
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
        elif name == "seed" and not 0 <= found[name] <= LARGEST_SEED:
            raise InputError(f"seed must be between 0 and {LARGEST_SEED}, got {value}")
    return found
