"""An explanation as a NetworkX graph: the local graph of the node, with what each node and edge counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from se_gnn.explain.edge_text import edge_text
from se_gnn.graph import UNKNOWN, EdgeValues
from se_gnn.optional import require

if TYPE_CHECKING:
    from se_gnn.explain.explanation import Explanation


def to_networkx(explanation: Explanation) -> Any:
    """A ``networkx.Graph`` over node ids: the explained node, its local graph, and its neighbors.

    Nodes have ``name``, ``caption``, ``label`` (class name, or None), ``role`` (``target``, ``local`` or ``neighbor``)
    and ``weight``, the vote of a neighbor, 0 for others. A neighbor in the local graph has the role ``neighbor``.
    Edges have ``id``, their row in the graph's edge list, and ``importance``, Eq. (10), None where there is none. The
    prediction is in ``graph.graph``. Where edges carry something it is a ``networkx.MultiGraph``, because the same two
    nodes may have several; its edges have ``start``, ``end`` (node ids, or None), ``type`` and ``text`` as well.
    """
    networkx: Any = require("networkx", extra="interop", feature="NetworkX graphs")
    values = explanation.graph.edge_values
    graph = (networkx.Graph if values is None else networkx.MultiGraph)(
        node=explanation.node,
        predicted=explanation.predicted_name,
        probabilities=dict(zip(explanation.class_names, explanation.probabilities)),
    )
    weights = {neighbor.node: neighbor.weight for neighbor in explanation.neighbors}
    for node in dict.fromkeys([explanation.node, *weights, *explanation.edges.ravel().tolist()]):
        label = int(explanation.graph.labels[node])
        graph.add_node(
            node,
            name=explanation.graph.node_names[node],
            caption=explanation.caption(node),
            label=explanation.class_names[label] if label != UNKNOWN else None,
            role="target" if node == explanation.node else "neighbor" if node in weights else "local",
            weight=weights.get(node, 0.0),
        )
    columns = (explanation.edge_ids, explanation.edges, explanation.importance)
    for edge, (u, v), value in zip(*(column.tolist() for column in columns)):
        about = {} if values is None else _carried(explanation, values, edge)
        graph.add_edge(u, v, id=edge, importance=value if np.isfinite(value) else None, **about)
    return graph


def _carried(explanation: Explanation, values: EdgeValues, edge: int) -> dict[str, Any]:
    text = edge_text(explanation.graph, edge)
    directed = values.direction is not None and bool(values.direction[edge])
    return {
        "start": text.start if directed else None,
        "end": text.end if directed else None,
        "type": None if values.type is None else values.type_names[values.type[edge]],
        "text": text.joined(explanation.caption(text.start), explanation.caption(text.end)),
    }
