"""Flip some of the labels, let the audit and cleanlab find them, and remove what each of them names.

The labels of labeled and validation nodes are flipped at the same rate; those of test nodes stay, and judge at the end.
cleanlab gets the probabilities of a GCN: out of sample, by cross-validation over the labeled nodes, as its authors
advise, and in sample, of one GCN trained on all of them.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from lab.baselines import baseline
from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.labels import Memory
from se_gnn.labels.suspicion import suspicion
from se_gnn.model import Model
from se_gnn.model.metrics import confusion_matrix
from se_gnn.training import fit

FOLDS = 5
TRAINED_FROM = 0.15  # rate from which models are trained: below it, only the ranking of suspects is measured


def measure(job: Job, device: str) -> dict[str, Any]:
    """How well flipped labels are found, and test accuracy with what is named removed."""
    settings, (kind, _, rate) = job.series.settings, job.series.noise.rpartition("-")
    generator = np.random.default_rng([job.seed, 7])
    clean = load_dataset(job.series.dataset, seed=job.seed)
    noisy = flipped(clean, kind, float(rate), settings["gcn"], generator=generator, device=device)
    wrong = noisy.labels[noisy.train] != clean.labels[clean.train]  # [L]
    ours = suspicion(noisy, generator=generator)
    outside, inside = gcn_probabilities(noisy, settings["gcn"], seed=job.seed, generator=generator, device=device)
    theirs, found_in = (cleanlab_suspects(noisy, probabilities) for probabilities in (outside, inside))
    order = np.argsort(-ours.score, kind="stable")
    named = noisy.train[order[ours.wrong[order]]]
    measures: dict[str, Any] = {
        "auroc": float(roc_auc_score(wrong, ours.score)),
        "auroc_cleanlab": float(roc_auc_score(wrong, theirs.score)),
        "auroc_cleanlab_in_sample": float(roc_auc_score(wrong, found_in.score)),
        **_named("audit", noisy, wrong, named),
        **_named("cleanlab", noisy, wrong, theirs.named),
    }
    if float(rate) < TRAINED_FROM:
        return measures
    wanted = asked(settings["se-gnn"])
    before = fit(noisy, wanted, seed=job.seed, device=device)
    measures["accuracy_before"] = _test_accuracy(before, clean)
    for name, nodes in (("audit", named), ("cleanlab", theirs.named)):
        removed = removable(noisy, nodes, before.settings.vote.num_nearest)
        edited = Memory(before).remove(removed.tolist(), dry_run=True).edited if len(removed) else before
        measures[f"accuracy_{name}_edited"] = _test_accuracy(edited, clean)
        again = fit(edited.graph, wanted, seed=job.seed, device=device) if len(removed) else before
        measures[f"accuracy_{name}_trained"] = _test_accuracy(again, clean)
    return measures


def flipped(
    graph: Graph,
    kind: str,
    rate: float,
    gcn: dict[str, Any],
    *,
    generator: np.random.Generator,
    device: str = "cpu",
) -> Graph:
    """The graph with a share of the labels of labeled and of validation nodes flipped.

    Args:
        graph: with the right labels.
        kind: ``uniform``, to any other class; ``confused``, to the class that a GCN, trained on the right labels, most
            often takes validation nodes of that class for.
        rate: share of each part that is flipped.
        gcn: settings of the GCN.
        generator: draws the nodes and their classes.
        device: where the GCN is trained.
    """
    labels, count = graph.labels.copy(), graph.num_classes
    if kind == "confused":
        predicted = baseline("gcn", **gcn).fit(graph, seed=0, device=device).predict()[graph.validation]
        confusion = confusion_matrix(graph.labels[graph.validation], predicted, count)
        np.fill_diagonal(confusion, -1)
        confused = confusion.argmax(axis=1)
    for nodes in (graph.train, graph.validation):
        for node in generator.choice(nodes, round(rate * len(nodes)), replace=False):
            other = (labels[node] + generator.integers(1, count)) % count
            labels[node] = confused[labels[node]] if kind == "confused" else other
    return graph.replace(target=graph.target.with_labels(labels))


def gcn_probabilities(
    graph: Graph, gcn: dict[str, Any], *, seed: int, generator: np.random.Generator, device: str = "cpu"
) -> tuple[FloatArray, FloatArray]:
    """Class probabilities of the labeled nodes, [L, C]: each by a GCN that was trained without it, and by one GCN."""
    fold = generator.permutation(len(graph.train)) % FOLDS
    outside = np.zeros((len(graph.train), graph.num_classes), np.float32)
    for one in range(FOLDS):
        held = graph.train[fold == one]
        others = graph.with_split(train=graph.train[fold != one], validation=graph.validation, test=graph.test)
        network = baseline("gcn", **gcn).fit(others, seed=seed, device=device)
        outside[fold == one] = network.predict_proba()[held]
    whole = baseline("gcn", **gcn).fit(graph, seed=seed, device=device)
    return outside, whole.predict_proba()[graph.train]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """Scores of the labeled nodes [L], higher is more suspicious; and the ids of those that are named, worst first."""

    score: FloatArray
    named: IntArray


def cleanlab_suspects(graph: Graph, probabilities: FloatArray) -> Suspects:
    """What cleanlab finds, with its defaults."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    labels = graph.labels[graph.train]
    score = 1 - get_label_quality_scores(labels, probabilities)
    found = find_label_issues(labels, probabilities, return_indices_ranked_by="self_confidence", n_jobs=1)
    return Suspects(score, graph.train[np.asarray(found, dtype=np.int64)])


def removable(graph: Graph, named: IntArray, num_nearest: int) -> IntArray:
    """Of the named nodes, worst first, those that can go: each class keeps two labeled nodes, and K are left."""
    left = np.bincount(graph.labels[graph.train], minlength=graph.num_classes)
    removed: list[int] = []
    for node in named.tolist():
        if len(graph.train) - len(removed) <= num_nearest:
            break
        if left[graph.labels[node]] > 2:
            left[graph.labels[node]] -= 1
            removed.append(node)
    return np.array(removed, dtype=np.int64)


def _named(name: str, graph: Graph, wrong: IntArray, named: IntArray) -> dict[str, float]:
    hit = np.isin(graph.train, named)
    return {
        f"{name}_named": float(hit.mean()),
        f"{name}_precision": float(wrong[hit].mean()) if hit.any() else 1.0,
        f"{name}_recall": float(hit[wrong].mean()),
    }


def _test_accuracy(trained: Model, clean: Graph) -> float:
    return trained.predict(clean.test).accuracy(clean.labels)
