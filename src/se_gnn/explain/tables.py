"""Explanations as tables and graphs of other tools: pandas, NetworkX, a file of JSON lines. Each is needed at use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from se_gnn.errors import InputError
from se_gnn.explain.explainer import Explanations
from se_gnn.explain.explanation import Explanation, NumberAnswer
from se_gnn.explain.text import edge_in_words
from se_gnn.files import replacing, writing_to
from se_gnn.graph import UNKNOWN
from se_gnn.optional import require

FIGURES = ("weight", "similarity", "node_similarity", "structure_similarity", "node_term", "structure_term")
COLUMNS = ("node", "rank", "case", "label", *FIGURES)  # `value` in place of `label` if numbers are predicted
MATCH_COLUMNS = ("node", "rank", "case", "edge", "matched", "similarity", "above_average")


def to_pandas(explanation: Explanation) -> Any:
    """A ``pandas.DataFrame`` with a row for each case that votes, nearest first; NaN if there is no structure."""
    pandas: Any = require("pandas", extra="interop", feature="tables")
    numbers = isinstance(explanation.answer, NumberAnswer)
    rows = []
    for rank, one in enumerate(explanation.votes, start=1):
        voted = one.number if numbers else explanation.answer_of(one)
        figures = [np.nan if getattr(one, name) is None else getattr(one, name) for name in FIGURES]
        rows.append((explanation.name, rank, explanation.nodes[one.node].name, voted, *figures))
    found = pandas.DataFrame(rows, columns=list(COLUMNS))
    return found.rename(columns={"label": "value"}) if numbers else found


def matches_to_pandas(explanation: Explanation) -> Any:
    """A ``pandas.DataFrame`` with a row for each edge of the node and each case that comes with matches.

    ``edge`` and ``matched`` are ids of edges; ``matched`` is -1 if the case has no edge of that direction and type.
    ``above_average``: at least as close as average.
    """
    pandas: Any = require("pandas", extra="interop", feature="tables")
    rows = [
        (explanation.name, rank, explanation.nodes[vote.node].name, *ids, one.similarity, one.good)
        for rank, vote in enumerate(explanation.votes, start=1)
        for one in explanation.matched_edges(vote)
        for ids in [(one.edge.id, -1 if one.match is None else one.match.id)]
    ]
    return pandas.DataFrame(rows, columns=list(MATCH_COLUMNS))


def bulk_to_pandas(explanations: Explanations) -> Any:
    """As :func:`to_pandas` for many nodes, from the arrays; the rows of a node follow one another."""
    pandas: Any = require("pandas", extra="interop", feature="tables")
    prediction, graph = explanations.prediction, explanations.graph
    i, k = np.nonzero(prediction.voting)
    names, cases = np.array(graph.node_names, dtype=object), prediction.cases[i, k]
    numbers = graph.predicts_numbers
    voted = graph.values[cases] if numbers else np.array(graph.class_names, dtype=object)[graph.labels[cases]]
    weight, overall, node, structure = (
        array[i, k].astype(np.float64)
        for array in (prediction.weights, prediction.overall, prediction.node, prediction.structure)
    )
    compared = np.isfinite(structure)
    share = np.where(compared, explanations.settings.similarity.node_weight, 1.0)
    structure = np.where(compared, structure, np.nan)
    terms = share * node, np.where(compared, (1 - share) * structure, 0.0)
    columns = (names[prediction.nodes[i]], k + 1, names[cases], voted, weight, overall, node, structure, *terms)
    header = ("node", "rank", "case", "value" if numbers else "label", *FIGURES)
    return pandas.DataFrame(dict(zip(header, columns)))


def write_json_lines(
    explanations: Explanations, path: str | Path, *, overwrite: bool = False, progress: bool = False
) -> None:
    """One explanation per line, as ``Explanation.to_json`` writes it; the file appears when it is complete."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already: overwrite=True replaces it")
    with writing_to(target.parent), replacing(target) as file:
        for explanation in tqdm(explanations, desc="explaining", unit="node", disable=not progress):
            file.write(f"{explanation.to_json(indent=None)}\n".encode("utf-8", "backslashreplace"))


def to_networkx(explanation: Explanation) -> Any:
    """A ``networkx.Graph`` over node ids: the explained node, its local graph, and the cases that vote.

    Nodes have ``name``, ``caption``, ``label`` (class name or number, None if unknown), ``role`` (``target``, ``local``
    or ``case``) and ``weight``, the vote of a case, 0 for others. A case in the local graph has the role ``case``.
    Edges have ``id`` and ``importance``, Eq. (10), None if there is none. The prediction is in ``graph.graph``.
    Where edges carry something it is a ``networkx.MultiGraph``, because the same two nodes may have several; its edges
    have ``start``, ``end`` (node ids, or None), ``type`` and ``text`` as well.
    """
    networkx: Any = require("networkx", extra="interop", feature="NetworkX graphs")
    answer = explanation.answer
    if isinstance(answer, NumberAnswer):
        about: dict[str, Any] = {"predicted": answer.value}
    else:
        shares = dict(zip(answer.classes, answer.probabilities))
        about = {"predicted": explanation.predicted_name, "probabilities": shares}
    kind = networkx.MultiGraph if explanation.has_edge_values else networkx.Graph
    graph = kind(node=explanation.node, **about)
    weights = {vote.node: vote.weight for vote in explanation.votes}
    ends = explanation.ends(explanation.edge_ids)
    for node in dict.fromkeys([explanation.node, *weights, *ends.ravel().tolist()]):
        info = explanation.nodes[node]
        graph.add_node(
            node,
            name=info.name,
            caption=info.caption,
            label=explanation.class_names[info.label] if info.label != UNKNOWN else info.number,
            role="target" if node == explanation.node else "case" if node in weights else "local",
            weight=weights.get(node, 0.0),
        )
    for edge, (u, v), value in zip(explanation.edge_ids.tolist(), ends.tolist(), explanation.importance.tolist()):
        carried: dict[str, Any] = {}
        if explanation.has_edge_values:
            own = explanation.edges[edge]
            start, end = (own.start, own.end) if own.directed else (None, None)
            text = edge_in_words(own, explanation.caption(own.start), explanation.caption(own.end))
            carried = {"start": start, "end": end, "type": own.type, "text": text}
        graph.add_edge(u, v, id=edge, importance=value if np.isfinite(value) else None, **carried)
    return graph
