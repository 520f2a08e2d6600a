"""What the pages say, from a snapshot; runs in the pool."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from se_gnn.apps.explorer.states import MOST_CRUCIAL, ROWS, NodeState, TableState
from se_gnn.apps.service.answers import table_of
from se_gnn.apps.service.node_table import Outcome, Part
from se_gnn.apps.service.store import Snapshot
from se_gnn.apps.web import Pages, ProblemError
from se_gnn.explain import Explanation
from se_gnn.plot.text import isolated
from se_gnn.report.card import model_card
from se_gnn.report.charts import reliability_diagram
from se_gnn.report.node import node_part
from se_gnn.report.node_image import NodeImages
from se_gnn.report.predictions import Row
from se_gnn.report.set_table import set_table
from se_gnn.similarity import measure_named

STYLES = (
    "colors.css", "page.css", "tables.css", "card.css", "predictions.css", "node.css", "matching.css", "app.css",
    "explorer.css", "print.css", "classes.css",
)  # fmt: skip
MOST_NEAREST = 200  # of the slider


class Views:
    """The pages of a snapshot; what does not change is kept with it."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._about: tuple[Snapshot, dict[str, Any]] | None = None

    def nodes(self, snapshot: Snapshot, state: TableState) -> str:
        """The table of all nodes."""
        return self._render("nodes.html", snapshot, **table_values(snapshot, state))

    def map(self, snapshot: Snapshot, state: TableState) -> str:
        """The map, and the table of the nodes in a region of it."""
        return self._render("map.html", snapshot, **table_values(snapshot, state))

    def node(self, snapshot: Snapshot, state: NodeState) -> str:
        """One node and why it was predicted as it was."""
        if not 0 <= state.node < snapshot.graph.num_nodes:
            raise ProblemError(
                404, f"there is no node {state.node}: positions go from 0 to {snapshot.graph.num_nodes - 1}"
            )
        return self._render("node_page.html", snapshot, **node_values(snapshot, state))

    def model(self, snapshot: Snapshot) -> str:
        """The model card."""
        table_of(snapshot)  # or 503
        assert snapshot.prediction is not None
        card = model_card(snapshot.trained, snapshot.prediction)
        return self._render(
            "model_page.html",
            snapshot,
            card=card,
            reliability=reliability_diagram(card.calibration),
            sets=set_table(snapshot.trained),
        )

    def _render(self, template: str, snapshot: Snapshot, **values: Any) -> str:
        text: str = self._pages.environment.get_template(template).render(**self._known(snapshot), **values)
        return text

    def _known(self, snapshot: Snapshot) -> dict[str, Any]:
        held = self._about
        if held is None or held[0] is not snapshot:
            held = self._about = (snapshot, _known_of(snapshot))
        return held[1]


def _known_of(snapshot: Snapshot) -> dict[str, Any]:
    graph = snapshot.graph
    return {
        "graph": graph,
        "settings": snapshot.trained.settings,
        "styles": STYLES,
        "title": graph.name,
        "digest": snapshot.digest or "",
        "shown_name": graph.caption,
        "node_href": lambda node: f"/nodes/{node}",
        "link_edges": True,
        "numbered": graph.captions is None and all(name.isdigit() for name in graph.node_names),
        "images": NodeImages(graph),
        "measure": measure_named(snapshot.trained.settings.similarity.measure),
    }


def table_values(snapshot: Snapshot, state: TableState) -> dict[str, Any]:
    """A page of the table."""
    table = table_of(snapshot)
    found = table.find(state.query)
    last = max(1, -(-len(found) // ROWS))
    page = min(state.page, last)
    first = (page - 1) * ROWS
    rows = [
        Row(
            node=node,
            predicted=int(table.predicted[node]),
            probability=float(table.probability[node]),
            label=int(snapshot.graph.labels[node]),
            part="" if table.part_name(node) is Part.none else table.part_name(node),
            closest=int(table.closest[node]),
            closest_label=int(snapshot.graph.labels[table.closest[node]]),
            weight=float(table.weight[node]),
        )
        for node in found[first : first + ROWS].tolist()
    ]
    return {
        "state": state,
        "query": state.query,
        "rows": rows,
        "total": len(found),
        "first": first,
        "page": page,
        "last": last,
        "parts": list(Part),
        "outcomes": list(Outcome),
        "answered": table.answered,
    }


def node_values(snapshot: Snapshot, state: NodeState) -> dict[str, Any]:
    """An explanation laid out, and the model's own prediction where the vote has other settings."""
    comparison = snapshot.comparisons.of(state.node)
    rank = 0
    explanation = comparison.explain(1, what_if=state.what_if)
    if state.beside is not None:
        rank = next((i for i, one in enumerate(explanation.neighbors) if one.node == state.beside), 0)
        if rank:
            explanation = comparison.explain(rank + 1, what_if=state.what_if)
    part = node_part(explanation, [rank], crucial_edges=state.crucial_edges, href=lambda node: f"/nodes/{node}")
    own = comparison.explain(1) if state.changed else explanation
    labeled = len(snapshot.graph.train)
    return {
        "state": state,
        "part": part,
        "far": _is_far(snapshot, state.node),
        "own": own,
        "beside": part.shown[0].node,
        "vote_actions": _actions(explanation, part.shown[0].node),
        "most_nearest": min(MOST_NEAREST, labeled - int(explanation.left_out)) or 1,
        "most_crucial": min(MOST_CRUCIAL, max(1, len(explanation.edge_ids))),
    }


def _is_far(snapshot: Snapshot, node: int) -> bool:
    """Whether a node is too unlike anything known for an answer."""
    table = snapshot.table
    return table is not None and table.answered is not None and not table.answered[node]


def _actions(explanation: Explanation, beside: int) -> Any:
    """What can be done with a labeled neighbor: compare with it, switch it off."""

    def buttons(node: int) -> Markup:
        name = isolated(explanation.caption(node))
        seen = (
            Markup('<span class="faint">compared below</span>')
            if node == beside
            else Markup(
                '<button form="what-if" name="beside" value="{}" aria-label="Compare with {}">compare</button>'
            ).format(node, name)
        )
        off = Markup('<button form="what-if" name="without" value="{}" aria-label="Switch {} off">switch off</button>')
        return Markup('<span class="actions">{} {}</span>').format(seen, off.format(node, name))

    return buttons
