"""Pictures of the rating page, at the width of a desktop and of a phone: docs/images/rating-*.png."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from docs.generate.screenshots import IMAGES, WIDTHS, serving, write_picture

NUM_PAIRS = 3  # that are answered before the picture is taken


def write_rating_pictures() -> None:
    """Prepare pairs of handwritten digits, serve them, take the pictures; needs playwright and chromium."""
    from playwright.sync_api import sync_playwright

    from lab.rating import RatingStore
    from lab.rating.application import create_app
    from se_gnn.apps.web import WebSettings

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        store = RatingStore(_prepared(Path(folder)))
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serving(create_app(store, WebSettings())) as address:
            for kind, (width, height) in WIDTHS.items():
                page = browser.new_context(viewport={"width": width, "height": height}).new_page()
                page.goto(address)
                page.get_by_label("your name").fill(f"rater {kind}")
                page.get_by_role("button", name="Start").click()
                for number in range(NUM_PAIRS):
                    page.get_by_role("button", name="Skip").click()
                    page.get_by_text(f"{number + 1} of ").first.wait_for()
                write_picture(page.screenshot(), IMAGES / f"rating-{kind}.png")
        browser.close()
        store.close()


def _prepared(folder: Path) -> Path:
    from lab.rating import RatingPlan, prepare_pairs, read_models
    from lab.rating.database import write_pairs
    from se_gnn import SEGNNClassifier, load_dataset

    SEGNNClassifier(preset="authors", epochs=20).fit(load_dataset("digits")).save(folder / "model")
    models = read_models([folder / "model"])
    plan = RatingPlan(models=tuple((one.name, one.digest) for one in models), items=4)
    write_pairs(folder / "ratings.sqlite", plan, prepare_pairs(models, plan))
    return folder / "ratings.sqlite"
