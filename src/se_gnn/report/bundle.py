"""Style and script of pages: files of their own, so that other pages can take the same ones.

The scripts are ES modules. A page that is one file cannot import, so :func:`script` writes the modules one after the
other as the single module they then are.
"""

from __future__ import annotations

import re
from importlib import resources

from se_gnn.plot.palette import class_style

STYLES = (
    "colors.css", "page.css", "tables.css", "card.css", "memory.css", "predictions.css", "node.css", "matching.css",
    "print.css",
)  # fmt: skip
SCRIPTS = ("numbers.js", "sections.js", "folding.js", "matching.js", "predictions.js", "report.js")

_IMPORT = re.compile(r"^import .*;\n", flags=re.MULTILINE)
_EXPORT = re.compile(r"^export ", flags=re.MULTILINE)


def asset(name: str) -> str:
    """The text of one file."""
    return resources.files("se_gnn.report").joinpath("assets", name).read_text(encoding="utf-8")


def stylesheet(num_classes: int) -> str:
    """All of the style, then the colors of the classes."""
    return "\n".join(asset(name) for name in STYLES) + class_colors(num_classes)


def script(names: tuple[str, ...] = SCRIPTS) -> str:
    """Modules as one: what they import from one another is there already."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", asset(name))) for name in names)


def class_colors(num_classes: int) -> str:
    """The colors of the classes as rules that follow those of the page."""
    return "".join(f".c{label} {{ --class: {class_style(label).color}; }}\n" for label in range(num_classes))
