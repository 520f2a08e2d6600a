"""Formulas as MathML, which browsers draw themselves: a page needs neither the network nor a script."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

_TAG = re.compile(r"\\tag\{([^}]*)\}")


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.Element) -> None:
    text = node.astext()
    number = _TAG.search(text)
    formula = convert(_TAG.sub("", text).strip(), display="block")
    tag = f'<span class="equation-number">({number.group(1)})</span>' if number else ""
    translator.body.append(f'<div class="equation">{formula}{tag}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register as the one that draws formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
