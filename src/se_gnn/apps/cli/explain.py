"""`se-gnn explain`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import ModelFolder, OtherGraph, Progress, node_id, shows_progress
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import WIDTH, count, percent, table
from se_gnn.figures import number
from se_gnn.progress import compilation_said

if TYPE_CHECKING:
    from se_gnn.explain import Explanation

CRUCIAL_EDGES = 5
MATCHED_EDGES = 8
SHARED_ATTRIBUTES = 5


def explain(
    folder: ModelFolder,
    node: Annotated[
        str, typer.Option(metavar="NAME", help="The node to explain: its name, or #POSITION.", show_default=False)
    ],
    graph: OtherGraph = None,
    k: Annotated[
        int, typer.Option("--k", "-k", min=1, metavar="N", help="How many of the nearest labeled nodes to show.")
    ] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs; it has a schema.")] = False,
    progress: Progress = False,
) -> None:
    """Show why a node is predicted as it is.

    In a sentence first; then the nearest labeled nodes and what each of them counts, the relations of the node that the
    closest of them shares, and the node's own relations that matter most.
    """
    from se_gnn.explain import Explainer
    from se_gnn.model.folder import load_model_on

    trained = load_model_on(folder, graph)
    with compilation_said(shown=shows_progress(progress)):
        explanation = Explainer(trained).explain(node_id(trained.graph, node), k)
    say(explanation.to_json() if as_json else _show(explanation, k))


def _show(explanation: Explanation, k: int) -> str:
    parts = [textwrap.fill(explanation.sentence(), WIDTH), _probabilities(explanation), _neighbors(explanation, k)]
    parts += _shared_attributes(explanation, k)
    parts += _matches(explanation)
    parts += _crucial(explanation)
    return "\n\n".join(parts)


def _probabilities(explanation: Explanation) -> str:
    order = sorted(range(len(explanation.class_names)), key=lambda c: -explanation.probabilities[c])
    likely = [c for c in order if explanation.probabilities[c] > 0][:5]
    lines = [f"  {percent(explanation.probabilities[c]):>6}  {explanation.class_names[c]}" for c in likely]
    if explanation.label >= 0:
        lines.append(f"  Its known class is {explanation.class_names[explanation.label]!r}.")
    return "\n".join(["Probability of each class", *lines])


def _neighbors(explanation: Explanation, k: int) -> str:
    shown = explanation.neighbors[:k]
    rows = [
        [
            neighbor.name,
            neighbor.label_name,
            percent(neighbor.weight),
            number(neighbor.similarity),
            number(neighbor.node_term),
            number(neighbor.structure_term) if neighbor.structure_similarity is not None else "-",
        ]
        for neighbor in shown
    ]
    header = ["labeled node", "class", "adds", "similarity", "= node", "+ structure"]
    text = [f"The {len(shown)} nearest of {count(len(explanation.neighbors), 'voting labeled node')}"]
    text.append(table(header, rows, names=(0, 1)))
    hidden = sum(neighbor.weight for neighbor in explanation.neighbors[k:])
    note = "Each adds its share to the probability of its own class."
    if len(explanation.neighbors) > k:
        note += f" Those not shown add {percent(hidden)} together; show more with --k."
    text.append(textwrap.fill(note, WIDTH))
    return "\n".join(text)


def _shared_attributes(explanation: Explanation, k: int) -> list[str]:
    """What the closest neighbor has in common with the node, with values; of the others the names alone."""
    closest = explanation.neighbors[0]
    shared = closest.shared_attributes
    if shared is None:
        return []
    shown = shared.attributes[:SHARED_ATTRIBUTES]
    if not shown:
        return [textwrap.fill(f"{explanation.name} and {closest.name} have no attribute in common.", WIDTH)]
    title = f"Attributes that {explanation.name} and {closest.name} share, by what they do for their similarity"
    title += f" (first {len(shown)} of {shared.num_shared})" if shared.num_shared > len(shown) else ""
    header = ["attribute", explanation.name, closest.name, "effect"]
    rows = [[one.name, one.target_value, one.neighbor_value, number(one.effect)] for one in shown]
    text = [textwrap.fill(title, WIDTH), table(header, rows, names=(0, 1, 2))]
    text.append(
        textwrap.fill("Effect: node similarity that is lost when one of the two is without the attribute.", WIDTH)
    )
    others = [
        [one.name, "; ".join(a.name for a in one.shared_attributes.attributes[:3] if a.effect > 0) or "-"]
        for one in explanation.neighbors[1:k]
        if one.shared_attributes is not None
    ]
    if others:
        text += ["", table(["labeled node", f"makes it similar to {explanation.name}"], others, names=(0, 1))]
    return ["\n".join(text)]


def _matches(explanation: Explanation) -> list[str]:
    """Relations of the node beside those of the closest neighbor, best first; those that both have are counted."""
    closest = explanation.neighbors[0]
    matches = closest.matches
    if matches is None or not len(matches):
        return []
    same = matches.edge_ids == matches.matched_ids
    others = [i for i in (-matches.similarity).argsort(kind="stable") if not same[i]]
    shown = others[:MATCHED_EDGES]
    title = f"The closest labeled node is {closest.name}."
    if same.any():
        title += (
            f" {int(same.sum())} of the {count(len(matches), 'relation')} around {explanation.name} lie around it, too."
        )
    if not shown:
        return [textwrap.fill(title, WIDTH)]
    title += f" {'Other relations' if same.any() else 'Relations'} and the most similar ones around it"
    title += f" (best {len(shown)} of {len(others)}):" if len(others) > len(shown) else ":"
    rows = [
        [
            _edge(explanation, matches.edge_ids[i]),
            _edge(explanation, matches.matched_ids[i]),
            number(matches.similarity[i]),
        ]
        for i in shown
    ]
    header = [f"around {explanation.name}", f"around {closest.name}", "similarity"]
    return [textwrap.fill(title, WIDTH) + "\n" + table(header, rows, names=(0, 1))]


def _crucial(explanation: Explanation) -> list[str]:
    crucial = explanation.crucial_subgraph(size=CRUCIAL_EDGES)
    if not len(crucial.edge_ids):
        return []
    rows = [[_edge(explanation, edge), number(value)] for edge, value in zip(crucial.edge_ids, crucial.importance)]
    title = f"The edges that matter most, of {count(len(explanation.edge_ids), 'edge')} in its local graph"
    return [textwrap.fill(title, WIDTH) + "\n" + table(["edge", "importance"], rows)]


def _edge(explanation: Explanation, edge: int) -> str:
    return " - ".join(explanation.caption(end) for end in explanation.graph.edges[edge].tolist())
