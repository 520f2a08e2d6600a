"""What a folder of shards is the result of: everything that its bytes depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from se_gnn.errors import InputError
from se_gnn.files import sha256

_SIZES = ("kind", "num_nodes", "shard_nodes")  # beside the values


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRun:
    """One piece of work, whoever does it: shards do not depend on how many processes there are.

    Args:
        kind: what a row is: ``predictions``, ``explanations``.
        num_nodes: rows of all shards together.
        shard_nodes: rows of one shard; the last one may have fewer.
        values: model, graph, versions and settings, by name.

    >>> run = ShardRun(kind="predictions", num_nodes=5, shard_nodes=2, values={})
    >>> len(run), run.rows(2)
    (3, slice(4, 5, None))
    """

    kind: str
    num_nodes: int
    shard_nodes: int
    values: Mapping[str, str]

    def __post_init__(self) -> None:
        if self.shard_nodes < 1:
            raise InputError(f"shard_nodes must be at least 1, got {self.shard_nodes}")

    def __len__(self) -> int:
        return -(-self.num_nodes // self.shard_nodes)

    def rows(self, shard: int) -> slice:
        """Which of the nodes are in a shard."""
        first = shard * self.shard_nodes
        return slice(first, min(first + self.shard_nodes, self.num_nodes))

    def to_dict(self) -> dict[str, str]:
        """All of it as texts: what ranks must agree on."""
        sizes = dict(zip(_SIZES, (self.kind, str(self.num_nodes), str(self.shard_nodes)), strict=True))
        return {**sizes, **self.values}

    @classmethod
    def of(cls, values: Mapping[str, str]) -> ShardRun:
        """The run that :meth:`to_dict` tells of."""
        sizes = {name: values[name] for name in _SIZES}
        rest = {name: value for name, value in values.items() if name not in sizes}
        return cls(
            kind=sizes["kind"], num_nodes=int(sizes["num_nodes"]), shard_nodes=int(sizes["shard_nodes"]), values=rest
        )

    @property
    def digest(self) -> str:
        """The same for runs that write the same bytes."""
        return sha256(json.dumps(self.to_dict(), sort_keys=True).encode())
