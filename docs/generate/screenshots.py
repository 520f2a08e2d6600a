"""Pictures of the explorer's pages, at the width of a desktop and of a phone: docs/images/explorer-*.png."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import runpy
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docs.generate.blocks import ROOT

if TYPE_CHECKING:
    from se_gnn import Graph
    from se_gnn.apps.service import Store

IMAGES = ROOT / "docs" / "images"
NUM_ACCOUNTS, EPOCHS = 1_000, 20
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}
COLORS = 256  # of a picture


def write_screenshots() -> None:
    """Train, serve the models, take the pictures; needs playwright and chromium."""
    from playwright.sync_api import sync_playwright

    from se_gnn.apps.explorer import create_app

    accounts, digits = _accounts(), _digits()
    with serving(create_app(accounts)) as tables, serving(create_app(digits)) as pictures, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for kind, (width, height) in WIDTHS.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            pages = {
                "nodes": f"{tables}/?sort=probability",
                "node": f"{tables}/nodes/%23{_most_suspicious(accounts)}?edges=4",
                "map": f"{pictures}/map",
                "model": f"{pictures}/model",
            }
            for name, address in pages.items():
                page.goto(address)
                page.wait_for_load_state("networkidle")
                if name == "node":
                    page.locator("figure.own svg").focus()
                    page.keyboard.press("ArrowRight")  # a match is lit
                    page.evaluate("window.scrollTo(0, 0)")
                write_picture(page.screenshot(full_page=name == "node"), IMAGES / f"explorer-{name}-{kind}.png")
        browser.close()


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an application while it runs."""
    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(timeout=10)


def _accounts() -> Store:
    """A model of the accounts and payments that `examples/fraud.py` makes."""
    from se_gnn.tables import read_tables

    example = runpy.run_path(str(ROOT / "examples" / "fraud.py"))
    accounts, payments = example["make_tables"](NUM_ACCOUNTS)
    graph = read_tables(accounts, payments, example["TABLES"]).graph
    return _trained(dataclasses.replace(graph, name="accounts"))


def _digits() -> Store:
    from se_gnn import load_dataset

    return _trained(load_dataset("digits"))


def _trained(graph: Graph) -> Store:
    from se_gnn import SEGNNClassifier
    from se_gnn.apps.service import Store

    store = Store.of_model(SEGNNClassifier(preset="authors", epochs=EPOCHS).fit(graph).trained_)
    store.snapshot.prepare()
    return store


def _most_suspicious(store: Store) -> int:
    """The test node that is most probably of the rarer class."""
    import numpy as np

    graph, prediction = store.snapshot.graph, store.snapshot.prediction
    assert prediction is not None
    rarer = int(np.bincount(graph.labels[graph.train]).argmin())
    return int(graph.test[prediction.probabilities[graph.test, rarer].argmax()])


def write_picture(content: bytes, path: Path) -> None:
    """A picture of few colors takes a third of the room."""
    from PIL import Image

    picture = Image.open(io.BytesIO(content)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)
