"""Chromium without a window, by Playwright; tests that ask for it are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


@pytest.fixture(scope="module")  # Playwright keeps an event loop in this thread until it is closed
def browser() -> Iterator[Any]:
    """A browser; its contexts are as separate as people are."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'se-gnn[test]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("needs a browser: chromium was not found")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield running
        running.close()


def watched_page(context: Any) -> Any:
    """A new page that notes its ``problems``, errors and warnings, and every address that it has ``asked`` for."""
    page = context.new_page()
    page.set_default_timeout(30_000)  # a machine may be busy with other things
    page.problems, page.asked = [], []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda sent: page.asked.append(sent.url))
    return page


def until(page: Any, expression: str) -> None:
    """Wait until an expression is true; Playwright's own way needs `eval`, which the pages forbid."""
    for _ in range(1000):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(25)
    raise AssertionError(expression)
