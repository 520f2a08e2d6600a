"""PyG: an explanation as its `Explanation`, a trained model as a module and as an algorithm of its `Explainer`.

Shapes: N nodes, E undirected edges, M of them local, F features, C classes, L labeled nodes.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from se_gnn.encoder import own_edge_columns, row_factors, step_weights
from se_gnn.encoder.columns import own_edges
from se_gnn.encoder.inputs import MEANS
from se_gnn.errors import InputError
from se_gnn.explain.explainer import explain
from se_gnn.explain.explanation import Explanation, NumberAnswer
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray, dense
from se_gnn.graph.rows import as_rows
from se_gnn.model import SEGNN, Model
from se_gnn.optional import require
from se_gnn.ranking import answered_by
from se_gnn.similarity import Similarity, top

_explain: Any = require("torch_geometric.explain", extra="data", feature="PyG explainers")
_config: Any = require("torch_geometric.explain.config", extra="data", feature="PyG explainers")
_nn: Any = require("torch_geometric.nn", extra="data", feature="PyG explainers")

LEAST = 1e-8  # as in the loss of a prediction


class SEGNNModule(nn.Module):
    r"""A trained model as PyG's tools want it: class probabilities of all nodes from ``x`` and ``edge_index``.

    All is computed again from what is given: embeddings, local graphs, matched edges, vote. The labeled nodes and their
    labels are those of the trained model. Masks that PyG sets on edges count as weights of the edges: an edge of weight
    0 is not there, and one of weight w is w times as strong for its ends and counts w times among the edges of a local
    graph. With weights of 0 and 1 alone that is the model on the smaller graph. There are gradients to ``x`` and to the
    masks. A class that nobody votes for has the probability 1e-8, so that logarithms are finite.

    What the edges of the trained graph carry (direction, weight, type, attributes) they carry here as well:
    ``edge_index`` says which pairs of nodes are joined, and a pair that was joined in training keeps its edges. Edges
    of the same ends share the mean of the masks of their pair. What nodes read of their edges (``read_edges``) is there
    or not: a mask above 0 does not make it less.

    Shapes:
        - **x:** :math:`(N, F)`, **edge_index:** :math:`(2, |E|)`
        - **output:** :math:`(N, C)`, probabilities (``return_type="probs"``)
    """

    def __init__(self, trained: Model) -> None:
        super().__init__()
        self.trained = trained
        if not isinstance(trained.encoder, SEGNN):
            raise InputError("masks on edges need an encoder that weighs them, as one that fit trained")
        self.model = trained.encoder
        # PyG sets its masks on layers of this kind, and counts them to know how far a node sees
        self.edge_weights = nn.ModuleList(_EdgeWeights() for _ in range(trained.settings.similarity.hops + 1))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Class probabilities, Eq. (9)."""
        graph, weights = self._weighted_graph(x, edge_index)
        settings, train = self.trained.in_use, torch.tensor(graph.train, device=x.device)
        h = self._embed(x, graph, weights)
        similarity = Similarity(graph, h, settings.similarity, terms=self.model.edge_terms(graph))
        queries, cases = (similarity.items(some) for some in (np.arange(graph.num_nodes), graph.train))
        overall = similarity.compare(queries, cases, edge_weights=weights).overall  # [N, L]
        itself = torch.arange(graph.num_nodes, device=x.device)[:, None] == train[None, :]
        overall = overall.masked_fill(itself, -torch.inf)  # a labeled node does not vote for itself
        nearest = top(overall, settings.vote.num_nearest)
        answers = self.trained.cases.answers_on(x.device)
        probabilities = answered_by(overall.gather(1, nearest), nearest, answers, settings.vote)
        return probabilities.clamp(min=LEAST)

    def _weighted_graph(self, x: Tensor, edge_index: Tensor) -> tuple[Graph, Tensor]:
        """The labeled graph with the edges that have a weight, and their weights [E]: the mean of both directions."""
        known = self.trained.graph
        if x.shape != (known.num_nodes, known.num_features):
            wanted = f"({known.num_nodes}, {known.num_features})"
            raise InputError(f"x must have the shape of the trained graph, {wanted}, got {tuple(x.shape)}")
        pairs = edge_index.detach().cpu().numpy().T
        whole = known.with_edges(pairs)
        proper = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        ids = torch.from_numpy(edge_ids(whole, pairs[proper])).to(x.device)  # the first edge of each pair
        given = self.edge_weights[0](edge_index, known.num_nodes)[torch.from_numpy(proper).to(x.device)]
        sums = torch.zeros(whole.num_edges, device=x.device).index_add(0, ids, given)
        means = sums / torch.bincount(ids, minlength=whole.num_edges).clamp(min=1)
        weights = means[torch.from_numpy(edge_ids(whole, whole.edges.ends)).to(x.device)]
        kept = weights.detach() > 0
        return known.with_edges(whole.edges.ends[kept.cpu().numpy()]), weights[kept]

    def _embed(self, x: Tensor, graph: Graph, weights: Tensor) -> Tensor:
        """H, Eq. (1), with weighted edges."""
        u, v = torch.tensor(graph.edges.ends, device=x.device).T
        settings = self.trained.settings.encoder
        if (counts := step_weights(graph, settings)) is not None:
            weights = weights * torch.from_numpy(counts).to(x.device)
        if own_edge_columns(graph, settings):
            x = torch.cat([x, torch.from_numpy(own_edges(graph, np.arange(graph.num_nodes))).to(x.device)], dim=1)
        degrees = torch.zeros(graph.num_nodes, device=x.device).index_add(0, u, weights).index_add(0, v, weights)
        if settings.aggregation in MEANS:
            share = torch.where(degrees > 0, 1 / degrees.clamp(min=torch.finfo(degrees.dtype).tiny), 0)
            to_u, to_v, own = weights * share[u], weights * share[v], torch.zeros_like(degrees)
        else:
            root = (degrees + 1).rsqrt()
            to_u = to_v = weights * root[u] * root[v]
            own = root.square()

        def step(h: Tensor) -> Tensor:
            """The propagation of one step, with weighted edges, [N, D]."""
            kept = h * own[:, None]
            return kept.index_add(0, u, to_u[:, None] * h[v]).index_add(0, v, to_v[:, None] * h[u])

        factors = row_factors(x.detach().cpu().numpy(), settings.attribute_scaling)
        scaled = x if factors is None else x * torch.from_numpy(factors).to(x.device)[:, None]
        return self.model.network.embed(scaled, step)


class SEGNNExplainer(_explain.ExplainerAlgorithm):
    """The model's own explanation as an algorithm of PyG's ``Explainer``: it is read off, nothing is optimized.

    Use it with a :class:`SEGNNModule`, ``mode="multiclass_classification"``, ``task_level="node"`` and
    ``return_type="probs"``; ``edge_mask_type="object"`` and, if wanted, ``node_mask_type="object"``. The masks are
    those of ``Explanation.to_pyg``; of several nodes the largest.
    """

    def forward(
        self, model: nn.Module, x: Tensor, edge_index: Tensor, *, target: Tensor, index: Any = None, **kwargs: Any
    ) -> Any:
        """Explain the nodes ``index`` (None: all) of the graph that is given."""
        if not isinstance(model, SEGNNModule):
            raise InputError(f"model must be a SEGNNModule, got {type(model).__name__}")
        trained = _on_graph(model.trained, x, edge_index)
        graph = trained.graph
        nodes = np.arange(graph.num_nodes) if index is None else np.atleast_1d(torch.as_tensor(index).cpu().numpy())
        every = explain(trained, nodes)
        mask, counts = np.zeros(graph.num_edges, np.float32), np.zeros(graph.num_nodes, np.float32)
        for i, node in enumerate(nodes.tolist()):
            own = np.zeros(graph.num_edges, np.float32)
            row = slice(every.local.ptr[i], every.local.ptr[i + 1])
            own[every.local.row(i)] = mask_of_importance(every.importance[row])
            mask = np.maximum(mask, own)
            voters, weights = every.prediction.cases[i], every.prediction.weights[i]
            counts = np.maximum(counts, node_mask(graph, own, node, voters, weights))
        wanted = self.explainer_config
        return _explain.Explanation(
            edge_mask=None if wanted.edge_mask_type is None else _on_pairs(mask, graph, edge_index),
            node_mask=None if wanted.node_mask_type is None else torch.from_numpy(counts)[:, None].to(x.device),
        )

    def supports(self) -> bool:
        """Whether the settings of the ``Explainer`` are ones that this explanation has an answer to."""
        model, explainer = self.model_config, self.explainer_config
        return (
            model.mode == _config.ModelMode.multiclass_classification
            and model.task_level == _config.ModelTaskLevel.node
            and model.return_type == _config.ModelReturnType.probs
            and explainer.explanation_type == _config.ExplanationType.model
            and explainer.node_mask_type in (None, _config.MaskType.object)
        )


class _EdgeWeights(_nn.MessagePassing):
    """The weight of each edge, [2E]: 1, or what PyG's mask makes of it."""

    def forward(self, edge_index: Tensor, num_nodes: int) -> Tensor:
        ones = torch.ones(num_nodes, 1, device=edge_index.device)
        weights: Tensor = self.propagate(edge_index, x=ones, size=(num_nodes, num_nodes))
        return weights[:, 0]

    def message(self, x_j: Tensor) -> Tensor:
        return x_j

    def aggregate(self, inputs: Tensor, index: Tensor) -> Tensor:
        return inputs  # edge by edge: nothing is summed up


def _on_graph(trained: Model, x: Tensor, edge_index: Tensor) -> Model:
    """The model on other attributes and edges; the same object where they are the trained ones."""
    given: FloatArray = x.detach().cpu().numpy().astype(np.float32)
    graph = trained.graph.with_edges(edge_index.detach().cpu().numpy().T)
    same = np.array_equal(given, dense(trained.graph.features))
    if same and np.array_equal(graph.edges.ends, trained.graph.edges.ends):
        return trained
    return Model(
        trained.encoder,
        graph.replace(nodes=dataclasses.replace(graph.nodes, features=as_rows(given))),
        trained.settings,
        max_memory=trained.max_memory,
    )


def _on_pairs(mask: FloatArray, graph: Graph, edge_index: Tensor) -> Tensor:
    """A mask of undirected edges [E] on a list of directed ones: of a pair the largest; 0 for self-loops."""
    pairs: IntArray = edge_index.detach().cpu().numpy().T
    proper = pairs[:, 0] != pairs[:, 1]
    mask = mask.copy()
    np.maximum.at(mask, edge_ids(graph, graph.edges.ends), mask.copy())
    values = np.zeros(len(pairs), np.float32)
    values[proper] = mask[edge_ids(graph, pairs[proper])]
    return torch.from_numpy(values).to(edge_index.device)


def to_pyg(explanation: Explanation, graph: Graph, *, features: bool = True) -> Any:
    """The explanation on the whole graph: both directions of an edge follow PyG, all forward edges first.

    Beside the masks it has ``index`` (the node), ``target`` (its predicted class, and -1 for all other nodes; or its
    predicted number, and NaN), ``importance`` of each edge, Eq. (10), NaN outside the local graph, and ``cases`` with
    their ``weights``. ``node_mask`` [N, 1] is 1 for the node, the weight for a case, and for other nodes of the local
    graph the largest mask of their edges.
    """
    node = explanation.node
    ids = explanation.edge_ids
    mask, importance = np.zeros(graph.num_edges, np.float32), np.full(graph.num_edges, np.nan, np.float32)
    mask[ids], importance[ids] = mask_of_importance(explanation.importance), explanation.importance
    cases = np.array([one.node for one in explanation.votes], dtype=np.int64)
    weights = np.array([one.weight for one in explanation.votes], dtype=np.float32)
    counts = node_mask(graph, mask, node, cases, weights)
    if isinstance(explanation.answer, NumberAnswer):
        target = torch.full((graph.num_nodes,), torch.nan)
        target[node] = explanation.answer.value
    else:
        target = torch.full((graph.num_nodes,), -1)
        target[node] = explanation.predicted
    result = _explain.Explanation(
        edge_index=directed(graph.edges.ends),
        edge_mask=torch.from_numpy(np.concatenate([mask, mask])),
        node_mask=torch.from_numpy(counts)[:, None],
        target=target,
        index=torch.tensor([node]),
        importance=torch.from_numpy(np.concatenate([importance, importance])),
        cases=torch.from_numpy(cases),
        weights=torch.from_numpy(weights),
    )
    if features:
        result.x = dense_features(graph)
    else:
        result.num_nodes = graph.num_nodes
    result._model_args = []  # PyG's metrics ask for it: our model reads x and edge_index alone
    return result


def mask_of_importance(importance: FloatArray) -> FloatArray:
    """Share of the edges that each edge is at least as important as, in (0, 1]; 0 where importance is not known.

    Importance is a similarity, so its order means more than its size. [M] to [M].

    >>> mask_of_importance(np.array([-3.0, -1.0, -2.0, -1.0], dtype=np.float32)).tolist()
    [0.25, 1.0, 0.5, 1.0]
    """
    known = np.isfinite(importance)
    ordered = np.sort(importance[known])
    mask = np.zeros(len(importance), np.float32)
    mask[known] = np.searchsorted(ordered, importance[known], side="right") / max(1, len(ordered))
    return mask


def node_mask(graph: Graph, edge_mask: FloatArray, node: int, cases: IntArray, weights: FloatArray) -> FloatArray:
    """What each node counts, [N]: see :func:`to_pyg`."""
    counts = np.zeros(graph.num_nodes, np.float32)
    for end in (0, 1):
        np.maximum.at(counts, graph.edges.ends[:, end], edge_mask)
    np.maximum.at(counts, cases, weights)
    counts[node] = 1
    return counts


def edge_ids(graph: Graph, edges: IntArray) -> IntArray:
    """Ids of edges that the graph has, given as pairs in any order; of several with the same ends the first."""
    n = graph.num_nodes
    low, high = edges.min(axis=1), edges.max(axis=1)
    keys = graph.edges.ends[:, 0] * n + graph.edges.ends[:, 1]
    ids: IntArray = np.searchsorted(keys, low * n + high)
    return ids


def directed(edges: IntArray) -> Tensor:
    """``edge_index`` [2, 2E] with every edge in both directions."""
    return torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())


def dense_features(graph: Graph) -> Tensor:
    """X as a dense tensor, [N, F]."""
    return torch.tensor(dense(graph.features))
