"""What a page shows, as the query of its address: every state is a link."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from se_gnn.apps.service.node_table import NodeQuery, Sort
from se_gnn.explain import CRUCIAL_EDGES
from se_gnn.ranking import WhatIf

ROWS = 25
MOST_CRUCIAL = 20
CORNERS = ("left", "bottom", "right", "top")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The table of all nodes: what is asked for, and which page of it."""

    path: str = "/"
    query: NodeQuery
    page: int = 1

    def href(self, **changes: object) -> str:
        """Where the table is with some changes; but for a change of the page itself, it begins at the first."""
        page = changes.pop("page", 1)
        return _href(self.path, self._items(replace(self.query, **changes), int(str(page))))  # type: ignore[arg-type]

    @property
    def here(self) -> str:
        """The address of this state."""
        return self.href(page=self.page)

    def sorted_by(self, sort: str) -> str:
        """Where the table is sorted by a column; by the same one again, the other way round."""
        sort = Sort(sort)
        again = self.query.sort == sort
        return self.href(sort=sort, descending=again and not self.query.descending)

    def _items(self, query: NodeQuery, page: int) -> Iterable[tuple[str, object]]:
        usual = NodeQuery()
        for name in ("search", "predicted", "label", "part", "outcome", "answered", "least", "most", "sort"):
            value = getattr(query, name)
            if value is not None and value != getattr(usual, name):
                yield name, value
        if query.descending:
            yield "descending", "true"
        if query.region is not None:
            yield from ((name, f"{value:.4g}") for name, value in zip(CORNERS, query.region))
        if page > 1:
            yield "page", page


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """One node, the settings of its vote, and what is seen of it."""

    node: int
    what_if: WhatIf = WhatIf()  # noqa: RUF009 - frozen
    crucial_edges: int = CRUCIAL_EDGES
    beside: int | None = None  # labeled neighbor whose local graph is beside the node's; None: the nearest

    @property
    def changed(self) -> bool:
        """Whether the vote has other settings than the model's."""
        return self.what_if != WhatIf()

    @property
    def href(self) -> str:
        """The address of this state."""
        return _href(f"/nodes/{self.node}", [*self._what_if(), *self._seen()])

    @property
    def json_href(self) -> str:
        """The same explanation for programs."""
        return _href(f"/v1/nodes/{self.node}/explanation", self._what_if())

    def _what_if(self) -> Iterable[tuple[str, object]]:
        if self.what_if.num_nearest is not None:
            yield "num_nearest", self.what_if.num_nearest
        if self.what_if.node_weight is not None:
            yield "node_weight", f"{self.what_if.node_weight:g}"
        yield from (("without", node) for node in self.what_if.without)

    def _seen(self) -> Iterable[tuple[str, object]]:
        if self.crucial_edges != CRUCIAL_EDGES:
            yield "edges", self.crucial_edges
        if self.beside is not None:
            yield "beside", self.beside


def _href(path: str, items: Iterable[tuple[str, object]]) -> str:
    query = urlencode([(name, str(value)) for name, value in items])
    return f"{path}?{query}" if query else path
