"""Link prediction: SE-GNN, a GAE and heuristics on the same links and pairs; test links are looked at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.baselines.gae import HEURISTICS, fit_gae, gae_scores, heuristic_scores, named_by_gnn_explainer
from lab.datasets.links import LinkTask, PlantedLinks, load_link_task, planted_links
from reproduce.job import Job
from se_gnn.graph.arrays import Float64Array
from se_gnn.links import SEGNNLinkPredictor
from se_gnn.links.scoring import pooled_metrics, ranking_metrics


def measure(job: Job, device: str) -> dict[str, Any]:
    """MRR, Hits@K, ROC-AUC and average precision of the test links; or the share of planted reasons that are named."""
    if job.series.dataset == "planted-links":
        return _named(job.series.method, planted_links(seed=job.seed), job.seed)
    task = load_link_task(job.series.dataset)
    if job.series.method == "se-gnn":
        fitted = SEGNNLinkPredictor(seed=job.seed).fit(
            task.graph, validation=task.validation, hard=task.validation_hard
        )
        figures: dict[str, Any] = fitted.evaluate(task.test, hard=task.test_hard, random=task.test_random)
        settings = fitted.trained_.settings
        chosen = {"num_nearest": settings.num_nearest, "node_weight": settings.node_weight}
        return {**figures, "validation_mrr": fitted.trained_.facts["validation"]["mrr"], "chosen": chosen}
    if job.series.method in HEURISTICS:
        return _figures(task, lambda pairs: heuristic_scores(job.series.method, task.graph, pairs))
    model = fit_gae(task.graph, task.validation, task.validation_hard, seed=job.seed, device=device)
    return _figures(task, lambda pairs: gae_scores(model, task.graph, pairs, device))


def _figures(task: LinkTask, scores: Any) -> dict[str, float]:
    own: Float64Array = scores(task.test)
    hard = scores(task.test_hard.reshape(-1, 2)).reshape(len(own), -1)
    return {**ranking_metrics(own, hard), **pooled_metrics(own, scores(task.test_random))}


def _named(method: str, planted: PlantedLinks, seed: int) -> dict[str, float]:
    """The share of hidden links for which the first neighbor of the source that is named is a reason."""
    graph, pairs, reasons = planted.graph, planted.hidden.tolist(), planted.reasons
    if method == "se-gnn":
        fitted = SEGNNLinkPredictor(seed=seed).fit(graph)
        named = []
        for u, v in pairs:
            votes = [vote.node.id for vote in fitted.explain(u, v).votes if vote.neighbor_of == "source"]
            named.append(votes[0] if votes else -1)
    else:
        validation = graph.edges.ends[np.random.default_rng(seed).permutation(graph.num_edges)[:50]]
        rng = np.random.default_rng([seed, 1])
        hard = np.stack(
            [np.repeat(validation[:, :1], 100, axis=1), rng.integers(0, graph.num_nodes, (50, 100))], axis=-1
        )
        model = fit_gae(graph, validation, hard, seed=seed)
        named = [named_by_gnn_explainer(model, graph, (u, v), seed=seed) for u, v in pairs]
    by_chance = [len(why) / max(1, graph.degrees[u]) for (u, _), why in zip(pairs, reasons)]
    found = [one in why for one, why in zip(named, reasons)]
    return {"named": float(np.mean(found)), "by_chance": float(np.mean(by_chance)), "links": float(len(pairs))}
