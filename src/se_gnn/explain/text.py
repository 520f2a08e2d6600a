"""An explanation in words: values side by side, edges as people read them, and the sentences.

One rule says for the command line, the report, the explorer and the sentences when two values are alike. They are equal
if they are the same in the table. Two numbers or dates are close if hardly any other value lies between them, and they
differ by at most half a standard deviation. Everything else is different, also two rare categories that the encoder
cannot tell apart.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from se_gnn.explain.explanation import CaseVote, EdgeInfo, ExplainedModel, Explanation, NodeInfo, NumberAnswer, Value
from se_gnn.graph.columns import MISSING, OTHER
from se_gnn.number_format import number, number_text, whole
from se_gnn.similarity import measure_named

ARROW, LINE = "→", "–"
CLOSE = 0.5  # standard deviations that two close values may differ by
MOST_BETWEEN = 0.05  # share of all values that may lie between them
MOST_VALUES = 40  # columns side by side
LONGEST_CAPTION = 60
MOST_FACTS = 4  # of an edge in a sentence

Likeness = Literal["equal", "close", ""]


def likeness(one: Value, other: Value) -> Likeness:
    """Whether two values of a column are equal or close.

    >>> seven, nine = Value("7", 0.0, 0.07, 0.08), Value("9", 0.1, 0.09, 0.1)
    >>> likeness(seven, seven), likeness(seven, nine), likeness(seven, Value("30", 0.4, 0.3, 0.31))
    ('equal', 'close', '')
    """
    if {one.text, other.text} & {MISSING, OTHER, ""}:
        return ""
    if one.text == other.text:
        return "equal"
    if one.number is None or other.number is None:
        return ""
    between = max(one.below, other.below) - min(one.upto, other.upto)
    return "close" if between <= MOST_BETWEEN and abs(one.number - other.number) <= CLOSE else ""


def difference(ours: str, theirs: str) -> str:
    """By how much two numbers or dates differ, in words; nothing of other values.

    >>> difference("118", "120.5"), difference("2024-01-31", "2024-02-02"), difference("a", "b")
    ('2.5 apart', '2 days apart', '')
    """
    try:
        return f"{abs(float(ours) - float(theirs)):.4g} apart"
    except ValueError:
        pass
    try:
        days = abs((datetime.datetime.fromisoformat(ours) - datetime.datetime.fromisoformat(theirs)).days)
    except (TypeError, ValueError):
        return ""
    return "1 day apart" if days == 1 else f"{days} days apart"


@dataclass(frozen=True, slots=True)
class ValueRow:
    """An attribute: the node's value, those of others, and how they are like it."""

    name: str
    value: str
    others: tuple[str, ...]
    alike: tuple[Likeness, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The attributes that are shown, and how many are not."""

    rows: tuple[ValueRow, ...]
    hidden: int


def side_by_side(node: NodeInfo, others: Sequence[NodeInfo]) -> SideBySide:
    """What the data says of a node and of others; nothing if attributes have no names, or nodes are pictures.

    Of a table all columns are there as it has them; of many words those that the node has. If that is too much,
    attributes in which more of the others are alike come first.
    """
    nothing = Value("")
    rows = [
        ValueRow(
            name,
            value.text,
            tuple(other.values.get(name, nothing).text for other in others),
            tuple(likeness(value, other.values.get(name, nothing)) for other in others),
        )
        for name, value in node.values.items()
    ]
    first = sorted(range(len(rows)), key=lambda i: -sum(map(bool, rows[i].alike)))[:MOST_VALUES]
    return SideBySide(tuple(rows[i] for i in sorted(first)), len(rows) - len(first))


def rows_beside(explanation: Explanation, votes: Sequence[CaseVote]) -> SideBySide:
    """The row of the node in question beside those of some cases."""
    return side_by_side(explanation.query, [explanation.nodes[one.node] for one in votes])


def joint(edge: EdgeInfo) -> str:
    """What stands between the names of the two ends: the verb of its type, an arrow, or a line."""
    return (edge.verb or ARROW) if edge.directed else LINE


def edge_in_words(edge: EdgeInfo, start: str, end: str) -> str:
    """An edge with names for its ends and what it carries: "a pays b (amount 118)"."""
    return f"{start} {joint(edge)} {end}{edge_facts(edge)}"


def edge_facts(edge: EdgeInfo, most: int | None = None) -> str:
    """What an edge carries, in brackets: " (amount 118)"; empty if it carries nothing."""
    listed = ", ".join(f"{name} {value}" for name, value in list(edge.facts.items())[:most])
    return f" ({listed})" if listed else ""


def agreeing_facts(one: EdgeInfo, other: EdgeInfo) -> tuple[str, ...]:
    """What two edges have in common: the names of equal values, and of close ones with the difference."""
    found = ["type"] if one.type is not None and one.type == other.type else []
    for name in (name for name in one.values if name in other.values):
        alike = likeness(one.values[name], other.values[name])
        if alike == "equal":
            found.append(name)
        elif alike == "close":
            apart = difference(one.values[name].text, other.values[name].text)
            found.append(f"{name} (close, {apart})" if apart else f"{name} (close)")
    return tuple(found)


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
    return _joined(pieces)


def _say(sentence: str, *given: Piece) -> list[Piece]:
    """A sentence in pieces; what is given stands where the sentence has {}."""
    texts = sentence.split("{}")
    pieces: list[Piece] = [texts[0]]
    for one, text in zip(given, texts[1:], strict=True):
        pieces += [one, text]
    return pieces


def _joined(pieces: list[Piece]) -> list[Word]:
    """The pieces with texts that follow one another as one."""
    words: list[Word] = []
    for piece in pieces:
        if isinstance(piece, Word):
            words.append(piece)
        elif words and words[-1].kind == "text":
            words[-1] = Word("text", words[-1].text + piece)
        elif piece:
            words.append(Word("text", piece))
    return words


def contrast_words(explanation: Explanation) -> list[Word]:
    """Why this class and not the other, and what it would take; empty if all cases have one class."""
    found = explanation.contrast
    if found is None:
        return []
    own, other = (_class(explanation, one.label) for one in (found.chosen, found.other))
    near, far = (_node(explanation, one.node) for one in (found.chosen, found.other))
    first, second = number(found.chosen.similarity), number(found.other.similarity)
    pieces = _say("The most similar case of '{}' is {} ({}), that of any other class", own, near, first)
    pieces += _say(" is {} ('{}', {}).", far, other, second)
    ahead = found.chosen.similarity - found.other.similarity
    if ahead < 0:
        pieces += _say(" The second is more similar, but cases of '{}' hold more of the vote.", own)
    elif found.chosen.structure_similarity is not None and found.other.structure_similarity is not None:
        nodes = found.chosen.node_term - found.other.node_term
        structure = found.chosen.structure_term - found.other.structure_term
        pieces += [f" Of the difference of {number(ahead)}, {number(nodes)} comes from the nodes themselves and "]
        pieces += [f"{number(structure)} from their local graphs."]
    if found.needed > measure_named(explanation.settings.measure).of_equals:
        pieces += _say(" Even if {} were equal to the node, it alone would not change the prediction.", far)
    else:
        needed = number(found.needed)
        pieces += _say(" '{}' would be predicted if {} alone were more similar than {}.", other, far, needed)
    return _joined(pieces)


class ContrastValue(NamedTuple):
    """A column in which the node is like one of the two cases, and not like the other."""

    name: str
    value: str
    chosen: str
    other: str
    for_prediction: bool  # it is like the case of the predicted class


def contrast_values(explanation: Explanation) -> list[ContrastValue]:
    """The columns that tell the two cases of a contrast apart; those in which the node is like the first come first."""
    found = explanation.contrast
    if found is None:
        return []
    rows = rows_beside(explanation, (found.chosen, found.other)).rows
    differing = [
        ContrastValue(row.name, row.value, row.others[0], row.others[1], bool(row.alike[0]))
        for row in rows
        if bool(row.alike[0]) != bool(row.alike[1])
    ]
    return sorted(differing, key=lambda row: not row.for_prediction)


class ContrastEdge(NamedTuple):
    """An edge of the node with its match in each of the two cases; None: it has none there."""

    edge: EdgeInfo
    chosen: EdgeInfo | None
    other: EdgeInfo | None
    similarity: tuple[float, float]


def contrast_edges(explanation: Explanation, most: int = 3) -> list[ContrastEdge]:
    """The edges whose matches in the two cases of a contrast differ most, in favor of the prediction, then against it.

    A match that ends at the node itself is no evidence about it, and is left out.
    """
    found = explanation.contrast
    if found is None:
        return []
    rows = [
        ContrastEdge(one.edge, one.match, other.match, (one.similarity, other.similarity))
        for one, other in zip(explanation.matched_edges(found.chosen), explanation.matched_edges(found.other))
        if not one.own and not other.own
    ]
    rows.sort(key=lambda row: row.similarity[1] - row.similarity[0])
    favor = [row for row in rows if row.similarity[0] > row.similarity[1]][:most]
    return favor + [row for row in rows if row.similarity[0] < row.similarity[1]][-most:][::-1]


def _sentences(explanation: Explanation) -> Iterator[list[Piece]]:
    answer, closest = explanation.answer, explanation.votes[0]
    numbers, abstained = isinstance(answer, NumberAnswer), answer.abstained is not None
    if abstained:
        yield _say("Node {} is too unlike anything known to be predicted.", _node(explanation, explanation.node))
    elif isinstance(answer, NumberAnswer):
        yield from _number(explanation, answer)
    else:
        if answer.model is not None:
            yield _agreement(explanation, answer.model)
        yield _prediction(explanation)
    if abstained or not numbers or closest.node != explanation.weightiest.node:
        yield _closest(explanation)
    if not numbers and explanation.has_edge_values and closest.matches is not None:
        yield from _carried(explanation, closest)
    if not explanation.has_structure:
        yield ["The node has no edges, so it was compared by its own attributes alone."]
    if explanation.left_out:
        yield _left_out(explanation)
    if abstained:
        yield ["Its most similar cases are shown as context, not as an answer."]
    elif not isinstance(answer, NumberAnswer):
        yield _what_if(explanation)
    elif answer.values_read:
        yield ["The encoder reads known values of graph neighbors; a stated removal removes only the vote."]


def _number(explanation: Explanation, answer: NumberAnswer) -> Iterator[list[Piece]]:
    """The number and its interval, the case that counts most, and what would be without it."""
    interval = ""
    if answer.low is not None and answer.high is not None:
        low, high = (number_text(end, answer.decimals) for end in (answer.low, answer.high))
        interval = f" ({answer.coverage:.0%} interval {low} to {high})"
    name = answer.name.replace("_", " ")
    yield [_node(explanation, explanation.node), f": {name} {answer.text(answer.value)}{interval}."]
    first = explanation.weightiest
    assert first.number is not None
    which = f"Of its {len(explanation.votes)} nearest cases, " if len(explanation.votes) > 1 else "Its only case, "
    counts = f" ({number_text(first.number, answer.decimals)}) counts most, {whole(first.weight)}"
    if first.without:
        change = answer.text(first.without[0] - answer.value, signed=True)
        counts += f"; without it: {answer.text(first.without[0])} ({change})"
    yield [which, _node(explanation, first.node), f"{counts}."]


def _left_out(explanation: Explanation) -> list[Piece]:
    if isinstance(explanation.answer, NumberAnswer):
        known = explanation.query.number
        assert known is not None
        return [f"Its known value, {explanation.answer.text(known)}, was hidden."]
    if explanation.answer.model is not None:
        return ["The node is a case itself; its own vote was left out."]
    label = _class(explanation, explanation.label)
    return _say("The node is labeled '{}' itself; its own label was left out.", label)


def _agreement(explanation: Explanation, model: ExplainedModel) -> list[Piece]:
    """What the explained model answers, and whether the vote agrees."""
    node, answer = _node(explanation, explanation.node), _class(explanation, model.predicted)
    share, often = whole(model.probability), f"{whole(model.agreement)} of held-out nodes"
    if model.predicted == explanation.predicted:
        agreeing = "The model answers '{}' ({}) for node {}; the vote of its cases agrees, as on {}."
        return _say(agreeing, answer, share, node, often)
    pieces = _say("The vote of the cases and the model disagree on node {}: the model answers '{}'", node, answer)
    vote = _class(explanation, explanation.predicted)
    return pieces + _say(" ({}), the vote '{}'. They agree on {}.", share, vote, often)


def _prediction(explanation: Explanation) -> list[Piece]:
    total, share = len(explanation.votes), explanation.probabilities[explanation.predicted]
    held = [one.weight for one in explanation.votes if one.label == explanation.predicted]  # without the reserve
    agreeing = len(held)
    if total == 1:
        voters = "the most similar case has that class."
    elif agreeing == total:
        voters = f"all of the {total} most similar cases have that class."
    else:
        has, holds = ("has", "it holds") if agreeing == 1 else ("have", "they hold")
        part = whole(sum(held))
        voters = f"{agreeing} of the {total} most similar cases {has} that class, and {holds} {part} of the vote."
    node, predicted = _node(explanation, explanation.node), _class(explanation, explanation.predicted)
    return _say("Node {} is predicted '{}' ({}): {}", node, predicted, whole(share), voters)


def _closest(explanation: Explanation) -> list[Piece]:
    closest = explanation.votes[0]
    pieces = _say("The most similar case is {}", _node(explanation, closest.node))
    if not isinstance(explanation.answer, NumberAnswer) and closest.label != explanation.predicted:
        pieces += _say(", which has class '{}'", _class(explanation, closest.label))
    return [*pieces, _how(explanation, closest)]


def _how(explanation: Explanation, closest: CaseVote) -> str:
    if not explanation.has_structure:
        return "."
    if closest.matches is None:
        return "; it has no edges, so the two were compared by their own attributes alone."
    good, total = int(closest.matches.above_average.sum()), len(closest.matches)
    if total == 1:
        return f"; the only edge of the local graph has {'a' if good else 'no'} good match there."
    edges = f"all {total} edges" if good == total else f"{good} of the {total} edges"
    return f"; {edges} of the local graph {'has' if good == 1 else 'have'} a good match there."


def _carried(explanation: Explanation, closest: CaseVote) -> Iterator[list[Piece]]:
    """The best match of an edge of the node itself in the closest, with what both carry; how many edges have none."""
    matched = explanation.matched_edges(closest)
    evidence = [one for one in matched if one.match is not None and explanation.node in one.edge.ends and not one.own]
    if evidence:
        best = max(evidence, key=lambda one: one.similarity)
        assert best.match is not None
        alike = agreeing_facts(best.edge, best.match)
        listed = f", alike in {_listed(alike)}" if alike else ""
        yield [
            "Best matched: ",
            *_edge(explanation, best.edge),
            " with ",
            *_edge(explanation, best.match),
            f"{listed}.",
        ]
    alone = sum(one.match is None for one in matched)
    if alone:
        have = "1 edge of the local graph has" if alone == 1 else f"{alone} edges of the local graph have"
        yield [f"{have} no counterpart of the same direction and type there, which counts as least similar."]


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= MOST_FACTS else (*names[:MOST_FACTS], f"{len(names) - MOST_FACTS} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _edge(explanation: Explanation, edge: EdgeInfo) -> list[Piece]:
    start, end = (_node(explanation, node) for node in (edge.start, edge.end))
    return [start, f" {joint(edge)} ", end, edge_facts(edge, MOST_FACTS)]


def _what_if(explanation: Explanation) -> list[Piece]:
    """The case whose removal would change the class, or how many it takes."""
    if not any(explanation.votes[0].without):
        only = _node(explanation, explanation.votes[0].node)
        return _say("Without {}, no case would be left to compare with.", only)
    if explanation.deciding:
        first, *others = explanation.deciding
        other = int(np.argmax(first.without))
        node, changed = _node(explanation, first.node), _class(explanation, other)
        more = "1 other case" if len(others) == 1 else f"any one of {len(others)} other cases"
        end = f"; so would removing {more}." if others else "."
        removing = "Removing {} would change the prediction to '{}' ({}){}"
        return _say(removing, node, changed, whole(first.without[other]), end)
    if explanation.removal is None:
        return ["No removal would change the prediction: all cases that can vote have that class."]
    return [f"No single case decides this: at least {len(explanation.removal)} would have to be removed."]


def _node(explanation: Explanation, node: int) -> Word:
    caption = explanation.caption(node)
    short = caption if len(caption) <= LONGEST_CAPTION else caption[: LONGEST_CAPTION - 1].rstrip() + "…"
    return Word("node", short, node)


def _class(explanation: Explanation, label: int) -> Word:
    return Word("class", explanation.class_names[label], label)
