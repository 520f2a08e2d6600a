"""Explanations of all test nodes, computed again in float64: how far numbers are off, what is false."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from reproduce.job import Series
from reproduce.markdown import paragraphs, table
from reproduce.methods import DATASET_NAMES, ONE_RUN, se_gnn_settings
from reproduce.store import Result, Store
from reproduce.truth.statements import ROUNDING
from se_gnn.settings.presets import PRESETS

TITLE = "Every number, recomputed"
ELSEWHERE = True  # on docs/understanding/truth.md
DATASETS = ("cora", "citeseer", "pubmed", "ba-shapes")
EPOCHS, NODES = 50, 100  # of graphs whose edges carry something, of several node types, mapped graphs and numbers
ABOUT = f"""\
Everything that an explanation states about a test node is recomputed from the embeddings by the equations, in float64
NumPy, without the library's code for similarities and votes: local graphs, similarities, matches, importance, votes,
the prediction without each case, the smallest removal and relabeling that change the class, and the similarity at
which the nearest case of another class would change it. A statement counts as false if float64 contradicts it by more
than {ROUNDING:g}; float32 cannot decide smaller differences, nor, between long vectors, some that are a little larger
(`reproduce.truth.statements.undecided`). For stated removals and relabelings of up to three cases, every smaller one
is tried; for larger ones, that of the cases with the largest weights is tried."""
MORE = f"""\
The next table shows graphs whose edges carry a direction, type, weight or attributes, graphs of several node types,
graphs that are mapped from files, and numbers. These models are trained with one recipe, a single member and
{EPOCHS} epochs; up to {NODES} test nodes and {NODES} cases are explained, each case by the others. Explanations of a
mapped graph are compared with what the same graph in memory gives. Errors of numbers are relative to the largest known
number."""
ADDED = "contributions added up, against the stated "


class Row(NamedTuple):
    """A graph that is checked in the second table."""

    name: str
    dataset: str
    preset: str = "best"
    given: tuple[tuple[str, Any], ...] = ()  # settings, besides those of the preset
    mapped: bool = False


ROWS = (
    *(
        Row(f"only the {words} of edges tells classes apart", f"only-{signal}")
        for signal, words in (("direction", "direction"), ("kind", "type"), ("weight", "weight"))
    ),
    Row("only an attribute of edges tells classes apart", "only-attribute"),
    Row("Bitcoin OTC: direction, type, rating", "bitcoin-otc"),
    Row(
        "Bitcoin OTC: direction, type, rating",
        "bitcoin-otc",
        "authors",
        (("match_direction", True), ("match_types", "own"), ("match_attributes", True), ("max_edges", 64)),
    ),
    Row("only the weight of edges tells classes apart", "only-weight", "authors", (("weighted_mean", True),)),
    Row("ACM: papers, authors, subjects", "acm"),
    Row("DBLP: authors, papers, conferences", "dblp"),
    Row("Cora, mapped", "cora", mapped=True),
    Row("Bitcoin OTC, mapped", "bitcoin-otc", mapped=True),
    Row("ACM, mapped", "acm", mapped=True),
    Row("US counties: median income", "counties-median-income"),
)


def checked(dataset: str, preset: str) -> Series:
    """A preset on a graph, all its test nodes."""
    settings = {"config": se_gnn_settings(dataset, preset), "nodes": None}
    return Series(kind="truth", dataset=dataset, method="se-gnn", variant=preset, settings=settings, seeded=False)


def checked_row(row: Row) -> Series:
    """A row of the second table."""
    given = {**(ONE_RUN if row.preset == "best" else {}), "epochs": EPOCHS, **dict(row.given)}
    settings = {"config": se_gnn_settings(row.dataset, row.preset, **given), "nodes": NODES, "cases": NODES}
    variant = f"{row.preset}-more"
    if row.mapped:
        settings, variant = {**settings, "mapped": True}, f"{row.preset}-mapped"
    return Series(kind="truth", dataset=row.dataset, method="se-gnn", variant=variant, settings=settings, seeded=False)


def series() -> list[Series]:
    """Every preset on every graph, and the rows of the second table."""
    return [*(checked(dataset, preset) for dataset in DATASETS for preset in PRESETS), *map(checked_row, ROWS)]


def render(store: Store, pictures: Path) -> str:
    """A row for each graph and preset that was run, then the errors and statements by kind."""
    first = {
        f"{DATASET_NAMES[dataset]}, `{preset}`": results[0]
        for dataset in DATASETS
        for preset in PRESETS
        if (results := store.of(checked(dataset, preset)))
    }
    more = {f"{row.name}, `{row.preset}`": results[0] for row in ROWS if (results := store.of(checked_row(row)))}
    if not first and not more:
        return paragraphs(ABOUT, "> Not run yet: `make reproduce-truth`.")
    both = [*first.values(), *more.values()]
    return paragraphs(ABOUT, _table(first, "test nodes"), MORE, _table(more, "nodes"), *_by_kind(both))


def _table(found: dict[str, Result], nodes: str) -> str:
    header = ["", nodes, "statements", "false", "largest error of a sum of contributions", "of a similarity"]
    return table(header, [[name, *_summary(result)] for name, result in found.items()])


def _summary(result: Result) -> list[str]:
    measures = result.measures
    errors = measures["largest_error"]
    similar = max(value for kind, value in errors.items() if "similarity" in kind)
    return [
        f"{measures['nodes']:,}",
        f"{sum(measures['statements'].values()):,}",
        f"{sum(measures['false_statements'].values()):,}",
        f"{max(value for kind, value in errors.items() if kind.startswith(ADDED)):.0e}",
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
