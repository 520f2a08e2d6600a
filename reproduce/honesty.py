"""How far the default can be believed on drawn tables and public graphs: the audit, probabilities, and accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.datasets.table_sets import NAMES as TABLES
from reproduce.job import Series
from reproduce.markdown import measured, paragraphs, table
from reproduce.methods import ONE_RUN, se_gnn_settings
from reproduce.store import Result, Store

TITLE = "Honest answers"
ELSEWHERE = True  # on docs/understanding/measurements.md
PUBLIC = ("cora", "citeseer", "digits", "citeseer-metattack-0.25")
FLIPPED = "flipped-0.08"
RETRAINED = ("machines", "members", "papers", "orders", *PUBLIC)  # the quick ones: the audit trains five times
WORDS = {"": "as given", FLIPPED: "8% flipped"}
AUDIT = {
    "audit": "precision",
    "retrained": "precision",
    "1 - label probability": "vote_precision",
    "random forest": "baseline_precision",
    "flagged": "flagged",
}
ANSWERS = {
    "accuracy": "accuracy",
    "random forest": "baseline_accuracy",
    "calibration error": "calibration_error",
    "by chance": "calibration_chance",
    "wrong answers above 99%": "wrong_above_99",
}
ABOUT = """\
Ten sets of tables are drawn at random (`lab/datasets/table_sets.py`): 600 to 2,000 nodes with dates, gaps, categories
and amounts, directed and typed edges, classes that deal with their own or with other classes, rare classes, and two
sets with several node types. The same is measured on public graphs. Each is trained as given and with 8% of the labels
replaced by another class, in training and validation nodes alike, with the default and with one recipe and one
encoder (`--quick`). The random forest reads the columns of a node, their means over its neighbors, and the known
classes of these.

The first table shows the average precision with which flipped labels are found, and the share of labels that the audit
flags if none is flipped; *retrained* is `labels audit --retrain`, measured where it is quick. All numbers are in
percent, means over the seeds (`python -m reproduce run honesty --seeds 10 --only NAME`)."""
ANSWERS_ABOUT = """\
The second table judges the predictions: on tables those of all nodes that were neither trained on nor used for
validation, on public graphs those of the test nodes. Accuracy is measured by the right classes. Calibration is measured
by labels that are flipped as often as those of training; *by chance* is the error that as many nodes would show if
every probability were exact. In `traders`, each class deals with another one, so `--quick` trains the recipe `steps`
there."""


def series_of(dataset: str, noise: str, variant: str = "quick") -> Series:
    """A set of tables or a data set, as given or with flipped labels; in the variant `retrained` the audit trains."""
    given: dict[str, Any] = {} if variant == "default" else ONE_RUN
    settings = se_gnn_settings(dataset, "best", **given)
    return Series(kind="honesty", dataset=dataset, method="se-gnn", noise=noise, variant=variant, settings=settings)


def series() -> list[Series]:
    """All of them, as given and with flipped labels."""
    every = [(dataset, noise) for dataset in TABLES + PUBLIC for noise in WORDS]
    usual = [series_of(dataset, noise, variant) for variant in ("quick", "default") for dataset, noise in every]
    return usual + [series_of(dataset, FLIPPED, "retrained") for dataset in RETRAINED]


def render(store: Store, pictures: Path) -> str:
    """What the audit finds, and how good the answers are; what was not run is left out."""
    audits, answers = [], []
    for dataset in TABLES + PUBLIC:
        for variant, trained in (("default", "the default"), ("quick", "`--quick`")):
            found = {noise: store.of(series_of(dataset, noise, variant)) for noise in WORDS}
            if found[FLIPPED]:
                again = store.of(series_of(dataset, FLIPPED, "retrained")) if variant == "quick" else []
                measured_on = {"flagged": found[""], "retrained": again}
                figures = (_mean(measured_on.get(name, found[FLIPPED]), AUDIT[name]) for name in AUDIT)
                audits.append([dataset, trained, str(len(found[FLIPPED])), *figures])
            for noise, results in found.items():
                if results:
                    figures = (_mean(results, measure) for measure in ANSWERS.values())
                    answers.append([f"{dataset}, {WORDS[noise]}", trained, str(len(results)), *figures])
    if not audits:
        return "> Not run yet: `make reproduce-honesty`."
    columns = ["tables", "trained with", "seeds"]
    return paragraphs(ABOUT, table([*columns, *AUDIT], audits), ANSWERS_ABOUT, table([*columns, *ANSWERS], answers))


def _mean(results: list[Result], measure: str) -> str:
    values = measured(results, measure)
    return f"{100 * values.mean():.1f}" if len(values) else "-"
