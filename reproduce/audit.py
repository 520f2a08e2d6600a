"""Labels that are wrong: how well the audit of the labeled memory finds them, beside cleanlab."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import MISSING, measured, paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, ONE_RUN, baseline_settings, se_gnn_settings
from reproduce.store import Result, Store

TITLE = "Finding wrong labels"
ELSEWHERE = True  # on docs/understanding/measurements.md
DATASETS = ("cora", "citeseer", "pubmed")
NOISES = ("uniform-0.1", "uniform-0.2", "confused-0.1", "confused-0.2")
USUAL = 10
NOT_RUN = "> Not run yet: `make reproduce-audit SEEDS=10`."
ABOUT = """\
We flip a share of the labels of labeled and validation nodes: to any other class (uniform), or to the class that a
GCN most often confuses it with (confused). The table shows how well each method separates the flipped labeled nodes
from the others, as AUROC in percent. cleanlab gets the probabilities of a GCN, either out of sample (cross-validation
over the labeled nodes in five folds) or in sample (from the trained GCN). The audit also uses the labels of the
validation nodes, flipped ones included; the GCN uses them to choose its epoch. These numbers are for
the attributes alone, without the vote, with labels flagged by margin; the vote was added to the audit later."""
ACCURACY_NOTE = """\
The next table shows the test accuracy in percent with 20% of the labels flipped, for SE-GNN with one recipe and one
encoder: as trained on the flipped labels; after removing the flagged labels without retraining; and retrained without
them. cleanlab uses the out-of-sample probabilities."""
FOUND = {
    "audit": "auroc",
    "cleanlab, out of sample": "auroc_cleanlab",
    "cleanlab, in sample": "auroc_cleanlab_in_sample",
}
ACCURACIES = {
    "as trained": "accuracy_before",
    "audit, removed": "accuracy_audit_edited",
    "cleanlab, removed": "accuracy_cleanlab_edited",
    "audit, retrained": "accuracy_audit_trained",
    "cleanlab, retrained": "accuracy_cleanlab_trained",
}


def with_noise(dataset: str, noise: str) -> Series:
    """A data set with some of its labels flipped."""
    settings = {
        "se-gnn": se_gnn_settings(dataset, "best", **ONE_RUN),
        "gcn": baseline_settings(dataset, "gcn"),
    }
    return Series(kind="audit", dataset=dataset, method="se-gnn", noise=noise, settings=settings)


def series() -> list[Series]:
    """Every kind and rate of flips on every data set."""
    return [with_noise(dataset, noise) for dataset in DATASETS for noise in NOISES]


def render(store: Store, pictures: Path) -> str:
    """Who finds the flipped labels, and what removing them brings; what was not run is left out."""
    results = {(dataset, noise): store.of(with_noise(dataset, noise)) for dataset in DATASETS for noise in NOISES}
    run = {case: found for case, found in results.items() if found}
    if not run:
        return NOT_RUN
    found = [[_case(*case), *_row(results, tuple(FOUND.values())), _ahead(results)] for case, results in run.items()]
    accuracies = [
        [_case(*case), *_row(results, tuple(ACCURACIES.values()))]
        for case, results in run.items()
        if len(measured(results, "accuracy_before"))
    ]
    return paragraphs(
        ABOUT,
        table(["AUROC", *FOUND, "ahead by"], found),
        ACCURACY_NOTE if accuracies else "",
        table(["accuracy", *ACCURACIES], accuracies) if accuracies else "",
    )


def _case(dataset: str, noise: str) -> str:
    kind, _, rate = noise.rpartition("-")
    return f"{DATASET_NAMES[dataset]}, {float(rate):.0%} {kind}"


def _row(results: list[Result], measures: tuple[str, ...]) -> list[str]:
    return [spread(results, measure, usual=USUAL) if results else MISSING for measure in measures]


def _ahead(results: list[Result]) -> str:
    """Lead over the better of cleanlab's two, in points."""
    ours, *theirs = (100 * measured(results, measure).mean() for measure in FOUND.values())
    return f"{ours - max(theirs):+.1f}".replace("-", "−")
