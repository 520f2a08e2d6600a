"""Pictures of the product for the first page: an explanation, drawn, and the report, as a browser shows it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from docs.generate.blocks import ROOT

FOLDER = ROOT / "docs" / "images"
NODE = "digit-0003"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def write_pictures() -> None:
    """Train on digits, draw one explanation, and photograph the part of the report that explains it."""
    from se_gnn import SEGNNClassifier, load_dataset
    from se_gnn.plot import explanation_figure, save_figure
    from se_gnn.report import report_html

    FOLDER.mkdir(exist_ok=True)
    classifier = SEGNNClassifier().fit(load_dataset("digits"))
    explanation = classifier.explain(NODE)
    save_figure(explanation_figure(explanation), FOLDER / "explanation.png")
    page = report_html(classifier.trained_, nodes=[explanation.node], k=3)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_text(page, encoding="utf-8")
        photograph(file, FOLDER / "report.png")


def photograph(page: Path, picture: Path, *, width: int = 1100, height: int = 1500) -> None:
    """What a browser shows of a page."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit(f"pictures of a page need one of {', '.join(BROWSERS)}")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}"]
    subprocess.run(
        [browser, *options, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True, timeout=120
    )
