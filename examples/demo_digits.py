"""Classify handwritten digits and show why: `make demo`.

Trains on 100 labeled pictures out of 1,797, prints the accuracy and three explanations, and writes their pictures and a
page that shows them, `index.html`.
"""

from __future__ import annotations

import base64
import html
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from se_gnn import SEGNNClassifier, load_dataset
from se_gnn.graph.store import replace_file, writing_to
from se_gnn.plot import explanation_figure, save_figure

DEMO = Path(__file__).resolve().parents[1] / "demo"

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>se-gnn: handwritten digits</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto;
        padding: 0 1rem; }}
h2 {{ margin-top: 3rem; }}
img {{ width: 100%; height: auto; }}
</style>
</head>
<body>
<h1>Handwritten digits, and why</h1>
<p>{summary}</p>
{sections}
</body>
</html>
"""

SECTION = """<section>
<h2>{heading}</h2>
<p>{sentence}</p>
<img src="data:image/png;base64,{picture}" alt="{sentence}">
</section>
"""


class Case(NamedTuple):
    """A node worth looking at."""

    heading: str
    file: str
    node: int


def main(out: Path = DEMO, *, epochs: int | None = None, progress: bool = True) -> None:
    """Train, print, and write pictures and a page into ``out``, over those of an earlier run.

    Args:
        out: folder, made if it is not there.
        epochs: fewer or more than the preset asks for.
        progress: show a bar with loss and validation accuracy.
    """
    graph = load_dataset("digits")
    print(graph)
    start = time.perf_counter()
    settings = [] if epochs is None else [f"training.epochs={epochs}"]
    classifier = SEGNNClassifier(preset="best", settings=settings, progress=progress).fit(graph)
    summary = (
        f"Trained in {time.perf_counter() - start:.0f} s on {len(graph.train)} labeled pictures; "
        f"{classifier.score():.1%} of the {len(graph.test)} test pictures are classified correctly."
    )
    print(summary)
    sections = []
    with writing_to(out):
        for case in choose(classifier):
            explanation = classifier.explain(case.node)
            save_figure(explanation_figure(explanation, graph), out / case.file)
            words = f"{explanation.sentence()} Its label is {graph.class_names[explanation.label]!r}."
            print(f"\n{case.heading}\n{textwrap.fill(words, 100)}")
            sections.append(section(case, words, out))
        page = PAGE.format(summary=html.escape(summary), sections="".join(sections))
        replace_file(out / "index.html", page.encode())
    print(f"\nPictures are in {out}; open {out / 'index.html'} to see them on one page.")


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


def section(case: Case, words: str, out: Path) -> str:
    """One case of the page, the picture inside."""
    picture = base64.b64encode((out / case.file).read_bytes()).decode("ascii")
    return SECTION.format(heading=html.escape(case.heading), sentence=html.escape(words), picture=picture)


if __name__ == "__main__":
    main()
