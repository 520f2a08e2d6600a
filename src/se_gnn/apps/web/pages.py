"""Pages from templates, in the look of the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import Request, Response

from se_gnn import __version__
from se_gnn.apps.web.assets import Assets
from se_gnn.report.templating import page_environment


class Pages:
    """Templates of some packages, those of the report and of `se_gnn.apps.web` included."""

    def __init__(self, packages: Iterable[str], assets: Assets) -> None:
        self.assets = assets
        self.environment = page_environment([*packages, "se_gnn.apps.web", "se_gnn.report"])
        self.environment.globals.update(asset=assets.href, version=__version__)

    def html(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page."""
        text = self.environment.get_template(template).render(**values)
        return Response(text, status_code=status, media_type="text/html; charset=utf-8")


def wants_page(request: Request) -> bool:
    """Whether a person asks, with a browser, and not a program."""
    return "text/html" in request.headers.get("accept", "")
