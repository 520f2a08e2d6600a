"""What a page shows, as the query of its address: every state is a link."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import quote, urlencode

from se_gnn.apps.service.models import NodeQuery, Sort
from se_gnn.explain import CRUCIAL_EDGES
from se_gnn.graph import Graph
from se_gnn.ranking import WhatIf

ROWS = 25
MOST_CRUCIAL = 20
MOST_EXPANDED = 12  # nodes whose edges are drawn around a node
LONGEST_KEY = 500  # characters of a name in an address


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The table of all nodes: what is asked for, and which page of it."""

    path: str = "/"
    query: NodeQuery
    page: int = 1

    def href(self, *, page: int = 1, **changes: Any) -> str:
        """Where the table is with some changes; but for a change of the page itself, it begins at the first."""
        query = replace(self.query, **changes)
        asked = {one.name: value for one in fields(query) if (value := getattr(query, one.name)) != one.default}
        return address(self.path, **asked, page=page if page > 1 else None)

    @property
    def here(self) -> str:
        """The address of this state."""
        return self.href(page=self.page)

    @property
    def export(self) -> str:
        """Where all nodes of this state are a file."""
        return replace(self, path="/export").href()

    def sorted_by(self, sort: str) -> str:
        """The address of the table sorted by a column; in the reverse order if it is sorted by it already."""
        again = self.query.sort == sort
        return self.href(sort=Sort(sort), descending=again and not self.query.descending)


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
        return address(
            self.path,
            **self._vote(),
            edges=None if self.crucial_edges == CRUCIAL_EDGES else self.crucial_edges,
            beside=None if self.beside is None else node_key(self.graph, self.beside),
            expand=[node_key(self.graph, node) for node in self.expanded],
        )

    def toggled(self, node: int) -> str:
        """The address with the edges of another node drawn, or no longer drawn."""
        kept = tuple(one for one in self.expanded if one != node)
        return replace(self, expanded=kept if node in self.expanded else (*kept, node)[-MOST_EXPANDED:]).href

    @property
    def json_href(self) -> str:
        """The same explanation for programs."""
        return address(f"/v1{self.path}/explanation", **self._vote())

    def _vote(self) -> dict[str, Any]:
        without = [node_key(self.graph, node) for node in self.what_if.without]
        return {"num_nearest": self.what_if.num_nearest, "node_weight": self.what_if.node_weight, "without": without}


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
    return address("/pairs", source=node_key(graph, source), target=node_key(graph, target), type=kind)


def address(path: str, **asked: Any) -> str:
    """An address with a query; what is None or empty is left out.

    >>> address("/", search="a b", descending=True, part=None, expand=["x", "y"])
    '/?search=a+b&descending=true&expand=x&expand=y'
    """
    given = {name: value for name, value in asked.items() if value is not None and value != ""}
    written = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
    query = urlencode(written, doseq=True)
    return f"{path}?{query}" if query else path
