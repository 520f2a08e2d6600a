"""The picture of the first page: an explanation, drawn."""

from __future__ import annotations

from docs.generate.blocks import ROOT

FOLDER = ROOT / "docs" / "images"
NODE = "digit-0003"


def write_pictures() -> None:
    """Train on digits and draw one explanation."""
    from se_gnn import SEGNNClassifier, load_dataset
    from se_gnn.plot import explanation_figure, save_figure

    FOLDER.mkdir(exist_ok=True)
    classifier = SEGNNClassifier().fit(load_dataset("digits"))
    save_figure(explanation_figure(classifier.explain(NODE)), FOLDER / "explanation.png")
