"""What comes of an import: the graph, what was understood, and the tables; written to a folder and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from se_gnn.errors import InputError
from se_gnn.files import SMALL, commit_files, parse_json, read_current, writing_to
from se_gnn.files.json_text import read_record
from se_gnn.graph import Graph
from se_gnn.graph.storage import ARRAY_FILES, graph_files, load_graph
from se_gnn.tables.edges import ONE
from se_gnn.tables.settings import ABOUT, ImportSettings, Summary

TABLE_FILES = ("nodes.parquet", "edges.parquet", "nodes.[0-9]*.parquet", "edges.[0-9]*.parquet")


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """A graph, what was understood of its tables, and the tables themselves, as they were given.

    Args:
        graph: in memory, or mapped where the tables did not fit there.
        summary: what was understood.
        settings: how the tables were read.
        nodes: the node table of each type; none where they did not fit into memory.
        edges: the edge table of each type; none where they did not fit into memory.
    """

    graph: Graph
    summary: Summary
    settings: ImportSettings
    nodes: Mapping[str, pa.Table]
    edges: Mapping[str, pa.Table]

    def to_tables(self) -> tuple[Any, Any]:
        """Node table and edge table; importing them with the same settings and the split column gives the same graph.

        They are the tables that were given, value by value; a split that was drawn is added to the node table as a
        column. With several types: a table for each.
        """
        if not self.nodes:
            raise InputError(
                f"the tables of {self.graph.name} did not fit into memory, and are not kept with the graph"
            )
        graph, settings, nodes = self.graph, self.settings, dict(self.nodes)
        labeled = graph.target.node_type or ONE
        if settings.split is None:
            parts = np.full(graph.num_nodes, "", dtype=object)
            for part, chosen in graph.split.items():
                parts[chosen] = part
            own = pa.array(parts[graph.candidates], pa.string())
            nodes[labeled] = nodes[labeled].append_column(self.split_column, own)
        return nodes.get(ONE, nodes), self.edges.get(ONE, dict(self.edges))

    @property
    def split_column(self) -> str:
        """The column of :meth:`to_tables` that holds the split."""
        if self.settings.split is not None:
            return self.settings.split
        name = "split"
        while any(name in table.column_names for table in self.nodes.values()):
            name += "_"
        return name

    def save(self, folder: str | Path) -> None:
        """Write graph, tables and summary into a folder; `se-gnn train` takes it, :func:`load_import` too."""
        with writing_to(folder) as path:
            commit_files(path, {**graph_files(self.graph), **self.record()}, remove=(ARRAY_FILES, *TABLE_FILES))

    def record(self) -> dict[str, bytes]:
        """The record of the import, and its tables, as files."""
        tables: dict[str, bytes] = {}
        names: dict[str, dict[str, str]] = {}
        for what, held in (("nodes", self.nodes), ("edges", self.edges)):
            several = len(held) > 1 or ONE not in held
            names[what] = {one: f"{what}.{i}.parquet" if several else f"{what}.parquet" for i, one in enumerate(held)}
            for one, table in held.items():
                sink = pa.BufferOutputStream()
                pa_parquet.write_table(table, sink)
                tables[names[what][one]] = sink.getvalue().to_pybytes()
        record = {"settings": asdict(self.settings), "summary": asdict(self.summary), "tables": names}
        return {ABOUT: json.dumps(record, indent=1, ensure_ascii=False).encode(), **tables}


def load_import(folder: str | Path) -> Imported:
    """What :func:`read_tables` or :meth:`Imported.save` wrote into a folder."""
    path = Path(folder)
    graph = load_graph(path)
    about = parse_json(read_current(path, ABOUT, limit=SMALL), path / ABOUT)
    try:
        summary = read_record(Summary, about["summary"])
        held = {
            what: {one: pa_parquet.read_table(pa.BufferReader(read_current(path, file))) for one, file in files.items()}
            for what, files in about["tables"].items()
        }
        return Imported(graph, summary, ImportSettings(**about["settings"]), held["nodes"], held["edges"])
    except (KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise InputError(f"the import in {path} cannot be read: {error}") from error
