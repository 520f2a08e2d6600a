"""A model to report on, and a real browser to open the pages with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chromium import watched_page
from hostile_model import hostile_model
from se_gnn.model import Model

COSINE = {"measure": "cosine", "temperature": 1.0}


@pytest.fixture(scope="session")
def hub() -> Model:
    return hostile_model(similarity=COSINE)


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a report in a browser that has seen nothing yet, 1200 pixels wide unless the options say otherwise."""
    contexts = []

    def call(html: str, **options: Any) -> Any:
        file = tmp_path / "report.html"
        file.write_bytes(html.encode())
        contexts.append(browser.new_context(**{"viewport": {"width": 1200, "height": 1000}, **options}))
        page = watched_page(contexts[-1])
        page.goto(file.as_uri())
        return page

    yield call
    for context in contexts:
        context.close()
