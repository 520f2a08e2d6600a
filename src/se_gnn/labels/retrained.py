"""What models say of labeled nodes that they were trained without.

The vote of a model leaves a node out as a case, but its encoder has learned from the label. Here the labeled nodes are
dealt into folds. For each fold one encoder is trained again, with the settings of the model and without the labels of
the fold, and its vote predicts these nodes. Shapes: L labeled nodes, T validation nodes, C classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Float64Array, FloatArray, IntArray
from se_gnn.model import SEGNN, Model
from se_gnn.model.numbers import predict_numbers
from se_gnn.progress import bar, phase, tell
from se_gnn.training import TrainingRun
from se_gnn.training.checkpoint import fingerprint
from se_gnn.training.choice import folds_of
from se_gnn.training.estimate import TIMED, estimate

FEWEST = 2  # labeled nodes of a class that can lose one to a fold


def retrained_votes(trained: Model, *, seed: int = 0, folder: Path | None = None, progress: bool = False) -> FloatArray:
    """Class probabilities of the labeled and then of the validation nodes, [L + T, C].

    Those of a labeled node come from the model that was trained without it; those of a validation node are the mean of
    all models.

    Args:
        trained: a model that predicts classes.
        seed: random seed, which deals the labeled nodes into folds and trains.
        folder: where to write checkpoints: with the same folder, an interrupted call resumes. None: nowhere.
        progress: print an estimate of the time, and show progress bars, on stderr.
    """
    graph = trained.graph
    votes = np.zeros((len(graph.train) + len(graph.validation), graph.num_classes), np.float32)
    folds = 0
    for rows, model in _models_without(trained, seed, folder, progress):
        votes[rows] = model.predict(graph.train[rows]).probabilities
        votes[len(graph.train) :] += model.predict(graph.validation).probabilities
        folds += 1
    votes[len(graph.train) :] /= folds
    return votes


def retrained_numbers(
    trained: Model, *, seed: int = 0, folder: Path | None = None, progress: bool = False
) -> tuple[Float64Array, Float64Array]:
    """The number that the model without each labeled node predicts of it, and how far its nearest cases differ, [L].

    The arguments are those of :func:`retrained_votes`.
    """
    values, spread = np.zeros((2, len(trained.graph.train)))
    for rows, model in _models_without(trained, seed, folder, progress):
        found = predict_numbers(model, trained.graph.train[rows])
        values[rows], spread[rows] = found.values, found.spread
    return values, spread


def _models_without(trained: Model, seed: int, folder: Path | None, progress: bool) -> Iterator[tuple[IntArray, Model]]:
    """The positions of the labeled nodes of each fold, and the model that was trained without them."""
    encoder, graph = trained.encoder, trained.graph
    if not isinstance(encoder, SEGNN):
        raise InputError("retrain needs a model that SE-GNN trained: your network is trained elsewhere")
    graph.check_trainable()
    labels = np.zeros(graph.num_nodes, np.int64) if graph.predicts_numbers else graph.labels
    if not graph.predicts_numbers and (np.bincount(labels[graph.train]) >= FEWEST).sum() < FEWEST:
        raise InputError(
            f"retrain leaves out some labels of each class in turn, so at least {FEWEST} classes need at least "
            f"{FEWEST} labeled nodes each; label more nodes"
        )
    shuffled = np.random.default_rng(seed).permutation(len(graph.train))
    folds = np.empty(len(graph.train), np.int64)
    folds[shuffled] = folds_of(labels[graph.train[shuffled]])
    sizes = np.bincount(folds)
    count, fewest = len(sizes), len(folds) - int(sizes.max())
    trained.settings.among(fewest, "labeled nodes that retrain leaves to train on", "audit without retrain")
    for fold in range(count):
        rows = np.flatnonzero(folds == fold)
        rest = graph.replace(split=dataclasses.replace(graph.split, train=np.delete(graph.train, rows)))
        rest.check_trainable()
        settings = trained.settings.among(len(rest.train))
        where = None
        if folder is not None:  # after an edit of the labels, checkpoints of earlier ones are not read
            where = folder / fingerprint(rest, settings.values(), seed)[:16]
            where.mkdir(parents=True, exist_ok=True)
        run = TrainingRun(rest, settings, seed=seed, device=encoder.device, folder=where, max_memory=trained.max_memory)
        _finish(run, f"fold {fold + 1} of {count}", count if not fold else 0, progress)
        run.model.load_state_dict(run.kept[0].parameters)
        yield rows, Model(run.model.eval(), rest, run.settings, max_memory=trained.max_memory)


def _finish(run: TrainingRun, name: str, runs: int, progress: bool) -> None:
    """Train a run to its end; the first epochs of the first of several ``runs`` show how long all of them will take."""
    total, timed = run.settings.training.epochs, run.epoch + TIMED
    with (
        phase(name, shown=False),
        bar(total=total, name=name, unit="epoch", shown=progress, initial=run.epoch) as shown,
    ):
        while not run.finished:
            run.step()
            shown.update()
            if progress and runs and run.epoch == timed:
                tell(f"  estimate  {estimate(run, runs=runs, members=runs)}")
