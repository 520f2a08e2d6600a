"""An explanation as a notebook shows it: HTML that needs nothing from outside, in the colors of the page around it."""

from __future__ import annotations

import html
from collections.abc import Sequence

from se_gnn.explain.explanation import CaseVote, Explanation, NumberAnswer
from se_gnn.explain.text import contrast_words, joint
from se_gnn.number_format import number, tenths

MOST_CASES = 10
MOST_ATTRIBUTES = 5

# no colors of its own but a bar: black on white and white on black alike
_BOX = "font-family:system-ui,sans-serif;line-height:1.4;max-width:46em"
_TABLE = "border-collapse:collapse;color:inherit;font-size:inherit"
_CELL = "padding:.1em .8em .1em 0;text-align:left;background:transparent"
_NUMBER = "padding:.1em .8em .1em 0;text-align:right;background:transparent;font-variant-numeric:tabular-nums"
_BAR = "display:inline-block;height:.7em;background:currentColor;vertical-align:baseline"


def to_html(explanation: Explanation) -> str:
    """The sentence, the probabilities, the vote with a bar for each case, shared attributes, important edges."""
    parts = [f"<p>{_text(explanation.sentence())}</p>"]
    if explanation.answer.abstained is None:
        contrast = "".join(word.text for word in contrast_words(explanation))
        parts += [_probabilities(explanation), f"<p>{_text(contrast)}</p>" if contrast else ""]
    parts += [_vote(explanation), *_attributes(explanation), *_edges(explanation)]
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _probabilities(explanation: Explanation) -> str:
    if isinstance(explanation.answer, NumberAnswer):
        return ""
    likely = sorted(range(len(explanation.class_names)), key=lambda c: -explanation.probabilities[c])[:5]
    rows = [
        [_name(explanation.class_names[c]), _bar(explanation.probabilities[c], solid=c == explanation.predicted)]
        for c in likely
        if explanation.probabilities[c] > 0
    ]
    return _table("Probability of each class", ["class", ""], rows)


def _vote(explanation: Explanation) -> str:
    shown, numbers = explanation.votes[:MOST_CASES], isinstance(explanation.answer, NumberAnswer)
    most = max(one.weight for one in explanation.votes)
    rows = [
        [
            _name(explanation.caption(one.node)),
            _name(explanation.answer_of(one)),
            _bar(one.weight, solid=numbers or one.label == explanation.predicted, scale=most),
            *_terms(one),
        ]
        for one in shown
    ]
    hidden = explanation.votes[MOST_CASES:]
    title = f"The vote of the {len(explanation.votes)} most similar cases"
    if hidden:
        title += f"; {len(hidden)} more add {_text(tenths(sum(one.weight for one in hidden)))}"
    header = ["case", "value" if numbers else "class", "weight", "similarity", "= node", "+ structure"]
    return _table(title, header, rows, numbers=3)


def _terms(vote: CaseVote) -> list[str]:
    structure = number(vote.structure_term) if vote.structure_similarity is not None else "–"
    return [number(vote.similarity), number(vote.node_term), structure]


def _attributes(explanation: Explanation) -> list[str]:
    closest = explanation.votes[0]
    shared = closest.attributes
    if shared is None or not shared.that_matter:
        return []
    rows = [
        [_name(one.name), _text(one.value), _text(one.other_value), number(one.effect)]
        for one in shared.that_matter[:MOST_ATTRIBUTES]
    ]
    title = f"Attributes shared with the closest, {len(rows)} of {shared.num_shared}, by effect on the similarity"
    names = [_name(explanation.caption(node)) for node in (explanation.node, closest.node)]
    header = ["attribute", *names, "effect"]
    return [_table(title, header, rows, numbers=1, escaped=True)]


def _edges(explanation: Explanation) -> list[str]:
    crucial = explanation.crucial_subgraph()
    rows = [
        [_edge(explanation, edge), number(value)] for edge, value in zip(crucial.edge_ids.tolist(), crucial.importance)
    ]
    title = f"Its most important edges, {len(rows)} of {len(explanation.edge_ids)}"
    return [_table(title, ["edge", "importance"], rows, numbers=1)] if rows else []


def _edge(explanation: Explanation, edge: int) -> str:
    info = explanation.edges[edge]
    start, end = (_name(explanation.caption(end)) for end in (info.start, info.end))
    facts = ", ".join(f"{name} {value}" for name, value in info.facts.items())
    return f"{start} {_text(joint(info))} {end}" + (_text(f" ({facts})") if facts else "")


def _table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0, escaped: bool = False
) -> str:
    """A table whose cells are HTML already; the last ``numbers`` columns stand right."""
    styles = [_CELL] * (len(header) - numbers) + [_NUMBER] * numbers
    names = header if escaped else [_text(name) for name in header]
    head = "".join(f'<th scope="col" style="{style}">{name}</th>' for style, name in zip(styles, names))
    body = "".join(
        "<tr>" + "".join(f'<td style="{style}">{cell}</td>' for style, cell in zip(styles, row)) + "</tr>"
        for row in rows
    )
    caption = f'<caption style="text-align:left;font-weight:bold;color:inherit;padding:.6em 0 .1em">{title}</caption>'
    return f'<table style="{_TABLE}">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _bar(share: float, *, solid: bool, scale: float = 1.0) -> str:
    """A bar with its share in words; faint if it belongs to another class."""
    width = 8 * share / scale
    return f'<span style="{_BAR};width:{width:.2f}em;opacity:{0.75 if solid else 0.3}"></span> {_text(tenths(share))}'


def _name(name: str) -> str:
    return f"<bdi>{_text(name)}</bdi>"  # keeps a name that runs right to left from turning what follows


def _text(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))
