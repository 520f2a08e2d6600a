"""An explanation as sentences that a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from se_gnn.explain.edge_text import agreeing_facts, edge_text
from se_gnn.number_format import whole

if TYPE_CHECKING:
    from se_gnn.explain.evidence import EdgeMatches, Neighbor
    from se_gnn.explain.explanation import Explanation

LONGEST_CAPTION = 60
MOST_FACTS = 4  # of an edge in a sentence


class Word(NamedTuple):
    """A piece of a sentence: plain text, or the id of the node or class that is named there."""

    kind: Literal["text", "node", "class"]
    text: str
    id: int = -1


Piece = str | Word


def words_of(explanation: Explanation) -> list[Word]:
    """What was predicted, who voted, how the closest is similar, and what would change the answer."""
    pieces: list[Piece] = []
    for sentence in _sentences(explanation):
        pieces += [" ", *sentence] if pieces else sentence
    words: list[Word] = []
    for piece in pieces:
        if isinstance(piece, Word):
            words.append(piece)
        elif words and words[-1].kind == "text":
            words[-1] = Word("text", words[-1].text + piece)
        else:
            words.append(Word("text", piece))
    return words


def _sentences(explanation: Explanation) -> Iterator[list[Piece]]:
    yield _prediction(explanation)
    yield _closest(explanation)
    if explanation.graph.edge_values is not None and explanation.neighbors[0].matches is not None:
        yield from _carried(explanation, explanation.neighbors[0].matches)
    if not explanation.has_structure:
        yield ["The node has no edges, so it was compared by its own attributes alone."]
    if explanation.left_out:
        yield ["The node is labeled '", _class(explanation, explanation.label), "' itself; its own label was left out."]
    yield _what_if(explanation)


def _prediction(explanation: Explanation) -> list[Piece]:
    total, share = len(explanation.neighbors), explanation.probabilities[explanation.predicted]
    agreeing = sum(neighbor.label == explanation.predicted for neighbor in explanation.neighbors)
    if total == 1:
        voters = "the most similar case has that class."
    elif agreeing == total:
        voters = f"all of the {total} most similar cases have that class."
    else:
        has, holds = ("has", "it holds") if agreeing == 1 else ("have", "they hold")
        voters = (
            f"{agreeing} of the {total} most similar cases {has} that class, and {holds} {whole(share)} of the vote."
        )
    predicted = _class(explanation, explanation.predicted)
    return [
        "Node ",
        _node(explanation, explanation.node),
        " is predicted '",
        predicted,
        f"' ({whole(share)}): {voters}",
    ]


def _closest(explanation: Explanation) -> list[Piece]:
    closest = explanation.neighbors[0]
    pieces: list[Piece] = ["The most similar case is ", _node(explanation, closest.node)]
    if closest.label != explanation.predicted:
        pieces += [", which has class '", _class(explanation, closest.label), "'"]
    return [*pieces, _how(explanation, closest)]


def _how(explanation: Explanation, closest: Neighbor) -> str:
    if not explanation.has_structure:
        return "."
    if closest.matches is None:
        return "; it has no edges, so the two were compared by their own attributes alone."
    good, total = int(closest.matches.above_average.sum()), len(closest.matches)
    if total == 1:
        return f"; the only edge of the local graph has {'a' if good else 'no'} good match there."
    edges = f"all {total} edges" if good == total else f"{good} of the {total} edges"
    return f"; {edges} of the local graph {'has' if good == 1 else 'have'} a good match there."


def _carried(explanation: Explanation, matches: EdgeMatches) -> Iterator[list[Piece]]:
    """The best match of an edge of the node itself in the closest, with what both carry; how many edges have none."""
    graph = explanation.graph
    own = (graph.edges.ends[matches.edge_ids] == explanation.node).any(axis=1)
    good = np.flatnonzero(own & matches.matched & (matches.matched_ids != matches.edge_ids))
    if len(good):
        best = good[np.argmax(matches.similarity[good])]
        edge, matched = int(matches.edge_ids[best]), int(matches.matched_ids[best])
        alike = agreeing_facts(graph, edge, matched)
        listed = f", alike in {_listed(alike)}" if alike else ""
        yield ["Best matched: ", *_edge(explanation, edge), " with ", *_edge(explanation, matched), f"{listed}."]
    alone = int((~matches.matched).sum())
    if alone:
        have = "1 edge of the local graph has" if alone == 1 else f"{alone} edges of the local graph have"
        yield [f"{have} no counterpart of the same direction and type there, which counts as least similar."]


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= MOST_FACTS else (*names[:MOST_FACTS], f"{len(names) - MOST_FACTS} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _edge(explanation: Explanation, edge: int) -> list[Piece]:
    text = edge_text(explanation.graph, edge)
    facts = ", ".join(f"{fact.name} {fact.value}" for fact in text.facts[:MOST_FACTS])
    ends: list[Piece] = [_node(explanation, text.start), f" {text.joint} ", _node(explanation, text.end)]
    return [*ends, f" ({facts})"] if facts else ends


def _what_if(explanation: Explanation) -> list[Piece]:
    """The labeled node whose removal would change the class, or how many it takes."""
    if not any(explanation.neighbors[0].without):
        only = _node(explanation, explanation.neighbors[0].node)
        return ["Without ", only, ", no case would be left to compare with."]
    if explanation.deciding:
        first, *others = explanation.deciding
        other = int(np.argmax(first.without))
        pieces: list[Piece] = ["Removing ", _node(explanation, first.node), " would change the prediction to '"]
        pieces += [_class(explanation, other), f"' ({whole(first.without[other])})"]
        if others:
            which = "1 other case" if len(others) == 1 else f"any one of {len(others)} other cases"
            pieces.append(f"; so would removing {which}")
        return [*pieces, "."]
    removal = explanation.smallest_removal
    if removal is None:
        return ["No removal would change the prediction: all cases that can vote have that class."]
    return [f"No single case decides this: at least {len(removal)} would have to be removed."]


def _node(explanation: Explanation, node: int) -> Word:
    caption = explanation.caption(node)
    short = caption if len(caption) <= LONGEST_CAPTION else caption[: LONGEST_CAPTION - 1].rstrip() + "…"
    return Word("node", short, node)


def _class(explanation: Explanation, label: int) -> Word:
    return Word("class", explanation.class_names[label], label)
