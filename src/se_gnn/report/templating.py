"""Templates, style and script of pages: those of the report, and of packages whose pages look like it.

The scripts are ES modules. A page that is one file cannot import, so :func:`script` writes the modules one after the
other as the single module they then are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources

import jinja2

from se_gnn.display.text import shorten
from se_gnn.explain.text import (
    agreeing_facts,
    contrast_edges,
    contrast_values,
    contrast_words,
    joint,
    rows_beside,
    side_by_side,
)
from se_gnn.number_format import decimal, effect, percent, tenths
from se_gnn.plot.style import class_style, isolated, readable
from se_gnn.plot.svg import coordinate, match_class, type_look

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
        percent=percent,
        tenths=tenths,
        decimal=decimal,
        effect=effect,
        readable=readable,
        isolated=isolated,
        shorten=shorten,
        coordinate=coordinate,
    )
    environment.globals.update(
        type_look=type_look,
        match_class=match_class,
        joint=joint,
        agreeing_facts=agreeing_facts,
        contrast_words=contrast_words,
        contrast_values=contrast_values,
        contrast_edges=contrast_edges,
        side_by_side=side_by_side,
        rows_beside=rows_beside,
        vote_actions=lambda node: "",
        link_edges=False,
    )
    return environment
