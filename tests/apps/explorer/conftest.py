"""The explorer in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chromium import watched_page
from live_server import serving
from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from web_client import UNLIMITED


@pytest.fixture(scope="module")
def address(store: Store, browser: Any) -> Iterator[str]:
    with serving(create_app(store, UNLIMITED)) as base:
        yield base


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page of a browser that has seen nothing yet; any error on it, and any address elsewhere, fails the test."""
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = watched_page(context)
    yield opened
    context.close()
    assert opened.problems == []
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []
