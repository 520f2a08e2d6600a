"""Chromium without a window, by Playwright; tests that ask for it are skipped where there is none."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A browser; its contexts are as separate as people are."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'se-gnn[test]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("needs a browser: chromium was not found")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()
