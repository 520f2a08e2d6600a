"""The default preset on every graph, beside networks that are tuned on the same validation nodes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.baselines import tuned
from reproduce.job import Series
from reproduce.markdown import measured, paragraphs, spread, table
from reproduce.methods import NAMES, baseline_settings, classify, se_gnn_settings
from reproduce.search_baselines import GRIDS
from reproduce.settings_digest import digest_of
from reproduce.store import Result, Store

TITLE = "The default preset compared with tuned networks"
DATASETS = {
    "cora": "Cora, public split",
    "citeseer": "Citeseer, largest component",
    "citeseer-planetoid": "Citeseer, public split",
    "pubmed": "PubMed, public split",
    "amazon-photo": "Amazon-Photo, 20 labeled per class",
    "coauthor-physics": "Coauthor-Physics, 20 labeled per class",
    "amazon-photo-100": "Amazon-Photo, 100 labeled in all",
    "coauthor-physics-100": "Coauthor-Physics, 100 labeled in all",
    "digits": "Digits",
    "ba-shapes": "BA-Shapes",
    "citeseer-metattack-0.25": "Citeseer at 25% Metattack",
}
METHODS = ("se-gnn", "gcn", "graph-sage", "super-gat")
LEAST_SEEDS = 3  # of every method, for a row of the README
ABOUT = """\
SE-GNN uses one preset, `best`, for all graphs; no setting depends on the name of a graph. The settings of the
networks beside it were chosen on validation nodes: by the searches in `reproduce/searches/` if there is one for the
graph, otherwise for each seed among the small grids of `reproduce/baseline_grids.toml`. The test nodes are
evaluated once."""
COST_NOTE = """\
*Structure share* is the part of a case's similarity that comes from structure, weighted by the votes. *Calibration
error* is the mean gap between the probability of a prediction and how often such predictions are correct, in ten
bins; *by chance* is what that many test nodes would show if every probability were exact. *Lambda* is the weight of the
node similarity. *Seconds* is the training time, in a process that ran beside others; *memory* is the peak of the
process, or of the GPU if one was used."""


def on_graph(dataset: str, method: str) -> Series:
    """A method on a graph."""
    if method == "se-gnn":
        settings = se_gnn_settings(dataset, "best")
    elif _is_searched(dataset, method):
        settings = baseline_settings(dataset, method)
    else:
        grid = tomllib.loads(GRIDS.read_text(encoding="utf-8"))["small"][method]
        settings = {"grid": grid}
    return Series(kind="default", dataset=dataset, method=method, settings=settings)


def series() -> list[Series]:
    """Every method on every graph."""
    return [on_graph(dataset, method) for dataset in DATASETS for method in METHODS]


def render(store: Store, pictures: Path) -> str:
    """Accuracy beside the others, then what else is known of the default; graphs that were not run are left out."""
    run = datasets_run(store)
    if not run:
        return ABOUT
    figures: dict[str, Callable[[Sequence[Result]], str]] = {
        "precision@5": lambda found: spread(found, "precision_at_5", usual=10),
        "macro-F1": lambda found: spread(found, "macro_f1", usual=10),
        "calibration error": lambda found: spread(found, "calibration_error", usual=10),
        "by chance": lambda found: spread(found, "calibration_chance", usual=10),
        "structure share": lambda found: spread(found, "structure_share", usual=10),
        "lambda": _weights,
        "seconds": lambda found: f"{measured(found, 'train_seconds').mean():.0f}",
        "memory, GB": lambda found: f"{measured(found, 'peak_bytes').max() / 1e9:.1f}",
    }
    ours = {dataset: store.of(on_graph(dataset, "se-gnn")) for dataset in run}
    more = [[DATASETS[dataset], *(show(ours[dataset]) for show in figures.values())] for dataset in run]
    digests = sorted({digest_of(on_graph(dataset, "se-gnn").settings) for dataset in run})
    return paragraphs(
        ABOUT,
        accuracy_table(store, run),
        table(["`best`, in percent", *figures], more),
        f"{COST_NOTE} Digest of the settings: {', '.join(f'`{one}`' for one in digests)}.",
    )


def datasets_run(store: Store) -> list[str]:
    """The graphs that the default was run on."""
    return [dataset for dataset in DATASETS if store.of(on_graph(dataset, "se-gnn"))]


def accuracy_table(store: Store, datasets: Sequence[str]) -> str:
    """Test accuracy of every method, a row for each graph."""
    rows = [
        [DATASETS[dataset], *(spread(_found(store, dataset, method), "accuracy", usual=10) for method in METHODS)]
        for dataset in datasets
    ]
    names = {**NAMES, "se-gnn": NAMES["se-gnn-best"]}
    return table(["test accuracy in percent", *(names[method] for method in METHODS)], rows)


def short_table(store: Store) -> str:
    """The table of the README: only graphs on which every method has a few seeds."""
    enough = [one for one in DATASETS if min(len(_found(store, one, method)) for method in METHODS) >= LEAST_SEEDS]
    return accuracy_table(store, enough) if enough else ""


def _found(store: Store, dataset: str, method: str) -> list[Result]:
    """Results of a method; those of a network may be in Table 2 or Figure 5, which have the same settings and nodes."""
    found = store.of(on_graph(dataset, method))
    if method in METHODS[1:] and _is_searched(dataset, method):
        graph, _, noise = dataset.partition("-metattack-")
        elsewhere = store.of(classify(graph, method, noise=f"metattack-{noise}" if noise else ""))
        found = max(found, elsewhere, key=len)
    return found


def _is_searched(dataset: str, method: str) -> bool:
    """Whether validation nodes of that graph, or of the clean one of an attacked graph, chose settings."""
    known = json.loads(tuned.FILE.read_text(encoding="utf-8")).get(method, {})
    return dataset.partition("-metattack")[0] in known


def _weights(found: Sequence[Result]) -> str:
    values = sorted({f"{value:g}" for value in measured(found, "node_weight")})
    return ", ".join(values)
