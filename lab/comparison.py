"""Several explainers on the same nodes of one graph, by the same measures.

SE-GNN explains itself. All others explain one GCN: cases (`CaseExplainer`), GNNExplainer, PGExplainer, gradients and
chance. Each names the edges of a node's local graph that matter most, and all name equally many. Shapes: E edges.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch_geometric.explain import Explainer, ExplainerAlgorithm, Explanation

from lab.baselines import GCN, NetworkBaseline, post_hoc_explainer
from lab.metrics import Fidelity, fidelity
from se_gnn.cases.pyg import CaseAlgorithm
from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.explain.pyg import SEGNNExplainer, SEGNNModule, dense_features, directed
from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.model import Model
from se_gnn.settings import Settings
from se_gnn.tables.pyg import to_pyg
from se_gnn.training import fit

Say = Callable[[str], None]
HOPS = 2  # local graphs of a GCN of two layers
NAMES = {
    "se-gnn": "SE-GNN, by itself",
    "cases": "cases of the GCN",
    "gnn-explainer": "GNNExplainer of the GCN",
    "pg-explainer": "PGExplainer of the GCN",
    "gradients": "gradients of the GCN",
    "chance": "random edges of the GCN",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What one explainer says about all nodes, and how it was measured.

    Attributes:
        accuracy: of the explained model on the test nodes.
        fidelity: of the named edges, by PyG's metrics.
        repeated: Jaccard index of the edges that it names with this seed and with the next one.
        seconds: per node in the second run, when everything is compiled. Training the model does not count, training
            an explainer does.
        importance: for each node, the importance of all edges of the graph, [E].
    """

    name: str
    accuracy: float
    fidelity: Fidelity
    repeated: float
    seconds: float
    importance: dict[int, FloatArray]


def nodes_to_compare(graph: Graph, count: int, *, top: int, seed: int = 0) -> IntArray:
    """Random test nodes whose local graphs leave a choice: at least twice as many edges as are named."""
    enough = graph.test[local_graphs(graph, graph.test, HOPS).sizes >= 2 * top]
    if not len(enough):
        raise InputError(
            f"no test node of {graph.name} has {2 * top} edges within {HOPS} steps, so that naming {top} of them would "
            "be a choice: name fewer"
        )
    drawn: IntArray = np.sort(np.random.default_rng(seed).permutation(enough)[:count])
    return drawn


def compare(
    graph: Graph,
    nodes: IntArray,
    settings: Settings,
    *,
    top: int = 10,
    seed: int = 0,
    say: Say = lambda _: None,
) -> list[Compared]:
    """Train SE-GNN and a GCN, explain the nodes in every way, and measure each on the edges it names first."""
    if graph.predicts_numbers:
        raise InputError("PyG's fidelity asks whether the class changes: it needs classes, but a number is predicted")
    say("training SE-GNN")
    ours = fit(graph, settings, seed=seed, device="cpu")
    say("training the GCN")
    network = GCN().fit(graph, seed=seed)
    found = []
    for name in NAMES:
        say(f"explaining: {NAMES[name]}")
        if name == "se-gnn":
            truth = graph.labels[graph.test]
            accuracy = float((ours.predict(graph.test).classes == truth).mean())
        else:
            accuracy = float((network.predict()[graph.test] == graph.labels[graph.test]).mean())
        runs = [_explained(name, ours, network, nodes, seed + again) for again in (0, 1)]
        named = [[_first(importance, top) for importance in run.importance.values()] for run in runs]
        found.append(
            Compared(
                name=NAMES[name],
                accuracy=accuracy,
                fidelity=fidelity(runs[0].explainer, _most_important(runs[0], top)),
                repeated=float(np.mean([len(a & b) / len(a | b) if a | b else 1.0 for a, b in zip(*named)])),
                seconds=runs[1].seconds / len(nodes),
                importance=runs[0].importance,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Run:
    explainer: Explainer
    explanations: list[Explanation]
    importance: dict[int, FloatArray]
    seconds: float


def _explained(name: str, ours: Model, network: NetworkBaseline, nodes: IntArray, seed: int) -> _Run:
    begin = time.perf_counter()
    if name == "se-gnn":
        explain(ours, nodes)  # as people call it; PyG's fidelity asks for masks that come from a slower path, below
    elif name in ("cases", "chance"):
        data = to_pyg(network.graph_)
        data.x, data.edge_index = network.x_, network.edge_index_
        algorithm = CaseAlgorithm(data) if name == "cases" else _Chance(network.graph_, seed)
        explainer = _pyg_explainer(network.network_, algorithm, "raw")
        found = [explainer(data.x, data.edge_index, index=int(node)) for node in nodes]
    else:
        post_hoc = post_hoc_explainer(name, network, seed=seed).fit(nodes)
        explainer, found = post_hoc.explainer, [post_hoc.explain(int(node)) for node in nodes]
    seconds = time.perf_counter() - begin
    if name == "se-gnn":
        explainer = _pyg_explainer(SEGNNModule(ours), SEGNNExplainer(), "probs")
        x, edge_index = dense_features(ours.graph), directed(ours.graph.edges.ends)
        found = [explainer(x, edge_index, index=torch.tensor([int(node)])) for node in nodes]
    importance = {
        int(node): one.edge_mask.detach().cpu().numpy().reshape(2, -1).mean(axis=0) for node, one in zip(nodes, found)
    }
    return _Run(explainer, found, importance, seconds)


def _pyg_explainer(model: torch.nn.Module, algorithm: ExplainerAlgorithm, returns: str) -> Explainer:
    return Explainer(
        model=model,
        algorithm=algorithm,
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": returns},
    )


class _Chance(ExplainerAlgorithm):
    """Random importance of the edges of the local graph, the same for both directions."""

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__()
        self.graph, self.seed = graph, seed

    def supports(self) -> bool:
        return True

    def forward(self, model: Any, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any) -> Any:
        mask = np.zeros(self.graph.num_edges, np.float32)
        ids = local_graphs(self.graph, np.array([int(index)]), HOPS).row(0)
        mask[ids] = np.random.default_rng([self.seed, int(index)]).uniform(0.01, 1, len(ids))
        return Explanation(edge_mask=torch.from_numpy(np.tile(mask, 2)))


def _first(importance: FloatArray, top: int) -> set[int]:
    """The edges that matter most, among those with any importance: a small local graph has fewer than asked for."""
    order = np.argsort(-importance, kind="stable")[:top]
    return set(order[importance[order] > 0].tolist())


def _most_important(run: _Run, top: int) -> Iterator[Explanation]:
    """The most important edges alone, as a mask of ones and zeros; attributes are left as they are."""
    for explanation, importance in zip(run.explanations, run.importance.values()):
        mask = np.zeros(len(importance), np.float32)
        mask[list(_first(importance, top))] = 1
        alone = copy.copy(explanation)
        alone.node_mask, alone.edge_mask = None, torch.from_numpy(np.tile(mask, 2))
        yield alone


def picture(graph: Graph, node: int, compared: list[Compared], *, top: int) -> Any:
    """The local graph of one node, once for each explainer, with the edges that it names; a matplotlib figure."""
    import networkx as nx
    from matplotlib.figure import Figure

    ids = local_graphs(graph, np.array([node]), HOPS).row(0)
    drawn = nx.Graph(graph.edges.ends[ids].tolist())
    places = nx.kamada_kawai_layout(drawn) if len(drawn) <= 150 else nx.spring_layout(drawn, seed=0)
    figure = Figure(figsize=(12, 7.5), layout="constrained")
    classes = [int(graph.labels[one]) for one in drawn]
    for axes, one in zip(figure.subplots(2, 3).ravel(), compared):
        named = [tuple(pair) for pair in graph.edges.ends[sorted(_first(one.importance[node], top))].tolist()]
        nx.draw_networkx_edges(drawn, places, ax=axes, edge_color="#c8ccd0", width=0.8)
        nx.draw_networkx_edges(drawn, places, edgelist=named, ax=axes, edge_color="#c2410c", width=2.2)
        nx.draw_networkx_nodes(drawn, places, ax=axes, node_size=28, node_color=classes, cmap="tab10", vmin=0, vmax=9)
        nx.draw_networkx_nodes(
            drawn,
            places,
            nodelist=[node],
            ax=axes,
            node_size=120,
            node_color="none",
            edgecolors="black",
            linewidths=1.6,
        )
        axes.set_title(one.name, fontsize=11)
        axes.axis("off")
    figure.suptitle(f"{graph.caption(node)} and the {top} edges that each explainer names; colors are known classes")
    return figure
