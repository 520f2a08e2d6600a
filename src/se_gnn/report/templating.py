"""Templates, style and script of pages: those of the report, and of packages whose pages look like it.

The scripts are ES modules. A page that is one file cannot import, so :func:`script` writes the modules one after the
other as the single module they then are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources

import jinja2

from se_gnn import number_format
from se_gnn.display.text import shorten
from se_gnn.explain import text
from se_gnn.plot import style, svg

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


def script() -> str:
    """All modules as one: what they import from one another is there already."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", asset(name))) for name in SCRIPTS)


def class_colors(num_classes: int) -> str:
    """The colors of the classes as rules that follow those of the page."""
    return "".join(f".c{label} {{ --class: {style.class_style(label).color}; }}\n" for label in range(num_classes))


def page_environment(packages: Sequence[str] = ("se_gnn.report",)) -> jinja2.Environment:
    """An environment over the folders `templates` of some packages: the first that has a template gives it.

    Everything is escaped, and a name that is not there is an error. Where macros lead to a node is for the page to say:
    `node_href(node)` is an address, or None. `vote_actions(node)` is what a page offers to do with a case,
    and `link_edges` makes links of the ends of edges, too.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, "templates") for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        {name: getattr(number_format, name) for name in ("percent", "tenths", "decimal", "effect")}
    )
    environment.filters.update(
        readable=style.readable, isolated=style.isolated, shorten=shorten, coordinate=svg.coordinate
    )
    environment.globals.update(text=text, svg=svg, vote_actions=lambda node: "", link_edges=False)
    return environment
