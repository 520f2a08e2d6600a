"""An explanation for a terminal: sentences, then tables that fit its width."""

from __future__ import annotations

from se_gnn.display.terminal import SHORTEST, paragraph, percent, room, table
from se_gnn.display.text import cut, printable_name, shorten_pair, width
from se_gnn.explain.explanation import EdgeInfo, Explanation
from se_gnn.explain.sections import Cell, Section, Share, Table, sections
from se_gnn.explain.text import edge_in_words, joint


def to_text(explanation: Explanation, k: int) -> str:
    """The sentences, then a paragraph and tables for each section."""
    found = sections(explanation, k, more="; show more with --k")
    parts = [_section(one, explanation) for one in found]
    return "\n\n".join([paragraph(explanation.sentence()), *parts])


def _section(section: Section, explanation: Explanation) -> str:
    tables = [_table(one, explanation) for one in section.tables]
    indent = 2 if section.tables and not section.tables[0].header else 0
    return "\n".join(
        filter(None, [paragraph(f"{section.title} {section.text}"), *tables, paragraph(section.note, indent=indent)])
    )


def _table(given: Table, explanation: Explanation) -> str:
    if not given.header:
        texts = [[_cell(cell, explanation, 0) for cell in row] for row in given.rows]
        return "\n".join(f"  {share:>6}  {printable_name(name)}" for share, name in texts)
    wide = len(given.header) - given.numbers
    taken = sum(map(len, given.header[wide:])) + 2 * (len(given.header) - 1)  # columns are two spaces apart
    rows = [[_cell(cell, explanation, (room() - taken) // wide) for cell in row] for row in given.rows]
    return table(given.header, rows, names=range(wide))


def _cell(cell: Cell, explanation: Explanation, space: int) -> str:
    if isinstance(cell, EdgeInfo):
        return _edge(cell, explanation, space)
    return percent(cell.value) if isinstance(cell, Share) else cell


def _edge(edge: EdgeInfo, explanation: Explanation, space: int) -> str:
    """An edge in so many columns: what it carries is cut first, then both names, each in its middle."""
    between = width(printable_name(f" {joint(edge)} "))
    start, end = (printable_name(explanation.caption(node)) for node in (edge.start, edge.end))
    shortened = shorten_pair(start, end, max(2 * SHORTEST, space - between - len("…")))
    return cut(printable_name(edge_in_words(edge, *shortened)), space)
