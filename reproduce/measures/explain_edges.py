"""Which edges matter on BA-Shapes: whether they are those of the houses, and whether the prediction rests on them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from torch_geometric.explain import Explainer as PyGExplainer

from lab.baselines import baseline, post_hoc_explainer
from lab.baselines.gcn import GCN
from lab.datasets import load_with_truth
from lab.metrics import AUC_PROTOCOLS, accuracy, fidelity, se_gnn_one_hop_auc
from lab.metrics.roc_auc import BA_SHAPES_NODES, Explained
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.explain import explain
from se_gnn.explain.pyg import SEGNNExplainer, SEGNNModule, dense_features, directed
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import SEGNN, Model
from se_gnn.training import fit

CRUCIAL = 6  # edges of a crucial subgraph: as many as a house has


class EdgeExplainer(Protocol):
    """Says how important the edges around a node are."""

    pyg: Any  # PyG's `Explainer`, which has the model

    def predict(self) -> IntArray:
        """Class of every node by the explained model, [N]."""

    def importance(self, nodes: IntArray, hops: int) -> Explained:
        """Importance of the edges within some hops of each node."""

    def explanations(self, nodes: IntArray) -> Iterator[Any]:
        """PyG's `Explanation` of each node."""


def measure(job: Job, device: str) -> dict[str, Any]:
    """Accuracy of the explained model, the AUC by each protocol, and the fidelity of crucial subgraphs."""
    graph, truth = load_with_truth(job.series.dataset, seed=job.seed)
    assert truth is not None
    kind = _Ours if job.series.method == "se-gnn" else _PostHoc
    explainer: EdgeExplainer = kind(graph, job)
    nodes = BA_SHAPES_NODES
    important = {hops: explainer.importance(nodes, hops) for hops in (1, 3)}
    found = fidelity(explainer.pyg, map(_crucial, explainer.explanations(nodes)))
    return {
        **{
            name: protocol(graph, truth.motif_edges, important[1 if protocol is se_gnn_one_hop_auc else 3])
            for name, protocol in AUC_PROTOCOLS.items()
        },
        "accuracy": accuracy(explainer.predict()[graph.test], graph.labels[graph.test]),
        "fidelity+": found.positive,
        "fidelity-": found.negative,
        "characterization": found.characterization,
        "unfaithfulness": found.unfaithfulness,
    }


class _Ours:
    """Importance by Eq. (10), of one trained encoder; for wider local graphs the same encoder compares those."""

    def __init__(self, graph: Graph, job: Job) -> None:
        self.graph, self.num_nearest = graph, job.series.settings["importance_from_nearest"]
        self.trained = fit(graph, asked(job.series.settings["config"]), seed=job.seed)
        self.pyg = PyGExplainer(
            model=SEGNNModule(self.trained),
            algorithm=SEGNNExplainer(),
            explanation_type="model",
            edge_mask_type="object",
            model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "probs"},
        )

    def predict(self) -> IntArray:
        return self.trained.predict().classes

    def importance(self, nodes: IntArray, hops: int) -> Explained:
        changed = self.trained.settings.changed(hops=hops, num_nearest=self.num_nearest)
        model = SEGNN(self.graph.num_features, changed)
        model.load_state_dict(self.trained.encoder.state_dict())
        found = explain(Model(model, self.graph, model.settings), nodes)
        rows = np.split(found.importance, found.local.ptr[1:-1])
        return {int(node): (self.graph.edges.ends[found.local.row(i)], rows[i]) for i, node in enumerate(nodes)}

    def explanations(self, nodes: IntArray) -> Iterator[Any]:
        x, edge_index = dense_features(self.graph), directed(self.graph.edges.ends)
        return (self.pyg(x, edge_index, index=torch.tensor([node])) for node in nodes)


class _PostHoc:
    """An explainer of a trained GCN; PGExplainer learns from the nodes it explains, as in its authors' code."""

    def __init__(self, graph: Graph, job: Job) -> None:
        settings = job.series.settings
        self.network = baseline("gcn", **settings["network"]).fit(graph, seed=job.seed)
        assert isinstance(self.network, GCN)
        method, changes = job.series.method, settings["explainer"]
        self.explainer = post_hoc_explainer(method, self.network, seed=job.seed, **changes).fit(BA_SHAPES_NODES)
        self.pyg = self.explainer.explainer
        self.found: dict[int, Any] = {}

    def predict(self) -> IntArray:
        return self.network.predict()

    def importance(self, nodes: IntArray, hops: int) -> Explained:
        pairs = self.network.edge_index_.numpy().T  # more edges than asked for: a protocol takes its own
        return {int(node): (pairs, self._explain(node).edge_mask.numpy()) for node in nodes}

    def explanations(self, nodes: IntArray) -> Iterator[Any]:
        return (self._explain(node) for node in nodes)

    def _explain(self, node: int) -> Any:
        """Explain a node once: it takes seconds."""
        if node not in self.found:
            self.found[node] = self.explainer.explain(int(node))
        return self.found[node]


def _crucial(explanation: Any) -> Any:
    """The most important edges alone, both directions of each; attributes are left as they are."""
    edges_alone = copy.copy(explanation)
    edges_alone.node_mask = None
    return edges_alone.threshold("topk_hard", 2 * CRUCIAL)
