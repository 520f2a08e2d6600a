"""Formulas as MathML, which browsers draw themselves: a page needs neither the network nor a script."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

_TAG = re.compile(r"\\tag\{([^}]*)\}")
_VARIANT = re.compile(r'<mi mathvariant="(bold|script)">([A-Za-z])</mi>')
_ALPHABETS = {"bold": "BOLD", "script": "SCRIPT"}


def mathml(formula: str, *, display: str = "inline") -> str:
    """A formula as MathML; bold and script letters as characters of their own, which every browser knows."""
    return _VARIANT.sub(_letter, convert(formula, display=display))


def _letter(found: re.Match[str]) -> str:
    variant, letter = found.groups()
    case = "CAPITAL" if letter.isupper() else "SMALL"
    names = (f"MATHEMATICAL {_ALPHABETS[variant]} {case} {letter.upper()}", f"{_ALPHABETS[variant]} CAPITAL {letter}")
    for name in names:  # some script letters are older than the others
        with contextlib.suppress(KeyError):
            return f'<mi mathvariant="normal">{unicodedata.lookup(name)}</mi>'
    return found.group()


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.Element) -> None:
    text = node.astext()
    number = _TAG.search(text)
    formula = mathml(_TAG.sub("", text).strip(), display="block")
    tag = f'<span class="equation-number">({number.group(1)})</span>' if number else ""
    translator.body.append(f'<div class="equation">{formula}{tag}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register as the one that draws formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
