"""What a page shows, as the query of its address: every state is a link."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from urllib.parse import quote, urlencode

from se_gnn.apps.service.columns import Sort
from se_gnn.apps.service.node_table import NodeQuery
from se_gnn.explain import CRUCIAL_EDGES
from se_gnn.graph import Graph
from se_gnn.ranking import WhatIf

ROWS = 25
MOST_CRUCIAL = 20
MOST_EXPANDED = 12  # nodes whose edges are drawn around a node
LONGEST_KEY = 500  # characters of a name in an address
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
        return href(self.path, self._items(replace(self.query, **changes), int(str(page))))  # type: ignore[arg-type]

    @property
    def here(self) -> str:
        """The address of this state."""
        return self.href(page=self.page)

    @property
    def export(self) -> str:
        """Where all nodes of this state are a file."""
        return href("/export", self._items(self.query, 1))

    def sorted_by(self, sort: str) -> str:
        """The address of the table sorted by a column; in the reverse order if it is sorted by it already."""
        sort = Sort(sort)
        again = self.query.sort == sort
        return self.href(sort=sort, descending=again and not self.query.descending)

    def _items(self, query: NodeQuery, page: int) -> Iterable[tuple[str, object]]:
        for field in fields(query):
            value = getattr(query, field.name)
            if field.name not in CORNERS and value != field.default:
                yield field.name, "true" if value is True else value
        if query.region is not None:
            yield from ((name, f"{value:.4g}") for name, value in zip(CORNERS, query.region))
        if page > 1:
            yield "page", page


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """One node, the settings of its vote, and what is shown of it."""

    graph: Graph
    node: int
    what_if: WhatIf = WhatIf()  # noqa: RUF009 - frozen
    crucial_edges: int = CRUCIAL_EDGES
    beside: int | None = None  # case whose local graph is beside the node's; None: the nearest
    expanded: tuple[int, ...] = ()  # nodes around it whose edges are drawn, too

    @property
    def changed(self) -> bool:
        """Whether the vote has other settings than the model's."""
        return self.what_if != WhatIf()

    @property
    def path(self) -> str:
        """The address of the node."""
        return node_href(self.graph, self.node)

    @property
    def href(self) -> str:
        """The address of this state."""
        return href(self.path, [*self._what_if(), *self._seen()])

    def toggled(self, node: int) -> str:
        """The address with the edges of another node drawn, or no longer drawn."""
        kept = tuple(one for one in self.expanded if one != node)
        return replace(self, expanded=kept if node in self.expanded else (*kept, node)[-MOST_EXPANDED:]).href

    @property
    def json_href(self) -> str:
        """The same explanation for programs."""
        return href(f"/v1{self.path}/explanation", self._what_if())

    def _what_if(self) -> Iterable[tuple[str, object]]:
        if self.what_if.num_nearest is not None:
            yield "num_nearest", self.what_if.num_nearest
        if self.what_if.node_weight is not None:
            yield "node_weight", f"{self.what_if.node_weight:g}"
        yield from (("without", node_key(self.graph, node)) for node in self.what_if.without)

    def _seen(self) -> Iterable[tuple[str, object]]:
        if self.crucial_edges != CRUCIAL_EDGES:
            yield "edges", self.crucial_edges
        if self.beside is not None:
            yield "beside", node_key(self.graph, self.beside)
        yield from (("expand", node_key(self.graph, node)) for node in self.expanded)


def node_key(graph: Graph, node: int) -> str:
    """What stands for a node in an address: its name, so that a link survives a new import, if it can be written."""
    name = graph.nodes.text_of(node)
    if len(name) > LONGEST_KEY or not name.isprintable() or not set(name.split("/")).isdisjoint(("", ".", "..")):
        return f"#{node}"
    return f"#{node}" if "\\" in name else name


def node_href(graph: Graph, node: int) -> str:
    """The address of the page of a node."""
    return f"/nodes/{quote(node_key(graph, node), safe='')}"


def pair_href(graph: Graph, source: int, target: int, kind: str = "") -> str:
    """The address of the page of a pair."""
    ends = [("source", node_key(graph, source)), ("target", node_key(graph, target))]
    return href("/pairs", [*ends, *([("type", kind)] if kind else [])])


def href(path: str, items: Iterable[tuple[str, object]]) -> str:
    """An address with a query."""
    query = urlencode([(name, str(value)) for name, value in items])
    return f"{path}?{query}" if query else path
