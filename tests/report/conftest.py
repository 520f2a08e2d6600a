"""Small models to report on, and a real browser to open the pages with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from se_gnn.model import TrainedModel
from strategies import hub_graph, small_settings, untrained

HOSTILE_NAMES = (
    "</script><script>document.title='pwned'</script>",
    '"><img src=x onerror="document.title=\'pwned\'">',
    "' onmouseover='document.title=1",
    "مرحبا بالعالم",
    "evil \u202e txt.exe",
    "😀👩‍👩‍👧 <b>bold</b> &amp; {{ 7 * 7 }}",
    "line\nbreak\ttab\x00null\ud800",
    "a-name-of-forty-characters-or-so-in-total",
)
CLASS_NAMES = ("<i>first</i>", 'שני "two"', "{% raw %} third 😀")


def hub_model(num_nearest: int = 5, **changes: Any) -> TrainedModel:
    values = {
        "name": "<script>hub</script>",
        "class_names": CLASS_NAMES,
        "feature_names": ["<u>height</u>", "وزن", "price & tax"],
        **changes,
    }
    return untrained(hub_graph(HOSTILE_NAMES, **values), small_settings(num_nearest=num_nearest, directions="both"))


@pytest.fixture(scope="session")
def hub() -> TrainedModel:
    return hub_model()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium without a window; tests that ask for it are skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'se-gnn[test]'")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs a browser: chromium and chromedriver were not found")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "disable-dev-shm-usage",
        f"user-data-dir={tmp_path_factory.mktemp('browser')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield running
    running.quit()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Callable[[str], Any]:
    """Open a page in the browser, 1200 pixels wide."""

    def call(page: str) -> Any:
        file = tmp_path / "report.html"
        file.write_bytes(page.encode())
        browser.get_log("browser"), browser.get_log("performance")  # what the last page left
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        browser.set_window_size(1200, 1000)
        browser.get(file.as_uri())
        return browser

    return call
