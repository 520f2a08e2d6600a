"""What is to be rated: of which models, by which methods, how many targets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from se_gnn.errors import InputError, did_you_mean

METHODS = {"se-gnn": "SE-GNN", "mlp-k": "MLP-K", "gcn-k": "GCN-K", "gin-k": "GIN-K"}
MOST_ITEMS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPlan:
    """All that decides which pairs are shown; a file of ratings keeps it."""

    models: tuple[tuple[str, str], ...]  # name, and the digest of the manifest
    methods: tuple[str, ...] = tuple(METHODS)
    items: int = 15  # targets per model
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.items <= MOST_ITEMS:
            raise InputError(f"items must be between 1 and {MOST_ITEMS}, got {self.items}")

    def to_json(self) -> str:
        """The plan as it is stored."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RatingPlan:
        """The plan that :meth:`to_json` wrote."""
        given: dict[str, Any] = json.loads(text)
        models = tuple((str(name), str(digest)) for name, digest in given.pop("models"))
        return cls(models=models, methods=tuple(given.pop("methods")), **given)

    def difference(self, asked: RatingPlan) -> str | None:
        """In words, what another plan asks for that this one has not; None where they are the same."""
        if [digest for _, digest in self.models] != [digest for _, digest in asked.models]:
            return f"other models ({', '.join(name for name, _ in self.models)})"
        if set(self.methods) != set(asked.methods):
            return f"--methods {','.join(self.methods)}"
        if self.items != asked.items:
            return f"--items {self.items}"
        return None if self.seed == asked.seed else f"--seed {self.seed}"


def methods_of(names: Sequence[str]) -> tuple[str, ...]:
    """Methods by name, each once, in the usual order.

    >>> methods_of(["GCN-K", "se-gnn"])
    ('se-gnn', 'gcn-k')
    """
    given = [name.strip().lower() for name in names if name.strip()]
    for name in given:
        if name not in METHODS:
            raise InputError(f"unknown method {name!r}{did_you_mean(name, METHODS)}; known: {', '.join(METHODS)}")
    if not given:
        raise InputError(f"methods must name at least one of {', '.join(METHODS)}")
    return tuple(method for method in METHODS if method in given)
