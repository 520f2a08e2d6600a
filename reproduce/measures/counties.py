"""Numbers of US counties by cases, and by a gradient-boosted forest on the same columns; then the same for 2016.

Half of the validation counties choose (the epoch, the vote, the size of the forest), the other half calibrates
intervals. Neither is trained again for 2016: columns and known values of that year are read, and its known values vote.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from lab.datasets.counties import load
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.encoder import encoder_features, value_scale
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array
from se_gnn.model.numbers import conformal_quantile, number_figures, number_metrics
from se_gnn.settings import EncoderSettings
from se_gnn.training import fit
from se_gnn.training.fit import with_calibration

LATER = 2016


def measure(job: Job, device: str) -> dict[str, Any]:
    """R2, mean absolute error, and coverage and width of 90% intervals, of 2012 and of 2016."""
    settings = job.series.settings
    graph = with_calibration(load(job.series.dataset, seed=job.seed), settings["calibration"], seed=job.seed)
    later = _calibrated_like(load(job.series.dataset, year=LATER, like=graph), graph)
    if job.series.method == "forest":
        figures = _forest(graph, later, settings, job.seed)
    else:
        trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
        figures = {"": number_figures(trained, graph.test)}
        figures["later_"] = number_figures(trained.with_graph(later), later.test)
        figures["val_"] = number_figures(trained, graph.validation)
    return {f"{when}{name}": value for when, found in figures.items() for name, value in found.items()}


def _calibrated_like(later: Graph, graph: Graph) -> Graph:
    held = np.intersect1d(later.validation, graph.calibration)
    left = np.setdiff1d(later.validation, held)
    return later.with_split(train=later.train, validation=left, test=later.test, calibration=held)


def _forest(graph: Graph, later: Graph, settings: dict[str, Any], seed: int) -> dict[str, dict[str, Any]]:
    """Each size of forest is fitted, the one with the smallest error on validation counties is used.

    It learns values less their mean in standard deviations, those of the counties that vote: 2016 has its own.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    read = EncoderSettings(read_neighbors=True, read_values=True)
    scale = value_scale(graph, read)
    columns, values = encoder_features(graph, read), scale.encode(graph.values)
    best: tuple[float, Any] | None = None
    names, choices = list(settings["grid"]), settings["grid"].values()
    for chosen in itertools.product(*choices):
        forest = HistGradientBoostingRegressor(**dict(zip(names, chosen)), random_state=seed)
        forest.fit(columns[graph.train], values[graph.train])
        error = float(np.square(forest.predict(columns[graph.validation]) - values[graph.validation]).mean())
        if best is None or error < best[0]:
            best = error, forest
    assert best is not None
    figures = {}
    for when, one in (("", graph), ("later_", later)):
        predicted = value_scale(one, read).decode(best[1].predict(encoder_features(one, read)))
        figures[when] = _with_intervals(one, predicted)
    predicted = scale.decode(best[1].predict(columns))
    figures["val_"] = number_metrics(predicted[graph.validation], graph.values[graph.validation])
    return figures


def _with_intervals(graph: Graph, predicted: Float64Array) -> dict[str, Any]:
    """Figures on the test counties; intervals of one width, by the errors on the calibration counties."""
    errors = np.abs(predicted - graph.values)
    reach = conformal_quantile(errors[graph.calibration], 0.9)
    return {
        **number_metrics(predicted[graph.test], graph.values[graph.test]),
        "interval_coverage": float((errors[graph.test] <= reach).mean()),
        "interval_width": 2 * reach,
    }
