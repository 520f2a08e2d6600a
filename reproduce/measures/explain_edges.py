"""Do the important edges belong to the planted houses? Explanation AUC on BA-Shapes, by four protocols."""

from __future__ import annotations

from typing import Any

from reproduce.job import Job
from se_gnn.config import Config
from se_gnn.datasets import load_dataset
from se_gnn.explain.metrics import AUC_PROTOCOLS, se_gnn_one_hop_auc
from se_gnn.explain.metrics.roc_auc import BA_SHAPES_NODES, Explained
from se_gnn.graph import AttributedGraph


def measure(job: Job, device: str) -> dict[str, Any]:
    """Accuracy of the explained model, and the AUC by each protocol."""
    graph = load_dataset(job.series.dataset, seed=job.seed)
    explain = explain_by_se_gnn if job.series.method == "se-gnn" else explain_post_hoc
    accuracy, explained = explain(graph, job)
    aucs = {name: protocol(graph, explained[_hops(protocol)]) for name, protocol in AUC_PROTOCOLS.items()}
    return {**aucs, "accuracy": accuracy}


def _hops(protocol: object) -> int:
    return 1 if protocol is se_gnn_one_hop_auc else 3


def explain_by_se_gnn(graph: AttributedGraph, job: Job) -> tuple[float, dict[int, Explained]]:
    """Importance by Eq. (10); one trained encoder, with local graphs of 1 and of 3 hops."""
    from se_gnn.explain import Explainer
    from se_gnn.model import SEGNN, TrainedModel
    from se_gnn.training import train

    settings = job.series.settings
    trained = train(graph, Config.from_dict(settings["config"]), seed=job.seed)
    explained: dict[int, Explained] = {}
    for hops in (1, 3):
        wider = {"hops": hops, "num_nearest": settings["importance_from_nearest"]}
        model = SEGNN(graph.num_features, trained.config.updated({"similarity": wider}))
        model.load_state_dict(trained.model.state_dict())
        found = Explainer(TrainedModel(model, graph)).explain_all(BA_SHAPES_NODES)
        ptr = found.local.ptr
        explained[hops] = {
            int(node): (graph.edges[found.local.row(i)], found.importance[ptr[i] : ptr[i + 1]])
            for i, node in enumerate(BA_SHAPES_NODES)
        }
    return float(trained.metrics["test_accuracy"]), explained
