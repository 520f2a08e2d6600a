"""Explanations of all test nodes, computed again in float64: how far numbers are off, what is false."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import paragraphs, table
from reproduce.methods import DATASET_NAMES, se_gnn_settings
from reproduce.store import Result, Store
from reproduce.truth.statements import ROUNDING
from se_gnn.settings.presets import PRESETS

TITLE = "Every number, recomputed"
ELSEWHERE = True  # on docs/understanding/truth.md
DATASETS = ("cora", "citeseer", "pubmed", "ba-shapes")
ABOUT = f"""\
Everything that an explanation states about a test node is recomputed from the embeddings by the equations, in float64
NumPy, without the library's similarity code: local graphs, similarities, matches, importance, votes, and the
prediction without each case. A statement counts as false if float64 contradicts it by more than {ROUNDING:g}; float32
cannot decide smaller differences. For stated removals of up to three cases, every smaller removal is tried; for
larger ones, the removal of the nearest cases of the predicted class is tried."""
ADDED = "contributions added up, against the stated probability"


def checked(dataset: str, preset: str) -> Series:
    """A preset on a graph, all its test nodes."""
    settings = {"config": se_gnn_settings(dataset, preset), "nodes": None}
    return Series(kind="truth", dataset=dataset, method="se-gnn", variant=preset, settings=settings, seeded=False)


def series() -> list[Series]:
    """Every preset on every graph."""
    return [checked(dataset, preset) for dataset in DATASETS for preset in PRESETS]


def render(store: Store, pictures: Path) -> str:
    """A row for each graph and preset that was run, then the errors and statements by kind."""
    found = {
        f"{DATASET_NAMES[dataset]}, `{preset}`": results[0]
        for dataset in DATASETS
        for preset in PRESETS
        if (results := store.of(checked(dataset, preset)))
    }
    if not found:
        return paragraphs(ABOUT, "> Not run yet: `make reproduce-truth`.")
    rows = [[name, *_summary(result)] for name, result in found.items()]
    header = ["", "test nodes", "statements", "false", "largest error of a sum of contributions", "of a similarity"]
    return paragraphs(ABOUT, table(header, rows), *_by_kind(list(found.values())))


def _summary(result: Result) -> list[str]:
    measures = result.measures
    errors = measures["largest_error"]
    similar = max(value for kind, value in errors.items() if "similarity" in kind)
    return [
        f"{measures['nodes']:,}",
        f"{sum(measures['statements'].values()):,}",
        f"{sum(measures['false_statements'].values()):,}",
        f"{errors[ADDED]:.0e}",
        f"{similar:.0e}",
    ]


def _by_kind(results: list[Result]) -> list[str]:
    """The largest error, and the sum of the statements, of each kind over all graphs and presets."""
    errors: dict[str, float] = {}
    counts: dict[str, list[int]] = {}
    for result in results:
        for kind, value in result.measures["largest_error"].items():
            errors[kind] = max(errors.get(kind, 0.0), value)
        for kind, count in result.measures["statements"].items():
            so_far = counts.setdefault(kind, [0, 0])
            so_far[0] += count
            so_far[1] += result.measures["false_statements"][kind]
    numbers = table(["number", "largest error"], [[kind, f"{value:.0e}"] for kind, value in sorted(errors.items())])
    statements = [[kind, f"{total:,}", f"{false:,}"] for kind, (total, false) in sorted(counts.items())]
    return [numbers, table(["statement", "how many", "false"], statements)]
