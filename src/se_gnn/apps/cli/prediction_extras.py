"""What `se-gnn predict` adds to a row when asked: the set of classes, and whether there is an answer at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from se_gnn.graph import Graph
from se_gnn.labels.novelty import Novelty
from se_gnn.labels.sets import PredictionSets
from se_gnn.model import Prediction
from se_gnn.ranking import NO_CASE

FAR = "closest known case, though not close"


class Extra(Protocol):
    """Something that is written for every node beside class, probabilities and votes."""

    @property
    def header(self) -> list[str]:
        """Columns of a CSV file."""

    def row(self, i: int) -> list[str | float]:
        """Cells of the i-th node."""

    def values(self, i: int) -> dict[str, Any]:
        """The i-th node as JSON has it."""

    def arrow_types(self, pa: Any) -> dict[str, Any]:
        """Types of :meth:`values` in a Parquet file."""


@dataclass(frozen=True, slots=True, eq=False)
class SetCells:
    """The set of a node: its size, which classes it holds, and the nearest labeled node of each of them."""

    sets: PredictionSets
    graph: Graph

    @property
    def header(self) -> list[str]:
        """Columns of a CSV file."""
        names = self.graph.class_names
        return ["set_size", *(f"in_set_{name}" for name in names), *(f"case_{name}" for name in names)]

    def row(self, i: int) -> list[str | float]:
        """Cells of the i-th node; a class that is not in the set has no case."""
        members = self.sets.members[i]
        cases = [self._case(i, c) or "" if inside else "" for c, inside in enumerate(members)]
        return [int(members.sum()), *(int(inside) for inside in members), *cases]

    def values(self, i: int) -> dict[str, Any]:
        """The i-th node as JSON has it, the least strange class first."""
        found = [
            {
                "class": self.graph.class_names[c],
                "case": self._case(i, c),
                "similarity": None if self._case(i, c) is None else float(self.sets.cases.similarity[i, c]),
            }
            for c in self.sets.classes(i).tolist()
        ]
        return {"set": found}

    def arrow_types(self, pa: Any) -> dict[str, Any]:
        """Types of :meth:`values` in a Parquet file."""
        member = pa.struct([("class", pa.string()), ("case", pa.string()), ("similarity", pa.float32())])
        return {"set": pa.list_(member)}

    def _case(self, i: int, label: int) -> str | None:
        node = int(self.sets.cases.nodes[i, label])
        return None if node == NO_CASE else self.graph.node_names[node]


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCells:
    """Whether a node has an answer, how unlike everything known it is, and the closest known case."""

    scored: Novelty
    prediction: Prediction
    graph: Graph

    @property
    def header(self) -> list[str]:
        """Columns of a CSV file; `answer` is empty where there is none."""
        return ["answer", "novelty", "closest", "note"]

    def row(self, i: int) -> list[str | float]:
        """Cells of the i-th node."""
        return ["" if value is None else value for value in self.values(i).values()]

    def values(self, i: int) -> dict[str, Any]:
        """The i-th node as JSON has it."""
        none = bool(self.scored.abstains[i])
        return {
            "answer": None if none else self.graph.class_names[self.prediction.classes[i]],
            "novelty": float(self.scored.score[i]),
            "closest": self.graph.node_names[self.prediction.neighbors[i, 0]],
            "note": FAR if none else None,
        }

    def arrow_types(self, pa: Any) -> dict[str, Any]:
        """Types of :meth:`values` in a Parquet file."""
        return {"answer": pa.string(), "novelty": pa.float64(), "closest": pa.string(), "note": pa.string()}
