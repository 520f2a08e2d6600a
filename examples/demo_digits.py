"""Classify handwritten digits and show why: `make demo`.

Trains on 100 labeled pictures out of 1,797, prints the accuracy and three explanations, and writes their pictures and a
report about the model and these three, `report.html`.
"""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from se_gnn import SEGNNClassifier, load_dataset
from se_gnn.files import replace_file, writing_to
from se_gnn.plot import explanation_figure, save_figure
from se_gnn.report import report_html

DEMO = Path(__file__).resolve().parents[1] / "demo"


class Case(NamedTuple):
    """A node worth looking at."""

    heading: str
    file: str
    node: int


def main(out: Path = DEMO, *, epochs: int | None = None, progress: bool = True) -> None:
    """Train, print, and write pictures and a report into ``out``, over those of an earlier run.

    Args:
        out: folder, made if it is not there.
        epochs: fewer or more than the preset asks for.
        progress: say how long it will take, and show a bar with loss and validation accuracy.
    """
    graph = load_dataset("digits")
    print(graph)
    start = time.perf_counter()
    classifier = SEGNNClassifier(preset="best", epochs=epochs, progress=progress).fit(graph)
    print(
        f"Trained in {time.perf_counter() - start:.0f} s on {len(graph.train)} labeled pictures; "
        f"{classifier.score():.1%} of the {len(graph.test)} test pictures are classified correctly."
    )
    cases = choose(classifier)
    with writing_to(out):
        for case in cases:
            explanation = classifier.explain(case.node)
            save_figure(explanation_figure(explanation), out / case.file)
            words = f"{explanation.sentence()} Its label is {graph.class_names[explanation.label]!r}."
            print(f"\n{case.heading}\n{textwrap.fill(words, 100)}")
        page = report_html(classifier.trained_, [case.node for case in cases], title="Handwritten digits, and why")
        replace_file(out / "report.html", page.encode())
    print(f"\nPictures are in {out}; open {out / 'report.html'} in a browser for the whole report.")


def choose(classifier: SEGNNClassifier) -> list[Case]:
    """Three test nodes: surely right, least certain, and surely wrong."""
    graph = classifier.graph_
    probabilities = classifier.predict_proba(graph.test)  # [T, C]
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == graph.labels[graph.test]
    second = np.partition(probabilities, -2, axis=1)[:, -2]
    undecided = int(np.argmin(sure - second))
    cases = [Case("The least certain prediction", "least-certain.png", graph.test[undecided])]
    if right.any():
        surest = int(np.argmax(np.where(right, sure, -1)))
        cases.insert(0, Case("The surest of the correct predictions", "surest-correct.png", graph.test[surest]))
    wrong = ~right
    wrong[undecided] = False  # it has its own picture
    if wrong.any():
        surest = int(np.argmax(np.where(wrong, sure, -1)))
        cases.append(Case("The surest of the mistakes", "surest-mistake.png", graph.test[surest]))
    return cases


if __name__ == "__main__":
    main()
