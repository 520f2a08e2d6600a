"""Our explanations and those of other explainers on GraphXAI's graphs, by GraphXAI's metrics.

SE-GNN explains itself. All others explain a GIN with three layers, the network of GraphXAI's own scripts.
"""

from __future__ import annotations

import collections
import copy
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.explain import Explainer
from torch_geometric.utils import k_hop_subgraph

from lab.baselines import NetworkBaseline, baseline, post_hoc_explainer
from lab.graphxai.load import load_graphxai, quiet
from se_gnn.explain.pyg import SEGNNExplainer, SEGNNModule
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.settings import Settings
from se_gnn.tables.pyg import from_pyg
from se_gnn.training import fit

HOPS = 3  # of the ground truth, and layers of the network
SHARE = 0.25  # of the edges of a local graph that an explanation names: top_k of GraphXAI's metrics
PERTURBED = 3  # perturbed graphs per node for stability
ROLLOUTS = 2  # of the search of SubgraphX, which is slow
SLOW = ("graphxai-subgraphx",)  # not explained again on changed graphs
DELTA_NODES = 50  # labeled nodes that say how much a prediction usually moves
GRAPHS: dict[str, dict[str, Any]] = {"base": {}, "unfair": {"attribute_sensitive_feature": True}}
DRAWN = {"num_subgraphs": 30, "prob_connection": 0.1, "subgraph_size": 11}  # all else as the generator has it
NAMES = {
    "se-gnn": "SE-GNN, by itself",
    "gnn-explainer": "GNNExplainer of PyG",
    "pg-explainer": "PGExplainer of PyG",
    "graphxai-gnn-explainer": "GNNExplainer of GraphXAI",
    "graphxai-pg-explainer": "PGExplainer of GraphXAI",
    "graphxai-subgraphx": "SubgraphX of GraphXAI",
    "graphxai-gradients": "gradients of GraphXAI",
    "graphxai-random": "random, of GraphXAI",
}
METRICS = {  # GraphXAI's, of node masks unless noted otherwise; all but the first two are better when low
    "accuracy": "accuracy, nodes",
    "edge_accuracy": "accuracy, edges",
    "unfaithfulness": "unfaithfulness",
    "instability": "instability",
    "counterfactual_unfairness": "counterfactual unfairness",
    "group_unfairness": "group unfairness",
}
Explain = Callable[[int, Tensor, Tensor], Any]  # node, x, edge_index to GraphXAI's Explanation


@dataclass(frozen=True, slots=True)
class Setting:
    """A graph of GraphXAI with both models; ``shapes`` has the ground truth."""

    theirs: Any
    shapes: Any
    graph: Graph
    ours: _LogProbabilities
    network: NetworkBaseline
    accuracy: dict[str, float]
    seed: int


def prepare(kind: str, seed: int) -> Setting:
    """Draw a graph, and train SE-GNN (one recipe, a single model) and a GIN on it."""
    theirs = load_graphxai()
    with quiet(seed):
        shapes = theirs.datasets.ShapeGGen(model_layers=HOPS, seed=seed, **DRAWN, **GRAPHS[kind])
        data = shapes.get_graph(use_fixed_split=False, seed=seed).clone()
    data.val_mask = data.valid_mask
    del data.valid_mask, data.shape
    graph = from_pyg(data, name=f"shapes-{kind}")
    trained = fit(graph, Settings.of("best", portfolio=False, members=1), seed=seed, device="cpu")
    plain = {"features": "raw", "input_dropout": 0.0, "dropout": 0.0}
    network = baseline("gin", num_layers=HOPS, hidden_size=32, epochs=300, **plain).fit(graph, seed=seed)
    assert isinstance(network, NetworkBaseline)
    truth = graph.labels[graph.test]
    accuracy = {
        "se-gnn": float((trained.predict(graph.test).classes == truth).mean()),
        "gin": float((network.predict()[graph.test] == truth).mean()),
    }
    return Setting(theirs, shapes, graph, _LogProbabilities(SEGNNModule(trained)), network, accuracy, seed)


class _LogProbabilities(nn.Module):
    """SE-GNN as GraphXAI wants it: scores whose softmax are the probabilities; the last few answers are kept."""

    def __init__(self, module: SEGNNModule) -> None:
        super().__init__()
        self.module, self.known = module, collections.OrderedDict[bytes, Tensor]()

    @torch.no_grad()
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logarithms of class probabilities, [N, C]."""
        key = x.numpy().tobytes() + edge_index.numpy().tobytes()
        if key not in self.known:
            self.known[key] = self.module(x, edge_index).log()
            if len(self.known) > 8:
                self.known.popitem(last=False)
        return self.known[key]


def compare(setting: Setting, count: int) -> dict[str, dict[str, float | None]]:
    """Every explainer on the same test nodes, which both models predict correctly: the mean of each metric.

    None: the metric was not computed, or is not defined: stability is not if every changed graph moves the prediction.
    """
    graph, seed = setting.graph, setting.seed
    right = (setting.ours.module.trained.predict(graph.test).classes, setting.network.predict()[graph.test])
    both = graph.test[np.all([classes == graph.labels[graph.test] for classes in right], axis=0)]
    nodes = np.sort(np.random.default_rng(seed).permutation(both)[:count])
    return {name: _measured(setting, name, nodes) for name in NAMES}


def _measured(setting: Setting, name: str, nodes: IntArray) -> dict[str, float | None]:
    shapes, metrics = setting.shapes, setting.theirs.metrics
    data, sensitive = shapes.get_graph(), shapes.sensitive_feature
    model = setting.ours if name == "se-gnn" else setting.network.network_
    with quiet(setting.seed):
        explain = _explainer(setting, name, nodes)
        known = torch.from_numpy(setting.graph.train)
        delta = metrics.calculate_delta(
            data.x, data.edge_index, known[torch.randperm(len(known))[:DELTA_NODES]], data.y, [sensitive], model=model
        )
    again = types.SimpleNamespace(
        get_explanation_node=lambda node_idx, x, edge_index, **_: explain(int(node_idx), x, edge_index)
    )
    rows = []
    for node in nodes.tolist():
        with quiet(setting.seed, node):
            found = explain(node, data.x, data.edge_index)
            hidden = torch.tensor([sensitive])
            accuracy = metrics.graph_exp_acc(shapes.explanations[node], found)
            changes = metrics.graph_exp_faith(found, shapes, model, sens_idx=[sensitive])
            moves = other = [None] * 3
            if name not in SLOW:
                moves = metrics.graph_exp_stability(
                    found, again, shapes, node, model, delta, [sensitive], num_run=PERTURBED, data=data
                )
                other = metrics.graph_exp_cf_fairness(found, again, shapes, model, node, delta, hidden, data=data)
            group = metrics.graph_exp_group_fairness(found, shapes, node, model, delta, hidden, data=data)
        rows.append([accuracy[1], accuracy[2], changes[1], moves[1], other[1], group[1]])
    defined = [[value for value in column if value is not None] for column in zip(*rows)]
    return {metric: float(np.mean(column)) if column else None for metric, column in zip(METRICS, defined)}


def _explainer(setting: Setting, name: str, nodes: IntArray) -> Explain:
    """An explainer by its name; those that learn from many nodes learn from the nodes to explain."""
    theirs, fitted = setting.theirs, setting.network
    if name == "se-gnn":
        pyg = Explainer(
            model=setting.ours.module,
            algorithm=SEGNNExplainer(),
            explanation_type="model",
            edge_mask_type="object",
            model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "probs"},
        )
        return lambda node, x, edges: named(theirs, node, pyg(x, edges, index=torch.tensor([node])).edge_mask, edges)
    if not name.startswith("graphxai-"):
        learned = post_hoc_explainer(name, fitted, seed=setting.seed).fit(nodes).explainer

        def by_pyg(node: int, x: Tensor, edges: Tensor) -> Any:
            target = fitted.network_(x, edges).argmax(dim=1) if name == "pg-explainer" else None
            return named(theirs, node, learned(x, edges, index=node, target=target).edge_mask, edges)

        return by_pyg
    network = copy.deepcopy(fitted.network_)
    if name == "graphxai-gradients":
        explainer = theirs.explainers.GradExplainer(network, criterion=nn.CrossEntropyLoss())
    elif name == "graphxai-subgraphx":
        explainer = theirs.explainers.SubgraphX(network, reward_method="gnn_score", num_hops=HOPS, rollout=ROLLOUTS)
    elif name == "graphxai-pg-explainer":
        network.last = network.layers[-1]  # it asks for a layer by name
        size = 2 * setting.graph.num_classes
        explainer = theirs.explainers.PGExplainer(network, "last", max_epochs=10, lr=0.1, in_channels=size)
        data = setting.shapes.get_graph().clone()
        data.train_mask = torch.zeros(data.num_nodes, dtype=torch.bool).index_fill(0, torch.from_numpy(nodes), True)
        explainer.train_explanation_model(data)
    elif name == "graphxai-gnn-explainer":
        explainer = theirs.explainers.GNNExplainer(network)
    else:
        explainer = theirs.explainers.RandomExplainer(network)

    def by_graphxai(node: int, x: Tensor, edges: Tensor) -> Any:
        more = {}
        if name == "graphxai-subgraphx":  # without a class it fails for nodes
            more = {"label": fitted.network_(x, edges)[node].argmax(), "max_nodes": 10}
        return explainer.get_explanation_node(node_idx=node, x=x, edge_index=edges, **more)

    return by_graphxai


def named(theirs: Any, node: int, mask: Tensor, edge_index: Tensor) -> Any:
    """GraphXAI's explanation from a mask of all edges: the first quarter of the local edges, and the nodes on them."""
    local = k_hop_subgraph(node, HOPS, edge_index, num_nodes=int(edge_index.max()) + 1)
    within = mask.detach()[local[3]]
    first = within.topk(int(SHARE * len(within))).indices
    edges = torch.zeros_like(within).index_copy(0, first, within[first])
    counts = torch.zeros(int(edge_index.max()) + 1).scatter_reduce(0, local[1].flatten(), edges.repeat(2), "amax")
    found = theirs.utils.Explanation(node_imp=counts[local[0]], edge_imp=edges, node_idx=node)
    found.set_enclosing_subgraph(local)
    return found
