"""An explanation as a notebook shows it: HTML that needs nothing from outside, in the colors of the page around it."""

from __future__ import annotations

import html

from se_gnn.explain.explanation import EdgeInfo, Explanation
from se_gnn.explain.sections import Cell, Section, Share, Table, sections
from se_gnn.explain.text import edge_facts, joint
from se_gnn.number_format import tenths

MOST_CASES = 10

# no colors of its own but a bar: black on white and white on black alike
_BOX = "font-family:system-ui,sans-serif;line-height:1.4;max-width:46em"
_TABLE = "border-collapse:collapse;color:inherit;font-size:inherit"
_CAPTION = "text-align:left;font-weight:bold;color:inherit;padding:.6em 0 .1em"
_CELL = "padding:.1em .8em .1em 0;text-align:left;background:transparent"
_NUMBER = "padding:.1em .8em .1em 0;text-align:right;background:transparent;font-variant-numeric:tabular-nums"
_BAR = "display:inline-block;height:.7em;background:currentColor;vertical-align:baseline"


def to_html(explanation: Explanation) -> str:
    """The sentences, then the tables of each section, with a bar for each share of the vote."""
    parts = [_section(one, explanation) for one in sections(explanation, MOST_CASES, wide=True)]
    return f'<div style="{_BOX}"><p>{_text(explanation.sentence())}</p>{"".join(parts)}</div>'


def _section(section: Section, explanation: Explanation) -> str:
    captioned = bool(section.tables) and not section.text
    title = "" if captioned else f"<p>{_text(f'{section.title} {section.text}')}</p>"
    tables = [_table(one, section.title if captioned else "", explanation) for one in section.tables]
    return "".join([title, *tables, f"<p>{_text(section.note)}</p>" if section.note else ""])


def _table(table: Table, title: str, explanation: Explanation) -> str:
    most = max((cell.value for row in table.rows for cell in row if isinstance(cell, Share)), default=1.0)
    caption = f'<caption style="{_CAPTION}">{_text(title)}</caption>' if title else ""
    styles = [_CELL] * (len(table.header or table.rows[0]) - table.numbers) + [_NUMBER] * table.numbers
    names = zip(styles, table.header)
    head = "".join(f'<th scope="col" style="{style}">{_cell(name, most, explanation)}</th>' for style, name in names)
    body = ""
    for row in table.rows:
        styled = zip([_CELL if isinstance(cell, Share) else style for cell, style in zip(row, styles)], row)
        cells = (f'<td style="{style}">{_cell(cell, most, explanation)}</td>' for style, cell in styled)
        body += f"<tr>{''.join(cells)}</tr>"
    return f'<table style="{_TABLE}">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(cell: Cell, most: float, explanation: Explanation) -> str:
    """A cell as HTML; a bar is as long as its share of the largest, and faint if it belongs to another class."""
    if isinstance(cell, Share):
        bar = f"{_BAR};width:{8 * cell.value / most:.2f}em;opacity:{0.75 if cell.agrees else 0.3}"
        return f'<span style="{bar}"></span> {_text(tenths(cell.value))}'
    if isinstance(cell, EdgeInfo):
        start, end = (_name(explanation.caption(node)) for node in (cell.start, cell.end))
        return f"{start} {_text(joint(cell))} {end}{_text(edge_facts(cell))}"
    return _name(cell)


def _name(name: str) -> str:
    return f"<bdi>{_text(name)}</bdi>"  # a name that runs right to left does not turn what follows


def _text(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))
