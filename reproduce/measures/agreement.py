"""How far the evidence for the same nodes agrees between training seeds, and how much of a prediction it holds.

Shapes: n nodes, S seeds.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch_geometric.explain import Explainer as PyGExplainer

from lab.baselines import baseline, post_hoc_explainer
from lab.datasets import load_dataset
from lab.metrics import fidelity
from reproduce.job import Job
from reproduce.measures.truth import some_nodes
from reproduce.methods import asked
from se_gnn.explain import explain
from se_gnn.explain.pyg import SEGNNExplainer, SEGNNModule, dense_features, directed
from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Model
from se_gnn.training import fit

Sets = list[set[int]]  # the evidence of each node, n


def measure(job: Job, device: str) -> dict[str, Any]:
    """Mean Jaccard index of the evidence of each pair of seeds; fidelity of that of the first seed."""
    settings = job.series.settings
    graph = load_dataset(job.series.dataset, seed=job.seed)
    nodes = some_nodes(with_a_choice(graph, settings["top"]), settings["nodes"])
    find = _ours if job.series.method == "se-gnn" else _post_hoc
    found = [find(graph, nodes, job, seed, device) for seed in range(settings["seeds"])]
    measures: dict[str, Any] = {"nodes": len(nodes), **found[0].more}
    for name in found[0].evidence:
        measures[f"{name}_jaccard"] = mean_jaccard([one.evidence[name] for one in found])
    return measures


def with_a_choice(graph: Graph, top: int) -> IntArray:
    """Test nodes whose 2-hop local graph has at least twice as many edges as are named: elsewhere all agree."""
    nodes: IntArray = graph.test[local_graphs(graph, graph.test, 2).sizes >= 2 * top]
    return nodes


def mean_jaccard(seeds: Sequence[Sets]) -> float:
    """Mean over all pairs of seeds and all nodes of the Jaccard index of two sets; two empty ones agree.

    >>> mean_jaccard([[{1, 2}], [{2, 3}]])
    0.3333333333333333
    """
    indices = [
        len(one & other) / len(one | other) if one | other else 1.0
        for first, second in itertools.combinations(seeds, 2)
        for one, other in zip(first, second, strict=True)
    ]
    return float(np.mean(indices))


class _Found:
    """The evidence of one seed by its kind, and for the first seed further measures."""

    def __init__(self, evidence: dict[str, Sets], more: dict[str, float]) -> None:
        self.evidence, self.more = evidence, more


def _ours(graph: Graph, nodes: IntArray, job: Job, seed: int, device: str) -> _Found:
    settings, top = job.series.settings, job.series.settings["top"]
    trained = fit(graph, asked(settings["config"]), seed=seed, device=device)
    explanations = list(explain(trained, nodes, k=1))
    evidence = {
        "labeled_nodes": [set(one.ranks.nodes[:top].tolist()) for one in explanations],
        "edges": [set(one.crucial_subgraph(size=top).edge_ids.tolist()) for one in explanations],
    }
    if seed:
        return _Found(evidence, {})
    explainer = PyGExplainer(
        model=SEGNNModule(trained),
        algorithm=SEGNNExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "probs"},
    )
    place = trained.embeddings.device
    x, edge_index = dense_features(graph).to(place), directed(graph.edges.ends).to(place)
    of_nodes = (explainer(x, edge_index, index=torch.tensor([int(node)], device=place)) for node in nodes)
    return _Found(evidence, {**_fidelity(explainer, of_nodes, top), **vote_changes(trained, nodes, top)})


def vote_changes(trained: Model, nodes: IntArray, top: int) -> dict[str, float]:
    """How often the prediction changes when the nearest labeled nodes lose their labels, and when they alone vote.

    It is no fidelity in the sense of PyG, which takes edges away: here the graph stays, and the votes change.
    """
    without, alone = [], []
    for block in trained.rank(nodes):
        ranks = np.arange(block.depth)
        without.append((block.without(ranks[:top]).predicted != block.predicted).cpu().numpy())
        alone.append((block.without(ranks[top:]).predicted != block.predicted).cpu().numpy())
    return {
        "changed_without_nearest_labeled": float(np.concatenate(without).mean()),
        "changed_by_nearest_labeled_alone": float(np.concatenate(alone).mean()),
    }


def _post_hoc(graph: Graph, nodes: IntArray, job: Job, seed: int, device: str) -> _Found:
    settings, top = job.series.settings, job.series.settings["top"]
    network = baseline("gcn", **settings["network"]).fit(graph, seed=seed, device=device)
    explainer = post_hoc_explainer(job.series.method, network, seed=seed, **settings["explainer"]).fit(nodes)
    explanations = [explainer.explain(int(node)) for node in nodes]
    masks = [one.edge_mask.detach().cpu().numpy().reshape(2, -1).mean(axis=0) for one in explanations]  # [E] each
    evidence = {"edges": [set(np.argsort(-mask, kind="stable")[:top][_positive(mask, top)].tolist()) for mask in masks]}
    return _Found(evidence, {} if seed else _fidelity(explainer.explainer, iter(explanations), top))


def _positive(mask: np.ndarray, top: int) -> np.ndarray:
    """Which of the most important edges have any importance: a small local graph has fewer than asked for."""
    positive: np.ndarray = np.sort(-mask, kind="stable")[:top] < 0
    return positive


def _fidelity(explainer: Any, explanations: Iterator[Any], top: int) -> dict[str, float]:
    """Fidelity of the most important edges, as PyG defines it."""
    found = fidelity(explainer, (_most_important(one, top) for one in explanations))
    return {"fidelity+": found.positive, "fidelity-": found.negative}


def _most_important(explanation: Any, top: int) -> Any:
    """The most important edges alone, both directions of each; attributes are left as they are."""
    edges_alone = copy.copy(explanation)
    edges_alone.node_mask = None
    return edges_alone.threshold("topk_hard", 2 * top)
