"""An explanation for a terminal: sentences, then tables that fit its width."""

from __future__ import annotations

import math
from typing import cast

from se_gnn.display.terminal import SHORTEST, count, paragraph, percent, room, table
from se_gnn.display.text import cut, printable_name, shorten_pair, width
from se_gnn.explain.explanation import Explanation, NumberAnswer
from se_gnn.explain.text import (
    contrast_edges,
    contrast_values,
    contrast_words,
    difference,
    edge_in_words,
    side_by_side,
)
from se_gnn.number_format import number, number_text

MATCHED_EDGES = 8
SHARED_ATTRIBUTES = 5
MOST_COLUMNS = 12
CONTRAST_ROWS = 6
CRUCIAL_EDGES = 5
MARKS = {"equal": "=", "close": "≈", "": ""}


def to_text(explanation: Explanation, k: int) -> str:
    """The sentences; the vote of the ``k`` nearest cases; rows, attributes and edges beside those of the nearest."""
    vote = _number_votes if explanation.answer.kind == "number" else _class_votes
    parts = [
        paragraph(explanation.sentence()),
        vote(explanation, k),
        _contrast(explanation),
        _rows(explanation),
        _shared_attributes(explanation, k),
        _matches(explanation),
        _crucial(explanation),
    ]
    return "\n\n".join(part for part in parts if part)


def _number_votes(explanation: Explanation, k: int) -> str:
    """The cases with their numbers, what each adds, and the number without it."""
    answer = cast("NumberAnswer", explanation.answer)
    rows = [
        [
            explanation.caption(one.node),
            number_text(one.number if one.number is not None else math.nan, answer.decimals),
            percent(one.weight),
            number_text(one.contribution or 0.0, answer.decimals),
            number_text(one.without[0] - answer.value, answer.decimals, signed=True) if one.without else "-",
        ]
        for one in explanation.votes[:k]
    ]
    note = f"Each adds its weight times its number; together they are {answer.text(answer.value)}."
    if len(explanation.votes) > k:
        rest = sum(one.contribution or 0.0 for one in explanation.votes[k:])
        note += f" Those not shown add {number_text(rest, answer.decimals)}; show more with --k."
    header = ["case", answer.name.replace("_", " "), "weight", "adds", "without it"]
    return "\n".join([_votes_title(explanation, k), table(header, rows), paragraph(note)])


def _class_votes(explanation: Explanation, k: int) -> str:
    """The probability of each class; the cases with their classes, and what each adds."""
    order = sorted(range(len(explanation.class_names)), key=lambda c: -explanation.probabilities[c])
    lines = ["Probability of each class"]
    for c in [c for c in order if explanation.probabilities[c] > 0][:5]:
        lines.append(f"  {percent(explanation.probabilities[c]):>6}  {printable_name(explanation.class_names[c])}")
    if explanation.label >= 0 and explanation.answer.model is None:
        lines.append(f"  Its known class is '{printable_name(explanation.class_names[explanation.label])}'.")
    captions = any(node.caption != node.name for node in explanation.nodes.values())
    rows = [
        [
            explanation.nodes[one.node].name,
            *([explanation.caption(one.node)] if captions else []),
            explanation.answer_of(one),
            percent(one.weight),
            number(one.similarity),
            number(one.node_term),
            number(one.structure_term) if one.structure_similarity is not None else "-",
        ]
        for one in explanation.votes[:k]
    ]
    header = ["case", *(["caption"] if captions else []), "class", "adds", "similarity", "= node", "+ structure"]
    note = "Each adds its share to the probability of its own class."
    if len(explanation.votes) > k:
        hidden = sum(one.weight for one in explanation.votes[k:])
        note += f" Those not shown add {percent(hidden)} together; show more with --k."
    if explanation.reserve:
        note += f" A reserve of {percent(explanation.reserve)} is spread evenly over the classes."
    votes = [_votes_title(explanation, k), table(header, rows, names=range(len(header) - 4)), paragraph(note)]
    return "\n".join([*lines, "", *votes])


def _votes_title(explanation: Explanation, k: int) -> str:
    voting = count(len(explanation.votes), "case that votes", "cases that vote")
    return f"The {len(explanation.votes[:k])} nearest of {voting}"


def _contrast(explanation: Explanation) -> str:
    """Why this class and not the other: the nearest case of each, and what tells them apart."""
    found = explanation.contrast
    if found is None or explanation.answer.abstained is not None:
        return ""
    classes = [explanation.answer_of(one) for one in (found.chosen, found.other)]
    reason = "".join(word.text for word in contrast_words(explanation))
    text = [paragraph(f"Why '{classes[0]}' and not '{classes[1]}'? {reason}")]
    values = contrast_values(explanation)[:CONTRAST_ROWS]
    if values:
        names = [explanation.caption(node) for node in (explanation.node, found.chosen.node, found.other.node)]
        rows = [[*row[:4], classes[0] if row.for_prediction else classes[1]] for row in values]
        text.append(table(["what differs", *names, "evidence for"], rows, names=range(5)))
    edges = contrast_edges(explanation)
    if edges:
        header = ["edge, and the similarity of its match in", "the first", "the second"]
        space = room() - len(header[1]) - len(header[2]) - 4
        rows = [[_edge(explanation, row.edge.id, space), *map(number, row.similarity)] for row in edges]
        text.append(table(header, rows))
    return "\n".join(text)


def _rows(explanation: Explanation) -> str:
    """The rows of the node and of the most similar case as their table has them, equal and close values first."""
    closest = explanation.nodes[explanation.votes[0].node]
    values = side_by_side(explanation.query, [closest])
    if not values.rows or not closest.values:
        return ""
    rows = sorted(values.rows, key=lambda row: ("equal", "close", "").index(row.alike[0]))
    equal, close = (sum(row.alike[0] == alike for row in rows) for alike in ("equal", "close"))
    cells = [
        [
            MARKS[row.alike[0]],
            row.name,
            row.value,
            row.others[0],
            *([difference(row.value, row.others[0]) if row.alike[0] == "close" else ""] if close else []),
        ]
        for row in rows[:MOST_COLUMNS]
    ]
    names = _names(explanation)
    title = f"The rows of {names[0]} and {names[1]}, the most similar case: {equal} of "
    title += f"{count(len(rows) + values.hidden, 'value')} equal" + (f", {close} close (≈)" if close else "")
    text = [paragraph(title), table(["", "column", *names, *([""] if close else [])], cells, names=(1, 2, 3))]
    more = len(rows) + values.hidden - len(cells)
    return "\n".join([*text, f"and {count(more, 'more column', 'more columns')}"] if more else text)


def _shared_attributes(explanation: Explanation, k: int) -> str:
    """What the nearest case has in common with the node, with values; of the others the names alone."""
    shared = explanation.votes[0].attributes
    if shared is None or not shared.that_matter:
        return ""
    shown, names = shared.that_matter[:SHARED_ATTRIBUTES], _names(explanation)
    title = f"Attributes that {names[0]} and {names[1]} share, by what they do for their similarity"
    title += f" (first {len(shown)} of {shared.num_shared})" if shared.num_shared > len(shown) else ""
    rows = [[one.name, one.value, one.other_value, number(one.effect)] for one in shown]
    text = [
        paragraph(title),
        table(["attribute", *names, "effect"], rows, names=(0, 1, 2)),
        paragraph("Effect: node similarity that is lost when one of the two is without the attribute."),
    ]
    others = [
        [explanation.caption(one.node), "; ".join(a.name for a in one.attributes.that_matter[:3]) or "-"]
        for one in explanation.votes[1:k]
        if one.attributes is not None
    ]
    if others:
        text += ["", table(["case", f"makes it similar to {names[0]}"], others, names=(0, 1))]
    return "\n".join(text)


def _matches(explanation: Explanation) -> str:
    """Edges of the node beside those of the nearest case, best first; those that both have are counted.

    A match that ends at the node itself is no evidence about it, and is not listed.
    """
    matches = explanation.votes[0].matches
    if matches is None or not len(matches):
        return ""
    same = matches.edge_ids == matches.matched_ids
    order = (-matches.similarity).argsort(kind="stable").tolist()
    own = [int(edge) >= 0 and explanation.touches_query(int(edge)) for edge in matches.matched_ids]
    others = [i for i in order if not same[i] and not own[i]]
    shown, names = others[:MATCHED_EDGES], _names(explanation)
    title = f"The nearest case is {names[1]}."
    if same.any():
        shared = int(same.sum())
        title += f" {shared} of {count(len(matches), 'edge')} {'is' if shared == 1 else 'are'} also in its local graph."
    if not shown:
        return paragraph(title)
    title += f" {'Other edges' if same.any() else 'Edges'} of the node and their matches there"
    title += f" (best {len(shown)} of {len(others)}):" if len(others) > len(shown) else ":"
    header = [f"edge of {names[0]}", f"match in {names[1]}", "similarity"]
    space = (room() - len(header[2]) - 4) // 2  # columns are two spaces apart
    rows = [
        [
            *(_edge(explanation, int(edges[i]), space) for edges in (matches.edge_ids, matches.matched_ids)),
            number(matches.similarity[i]),
        ]
        for i in shown
    ]
    return paragraph(title) + "\n" + table(header, rows, names=(0, 1))


def _crucial(explanation: Explanation) -> str:
    crucial = explanation.crucial_subgraph(size=CRUCIAL_EDGES)
    if not len(crucial.edge_ids):
        return ""
    header = ["edge", "importance"]
    space = room() - len(header[1]) - 2
    found = zip(crucial.edge_ids, crucial.importance)
    rows = [[_edge(explanation, int(edge), space), number(value)] for edge, value in found]
    title = f"The edges that matter most, of {count(len(explanation.edge_ids), 'edge')} in its local graph"
    return paragraph(title) + "\n" + table(header, rows)


def _edge(explanation: Explanation, edge: int, space: int) -> str:
    """An edge in so many columns; of long names both stay, each cut in its middle, and what it carries is cut last."""
    if edge < 0:
        return "none of its direction and type"
    info = explanation.edges[edge]
    rest = width(printable_name(edge_in_words(info, "", "")))
    start, end = (printable_name(explanation.caption(node)) for node in (info.start, info.end))
    shortened = shorten_pair(start, end, max(2 * SHORTEST, space - rest))
    return cut(printable_name(edge_in_words(info, *shortened)), space)


def _names(explanation: Explanation) -> tuple[str, str]:
    """The node, and the nearest case."""
    return explanation.caption(explanation.node), explanation.caption(explanation.votes[0].node)
