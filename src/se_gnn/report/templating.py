"""Templates of pages: those of the report, and of packages whose pages look like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from se_gnn.number_format import decimal, effect, percent, tenths
from se_gnn.optional import require
from se_gnn.plot.edge_style import kind_mark
from se_gnn.plot.svg import match_class
from se_gnn.plot.text import isolated, readable


def page_environment(packages: Sequence[str] = ("se_gnn.report",)) -> Any:
    """A `jinja2.Environment` over the folders `templates` of some packages: the first that has a template gives it.

    Everything is escaped, and a name that is not there is an error. Where macros lead to a node is for the page to say:
    `node_href(node)` is an address, or None. `vote_actions(node)` is what a page offers to do with a labeled neighbor,
    and `link_edges` makes links of the ends of edges, too.
    """
    jinja2: Any = require("jinja2", extra="report", feature="reports")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, "templates") for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent, tenths=tenths, decimal=decimal, effect=effect, readable=readable, isolated=isolated
    )
    environment.globals.update(
        kind_mark=kind_mark, match_class=match_class, vote_actions=lambda node: "", link_edges=False
    )
    return environment
