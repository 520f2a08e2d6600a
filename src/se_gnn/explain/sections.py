"""An explanation for a terminal and for a notebook: its sentences, then the same titles, tables and notes in both.

A cell is a text, a share or an edge. A terminal cuts it to the width that there is; a notebook shows HTML that needs
nothing from outside, in the colors of the page around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from se_gnn.display.terminal import SHORTEST, count, paragraph, percent, room, table
from se_gnn.display.text import cut, printable_name, shorten_pair, width
from se_gnn.explain.explanation import (
    CRUCIAL_EDGES,
    CaseVote,
    ClassAnswer,
    Contrast,
    EdgeInfo,
    Explanation,
    NumberAnswer,
)
from se_gnn.explain.text import (
    contrast_edges,
    contrast_values,
    contrast_words,
    difference,
    edge_facts,
    edge_in_words,
    joint,
    rows_beside,
)
from se_gnn.number_format import number, number_text, tenths

MATCHED_EDGES = 8
SHARED_ATTRIBUTES = 5
MOST_CLASSES = 5
MOST_COLUMNS = 12
CONTRAST_ROWS = 6
MARKS = {"equal": "=", "close": "≈", "": ""}
TERMS = ("similarity", "= node", "+ structure")


class Share(NamedTuple):
    """A share of the vote, and whether it is for what is predicted."""

    value: float
    agrees: bool


Cell = str | Share | EdgeInfo


class Table(NamedTuple):
    """Rows under a header; without a header they are a list. The last columns hold numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: int = 0

    @property
    def largest_share(self) -> float:
        """The largest share in its cells."""
        return max((cell.value for row in self.rows for cell in row if isinstance(cell, Share)), default=1.0)


class Section(NamedTuple):
    """A title, sentences that follow it, tables, and a note below them; each may be empty."""

    title: str
    tables: Sequence[Table] = ()
    note: str = ""
    text: str = ""


def sections(explanation: Explanation, k: int, *, more: str = "", wide: bool = False) -> Iterator[Section]:
    """The vote of the ``k`` nearest cases; rows, attributes and edges beside those of the nearest.

    ``more`` says how to see the other cases; ``wide`` shows what similarities are made of also if numbers are
    predicted.
    """
    answered = explanation.answer.abstained is None
    if answered and isinstance(explanation.answer, ClassAnswer):
        yield _probabilities(explanation)
    yield _votes(explanation, k, more, wide=wide)
    if answered and explanation.contrast is not None:
        yield _contrast(explanation, explanation.contrast)
    yield from _rows(explanation)
    yield from _attributes(explanation, k)
    yield from _matches(explanation)
    yield from _crucial(explanation)


def _probabilities(explanation: Explanation) -> Section:
    rows: list[list[Cell]] = [
        [Share(share, label == explanation.predicted), explanation.class_names[label]]
        for label, share in explanation.shares[:MOST_CLASSES]
    ]
    known = explanation.label >= 0 and explanation.answer.model is None
    note = f"Its known class is '{explanation.class_names[explanation.label]}'." if known else ""
    return Section("Probability of each class", [Table((), rows)], note)


def _votes(explanation: Explanation, k: int, more: str, *, wide: bool) -> Section:
    """The cases, what each votes for, and what it adds."""
    answer, hidden = explanation.answer, explanation.votes[k:]
    if isinstance(answer, NumberAnswer):
        header = [answer.name.replace("_", " "), "weight", "adds", "without it", *(TERMS if wide else ())]
        note = f"Each adds its weight times its number; together they are {answer.text(answer.value)}."
        rest = number_text(sum(one.contribution or 0.0 for one in hidden), answer.decimals)
    else:
        header = ["class", "adds", *TERMS]
        note = "Each adds its share to the probability of its own class."
        rest = f"{percent(sum(one.weight for one in hidden))} together"
    if hidden:
        note += f" Those not shown add {rest}{more}."
    if explanation.reserve:
        note += f" A reserve of {percent(explanation.reserve)} is spread evenly over the classes."
    if (factors := explanation.settings.class_factors) is not None:
        classes = sorted({one.label for one in explanation.votes}, key=lambda label: -factors[label])
        several = ", ".join(f"{explanation.class_names[label]} {factors[label]:g} times" for label in classes)
        note += f" A case counts by its class: {several}."
    captions = any(node.caption != node.name for node in explanation.nodes.values())
    rows = [
        [
            explanation.nodes[one.node].name,
            *([explanation.caption(one.node)] if captions else []),
            *_figures(explanation, one)[: len(header)],
        ]
        for one in explanation.votes[:k]
    ]
    shown = Table(
        ["case", *(["caption"] if captions else []), *header], rows, len(header) - isinstance(answer, ClassAnswer)
    )
    voting = count(len(explanation.votes), "case that votes", "cases that vote")
    return Section(f"The {len(rows)} nearest of {voting}", [shown], note if answer.abstained is None else "")


def _figures(explanation: Explanation, vote: CaseVote) -> list[Cell]:
    """What a case votes for, its weight, and the terms of its similarity; of a number what it adds and changes."""
    answer = explanation.answer
    structure = number(vote.structure_term) if vote.structure_similarity is not None else "-"
    terms = [number(vote.similarity), number(vote.node_term), structure]
    if not isinstance(answer, NumberAnswer):
        return [explanation.answer_of(vote), Share(vote.weight, vote.label == explanation.predicted), *terms]
    adds = number_text(vote.contribution or 0.0, answer.decimals)
    without = number_text(vote.without[0] - answer.value, answer.decimals, signed=True) if vote.without else "-"
    return [explanation.answer_of(vote), Share(vote.weight, agrees=True), adds, without, *terms]


def _contrast(explanation: Explanation, found: Contrast) -> Section:
    """Why this class and not the other: the nearest case of each, and what tells them apart."""
    classes = [explanation.answer_of(one) for one in (found.chosen, found.other)]
    reason = "".join(word.text for word in contrast_words(explanation))
    names = [explanation.caption(node) for node in (explanation.node, found.chosen.node, found.other.node)]
    values = contrast_values(explanation)[:CONTRAST_ROWS]
    columns = [[*row[:4], classes[0] if row.for_prediction else classes[1]] for row in values]
    edges: list[list[Cell]] = [[row.edge, *map(number, row.similarity)] for row in contrast_edges(explanation)]
    tables = [
        Table(["what differs", *names, "evidence for"], columns),
        Table(["edge, and the similarity of its match in", "the first", "the second"], edges, 2),
    ]
    title = f"Why '{classes[0]}' and not '{classes[1]}'?"
    return Section(title, [one for one in tables if one.rows], text=reason)


def _rows(explanation: Explanation) -> Iterator[Section]:
    """The rows of the node and of the most similar case as their table has them, equal and close values first."""
    values = rows_beside(explanation, explanation.votes[:1])
    if not values.rows or not explanation.nodes[explanation.votes[0].node].values:
        return
    rows = sorted(values.rows, key=lambda row: list(MARKS).index(row.alike[0]))
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
    names, total = _names(explanation), len(rows) + values.hidden
    title = f"The rows of {names[0]} and {names[1]}, the most similar case: {equal} of {count(total, 'value')} equal"
    header = ["", "column", *names, *([""] if close else [])]
    note = f"and {count(total - len(cells), 'more column', 'more columns')}" if total > len(cells) else ""
    yield Section(title + (f", {close} close (≈)" if close else ""), [Table(header, cells, bool(close))], note)


def _attributes(explanation: Explanation, k: int) -> Iterator[Section]:
    """What makes the nearest case similar to the node, with values; of the others the names alone."""
    shared = explanation.votes[0].attributes
    if shared is None or not shared.that_matter:
        return
    shown, names = shared.that_matter[:SHARED_ATTRIBUTES], _names(explanation)
    title = f"The attributes that make {names[0]} and {names[1]} similar, largest effect first"
    title += f" (first {len(shown)} of {len(shared.that_matter)})" if len(shared.that_matter) > len(shown) else ""
    rows = [[one.name, one.value, one.other_value, number(one.effect)] for one in shown]
    note = "Effect: node similarity that is lost if one of the two is without the attribute."
    yield Section(title, [Table(["attribute", *names, "effect"], rows, 1)], note)
    others = [
        [explanation.caption(one.node), "; ".join(a.name for a in one.attributes.that_matter[:3]) or "-"]
        for one in explanation.votes[1:k]
        if one.attributes is not None
    ]
    if others:
        yield Section("", [Table(["case", f"makes it similar to {names[0]}"], others)])


def _matches(explanation: Explanation) -> Iterator[Section]:
    """Edges of the node beside those of the nearest case, best first; those that both have are counted.

    A match that ends at the node itself is no evidence about it, and is not listed.
    """
    matched = explanation.matched_edges(explanation.votes[0])
    if not matched:
        return
    others = sorted((one for one in matched if not one.same and not one.own), key=lambda one: -one.similarity)
    shown, names, same = others[:MATCHED_EDGES], _names(explanation), sum(one.same for one in matched)
    title = f"The nearest case is {names[1]}."
    if same:
        title += f" {same} of {count(len(matched), 'edge')} {'is' if same == 1 else 'are'} also in its local graph."
    if not shown:
        yield Section(title)
        return
    title += f" {'Other edges' if same else 'Edges'} of the node and their matches there"
    title += f" (best {len(shown)} of {len(others)}):" if len(others) > len(shown) else ":"
    header = [f"edge of {names[0]}", f"match in {names[1]}", "similarity"]
    rows: list[list[Cell]] = [
        [one.edge, one.match or "none of its direction and type", number(one.similarity)] for one in shown
    ]
    yield Section(title, [Table(header, rows, 1)])


def _crucial(explanation: Explanation) -> Iterator[Section]:
    crucial = explanation.crucial_subgraph(size=CRUCIAL_EDGES)
    found = zip(crucial.edge_ids.tolist(), crucial.importance.tolist())
    rows: list[list[Cell]] = [[explanation.edges[edge], number(value)] for edge, value in found]
    title = f"The edges that matter most, of {count(len(explanation.edge_ids), 'edge')} in its local graph"
    if rows:
        yield Section(title, [Table(["edge", "importance"], rows, 1)])


def _names(explanation: Explanation) -> tuple[str, str]:
    """The node, and the nearest case."""
    return explanation.caption(explanation.node), explanation.caption(explanation.votes[0].node)


def to_text(explanation: Explanation, k: int) -> str:
    """The sentences, then a paragraph and tables for each section."""
    found = sections(explanation, k, more="; show more with --k")
    parts = [_text_section(one, explanation) for one in found]
    return "\n\n".join([paragraph(explanation.sentence()), *parts])


def _text_section(section: Section, explanation: Explanation) -> str:
    tables = [_text_table(one, explanation) for one in section.tables]
    indent = 2 if section.tables and not section.tables[0].header else 0
    return "\n".join(
        filter(None, [paragraph(f"{section.title} {section.text}"), *tables, paragraph(section.note, indent=indent)])
    )


def _text_table(given: Table, explanation: Explanation) -> str:
    if not given.header:
        texts = [[_text_cell(cell, explanation, 0) for cell in row] for row in given.rows]
        return "\n".join(f"  {share:>6}  {printable_name(name)}" for share, name in texts)
    wide = len(given.header) - given.numbers
    taken = sum(map(len, given.header[wide:])) + 2 * (len(given.header) - 1)  # columns are two spaces apart
    rows = [[_text_cell(cell, explanation, (room() - taken) // wide) for cell in row] for row in given.rows]
    return table(given.header, rows, names=range(wide))


def _text_cell(cell: Cell, explanation: Explanation, space: int) -> str:
    if isinstance(cell, EdgeInfo):
        return _text_edge(cell, explanation, space)
    return percent(cell.value) if isinstance(cell, Share) else cell


def _text_edge(edge: EdgeInfo, explanation: Explanation, space: int) -> str:
    """An edge in so many columns: what it carries is cut first, then both names, each in its middle."""
    between = width(printable_name(f" {joint(edge)} "))
    start, end = (printable_name(explanation.caption(node)) for node in (edge.start, edge.end))
    shortened = shorten_pair(start, end, max(2 * SHORTEST, space - between - len("…")))
    return cut(printable_name(edge_in_words(edge, *shortened)), space)


MOST_CASES = 10


def to_html(explanation: Explanation) -> str:
    """The sentences, then the tables of each section, with a bar for each share of the vote."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("se_gnn.explain", "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["tenths"] = tenths
    found = environment.get_template("notebook.html").render(
        e=explanation,
        sections=list(sections(explanation, MOST_CASES, wide=True)),
        joint=joint,
        edge_facts=edge_facts,
    )
    return found.encode("utf-8", "replace").decode("utf-8")
