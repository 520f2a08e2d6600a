"""What `se-gnn predict --new-nodes` does besides predicting: checks, reads, tells whose answers change, and keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from se_gnn.apps.cli.arguments import check_file, column_roles
from se_gnn.apps.cli.record_files import ENDINGS, Record, write_records
from se_gnn.apps.cli.tables import count, percent, table
from se_gnn.errors import InputError
from se_gnn.labels.extension import ChangedAnswer, Extension, extend
from se_gnn.model import TrainedModel

LISTED = 10  # changed answers that are printed


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Arriving:
    """Tables of new nodes and edges, and where to write what came of them."""

    nodes: Path
    edges: Path | None
    changes: Path | None
    graph: Path | None
    id: str
    source: str
    target: str
    ignore: tuple[str, ...]

    @classmethod
    def checked(
        cls,
        nodes: Path | None,
        edges: Path | None,
        changes: Path | None,
        graph: Path | None,
        columns: list[str] | None,
        *,
        overwrite: bool,
    ) -> Arriving | None:
        """None if no new nodes were named; nothing is read yet."""
        if nodes is None:
            return None
        if changes is not None:
            if changes.suffix.lower() not in ENDINGS:
                raise InputError(f"--changes must end in {' or '.join(ENDINGS)}, got {changes.name!r}")
            check_file(changes, overwrite=overwrite)
        if graph is not None and graph.exists():
            raise InputError(f"--keep-graph {graph} already exists; name a folder that does not")
        roles = column_roles(columns, ("id", "source", "target", "ignore"))
        ends = {role: _one(roles, role) for role in ("source", "target")}
        if edges is None and (roles["source"] or roles["target"]):
            raise InputError("--column COLUMN=source and =target have an effect only with --new-edges: leave them out")
        return cls(
            nodes=nodes, edges=edges, changes=changes, graph=graph, id=_one(roles, "id"), ignore=tuple(roles["ignore"]),
            **ends,
        )  # fmt: skip

    def extend(self, trained: TrainedModel) -> Extension:
        """Read the tables, and predict on the graph with the new nodes."""
        from se_gnn.datasets.tables.new_nodes import read_new_nodes

        columns = {"id": self.id, "source": self.source, "target": self.target}
        return extend(trained, read_new_nodes(trained.graph, self.nodes, self.edges, **columns, ignore=self.ignore))

    def about(self, extension: Extension) -> list[str]:
        """What people should know: notes on the rows, and known nodes whose answer changes."""
        lines = [f"note: {note}" for note in extension.notes]
        changed = extension.changed
        if not changed:
            return [*lines, "No known node changes its class."]
        rows = [[one.name, one.was, one.becomes, percent(one.probability)] for one in changed[:LISTED]]
        told = f"{count(len(changed), 'known node')} changed class:"
        more = len(changed) - LISTED
        end = [] if more <= 0 else [f"and {more:,} more" + ("; --changes FILE writes all" if not self.changes else "")]
        return [*lines, told, table(["node", "was", "is", "probability"], rows, names=(0, 1, 2)), *end]

    def write(self, extension: Extension) -> None:
        """Write what was asked for: changed answers, the graph."""
        from se_gnn.graph.storage import save_graph

        if self.changes is not None:
            write_records([_record(one) for one in extension.changed], self.changes)
        if self.graph is not None:
            save_graph(extension.graph, self.graph)


def _one(roles: Mapping[str, list[str]], role: str) -> str:
    """The column with a role; without any, the one that is called so."""
    if len(roles[role]) > 1:
        raise InputError(f"one column can be the {role}, got {' and '.join(map(repr, roles[role]))}")
    return roles[role][0] if roles[role] else role


def _record(one: ChangedAnswer) -> Record:
    return {
        "node": one.name,
        "was": one.was,
        "was_probability": one.was_probability,
        "class": one.becomes,
        "probability": one.probability,
    }
