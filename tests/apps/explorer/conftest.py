"""The hostile model in the explorer, and a browser to look at it with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hostile_model import hostile_model
from live_server import serving
from playwright_browser import chromium
from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.model import TrainedModel
from web_client import UNLIMITED, Client


@pytest.fixture(scope="session")
def hub() -> TrainedModel:
    return hostile_model()


@pytest.fixture(scope="session")
def store(hub: TrainedModel) -> Store:
    made = Store.of_model(hub)
    made.snapshot.prepare()
    return made


@pytest.fixture
def client(store: Store) -> Client:
    return Client(create_app(store, UNLIMITED))


@pytest.fixture(scope="module")  # Playwright keeps an event loop in this thread until it is closed
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address(store: Store, browser: Any) -> Iterator[str]:
    with serving(create_app(store, UNLIMITED)) as base:
        yield base


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page of a browser that has seen nothing yet; any error on it, and any address elsewhere, fails the test."""
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(30_000)  # a machine may be busy with other things
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    opened.on(
        "request", lambda sent: None if sent.url.startswith((address, "data:", "blob:")) else wrong.append(sent.url)
    )
    opened.allowed_errors = wrong
    yield opened
    context.close()
    assert wrong == []
