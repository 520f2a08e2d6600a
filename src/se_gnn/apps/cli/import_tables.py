"""`se-gnn import`: shows what was understood of two tables, then writes the graph."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import Only, beside, say, without
from se_gnn.apps.cli.options import (
    LARGEST_SEED,
    Setting,
    column_by_type,
    column_roles,
    edge_tables,
    node_tables,
    option,
    rare,
    read_settings,
    table_path,
)
from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.graph import Graph

KINDS = ("number", "boolean", "category", "date", "text")
COLUMNS = "Columns and edges"
CSV = Only("for CSV files", lambda values: any(map(_is_csv, (*values["nodes"], *values["edges"]))))
NEW_GRAPH = without("--like")
DRAWN = Only("if the split is drawn", lambda values: values["split"] is None and values["like"] is None)
BY_CHANCE = Only(DRAWN.situation, lambda values: DRAWN.holds(values) and "split_by_time" not in values)
SETTINGS = {
    "train_share": Setting(float, only=DRAWN),
    "val_share": Setting(float, only=DRAWN),
    "max_train": Setting(int, only=DRAWN),
    "seed": Setting(int, 0, LARGEST_SEED, only=BY_CHANCE),
    "split_by_time": Setting(str, only=NEW_GRAPH),
    "until": Setting(str),
    "strict": Setting(bool),
    "unit": Setting(str, only=beside("--target-number")),
    "text_words": Setting(int, only=NEW_GRAPH),
    "name_types": Setting(
        bool,
        only=Only("for several node types, without --like", lambda values: values["typed"] and values["like"] is None),
    ),
    "merge_classes": Setting(bool),
    "drop_dangling": Setting(bool),
    "encoding": Setting(str, only=CSV),
    "separator": Setting(str),
    "decimal": Setting(str),
    "missing": Setting(list),
    "name": Setting(str),
    "feature_type": Setting(str),
}


def import_tables(
    nodes: Annotated[
        list[str],
        option(
            "[TYPE=]FILE",
            "Node table, one row per node; .csv or .parquet. For several node types, repeat it: --nodes paper=FILE.",
        ),
    ],
    edges: Annotated[
        list[str],
        option(
            "[TYPE=]FILE",
            "Edge table, one row per edge. For several types, repeat it: --edges writes=FILE, or "
            "writes:author-paper=FILE.",
        ),
    ],
    id: Annotated[
        str,
        option("COLUMN", "ID column of the node table; for several node types, paper=COLUMN,author=COLUMN."),
    ],
    out: Annotated[Path, option("DIR", "Folder for the graph.")],
    label: Annotated[
        str,
        option("COLUMN", "Column with the class to predict; a cell is empty if unknown.", show_default=False),
        without("--target-number"),
    ] = "",
    target_number: Annotated[
        str | None, option("COLUMN", "Column with a number to predict, instead of --label.")
    ] = None,
    source: Annotated[
        str, option("COLUMN", "Edge column with the ID of one node; for several tables, writes=COLUMN,cites=COLUMN.")
    ] = "source",
    target: Annotated[str, option("COLUMN", "Edge column with the ID of the other node, in the same way.")] = "target",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the graph in DIR.")] = False,
    column: Annotated[
        list[str] | None,
        option(
            "COLUMN=ROLE",
            "How to use a column of the node table: number, boolean, category, date or text; caption (shown to people, "
            "not learned from), split (says train, validation, test or calibration), keep (use it even if it looks "
            "like an ID) or ignore. Repeatable.  [default: detected, and a random split]",
            heading=COLUMNS,
        ),
    ] = None,
    edge_column: Annotated[
        list[str] | None,
        option(
            "COLUMN=ROLE",
            "How to use a column of the edge table: weight, type, time (a date or Unix seconds), number, boolean, "
            "category, date, text or ignore. Repeatable.  [default: detected]",
            heading=COLUMNS,
        ),
    ] = None,
    directed: Annotated[
        bool,
        option(None, "Edges lead from source to target.  [default: no direction]", "--directed", heading=COLUMNS),
    ] = False,
    like: Annotated[
        Path | None,
        rare("DIR", "Import new rows for the model or graph in DIR: encode the columns in the same way."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        rare(
            "NAME=VALUE",
            "A setting that is rarely needed, for example until=2026-03-31 (drop the edges after this day) or "
            f"encoding=cp1252 (of CSV files); one of {', '.join(SETTINGS)}. Repeatable.",
            "--set",
        ),
    ] = None,
    as_json: Annotated[bool, rare(None, "Print the summary as JSON.", "--json")] = False,
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
    of_nodes, of_edges = node_tables(nodes), edge_tables(edges)
    node_types = () if isinstance(of_nodes, str) else tuple(of_nodes)
    edge_types = () if isinstance(of_edges, str) else tuple(one.type for one in of_edges)
    roles = _roles(column, ("caption", "split"), ("keep", "ignore"), beside="caption")
    edge_roles = _roles(edge_column, ("weight", "type", "time"), ("ignore",))
    call = {"nodes": nodes, "edges": edges, "target_number": target_number, "like": like, "split": roles["split"]}
    given = read_settings(settings, SETTINGS, {**call, "typed": bool(node_types)})
    if "separator" in given:
        given["separator"] = given["separator"].replace("\\t", "\t")
    imported = read_tables(
        of_nodes,
        of_edges,
        id=column_by_type(id, node_types, "--id"),
        label=label,
        target_number=target_number,
        source=column_by_type(source, edge_types, "--source"),
        target=column_by_type(target, edge_types, "--target"),
        directed=directed,
        like=None if like is None else _graph_of(like),
        out=out,
        **roles,
        **{f"edge_{role}": columns for role, columns in edge_roles.items()},
        **given,
    )
    say(imported.summary.to_json() if as_json else str(imported.summary))
    if not as_json:
        say(f"\nSaved to {out}. {'Predict its nodes' if like else 'Train on it'}:")
        say("  " + shlex.join(_next_command(out, like)))


def _roles(texts: list[str] | None, single: Sequence[str], several: Sequence[str], **more: str) -> dict[str, Any]:
    """Settings of :func:`read_tables`: the columns of each role, and of which kind the others are."""
    roles = column_roles(texts, single, (*KINDS, *several), **more)
    kinds = {column: kind for kind in KINDS for column in roles.pop(kind)}
    return {**roles, "kinds": kinds}


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
