"""A graph auto-encoder ("Variational Graph Auto-Encoders", https://arxiv.org/abs/1611.07308) and heuristics for links.

The encoder is a GCN of one or two layers over attributes; a link is scored by the product of two embeddings. It is
trained with a random pair for each link, and MRR on validation links chooses the number of layers and the epoch.
GNNExplainer explains it: the neighbor whose edge has the highest mask is the one it names. Shapes: n pairs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from lab.baselines.pyg import pyg
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.links.scoring import ranking_metrics

WIDTH, EPOCHS, EVERY, RATE, DROPOUT = 128, 300, 10, 0.01, 0.3
LAYERS = (1, 2)  # tried; the better one on validation links is kept
HEURISTICS = ("cn", "aa", "ra")


class GAE(nn.Module):
    """Scores pairs of nodes; logits, as PyG's explainers want them."""

    def __init__(self, num_features: int, num_layers: int) -> None:
        super().__init__()
        conv, widths = pyg("nn").GCNConv, [num_features, *[WIDTH] * num_layers]
        self.layers = nn.ModuleList(conv(a, b) for a, b in pairwise(widths))

    def embed(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Embeddings of all nodes."""
        for depth, layer in enumerate(self.layers):
            x = layer(nn.functional.dropout(torch.relu(x) if depth else x, DROPOUT, self.training), edge_index)
        return x

    def forward(self, x: Tensor, edge_index: Tensor, pairs: Tensor) -> Tensor:
        """Logits of pairs, [2, n] to [n]."""
        h = self.embed(x, edge_index)
        return (h[pairs[0]] * h[pairs[1]]).sum(dim=-1)


def fit_gae(graph: Graph, validation: IntArray, hard: IntArray, *, seed: int, device: str = "cpu") -> GAE:
    """Train on all links of a graph; the best depth and epoch on validation links are kept."""
    found = [_fit_depth(graph, depth, validation, hard, seed, device) for depth in LAYERS]
    return max(found, key=lambda one: one[0])[1].eval()


def _fit_depth(
    graph: Graph, depth: int, validation: IntArray, hard: IntArray, seed: int, device: str
) -> tuple[float, GAE]:
    """The best epoch of a GAE of some layers, and its MRR on validation links."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        x, edge_index = gae_inputs(graph, device)
        model = GAE(graph.num_features, depth).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
        links = torch.from_numpy(graph.edges.ends.T.copy()).to(device)
        best, kept = -1.0, {}
        for epoch in range(EPOCHS):
            model.train()
            random = torch.randint(0, graph.num_nodes, links.shape).to(device)
            logits = model(x, edge_index, torch.cat([links, random], dim=1))
            truth = torch.cat([torch.ones(links.shape[1]), torch.zeros(links.shape[1])]).to(device)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, truth)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if (epoch + 1) % EVERY == 0:
                own, others = (gae_scores(model, graph, pairs, device) for pairs in (validation, hard.reshape(-1, 2)))
                mrr = ranking_metrics(own, others.reshape(len(own), -1))["mrr"]
                if mrr > best:
                    best, kept = mrr, {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(kept)
    return best, model


def gae_inputs(graph: Graph, device: str) -> tuple[Tensor, Tensor]:
    """Attributes of length 1, and edges in both directions."""
    features: Any = graph.features
    dense = torch.from_numpy(np.asarray(features.toarray() if sp.issparse(features) else features, dtype=np.float32))
    ends = graph.edges.ends
    both = torch.from_numpy(np.concatenate([ends, ends[:, ::-1]]).T.copy())
    return nn.functional.normalize(dense, dim=1).to(device), both.to(device)


@torch.no_grad()
def gae_scores(model: GAE, graph: Graph, pairs: IntArray, device: str = "cpu") -> Float64Array:
    """Score of each pair, [n]."""
    model.eval()
    x, edge_index = gae_inputs(graph, device)
    h = model.embed(x, edge_index)
    ends = torch.from_numpy(pairs).to(device)
    found = [(h[part[:, 0]] * h[part[:, 1]]).sum(dim=-1) for part in torch.split(ends, 1 << 20)]
    return torch.cat(found).double().cpu().numpy()


def named_by_gnn_explainer(model: GAE, graph: Graph, pair: tuple[int, int], *, seed: int, epochs: int = 200) -> int:
    """The neighbor of the source that GNNExplainer's edge mask ranks highest; -1: it has none."""
    explain = pyg("explain")
    config = {"mode": "binary_classification", "task_level": "edge", "return_type": "raw"}
    algorithm = explain.GNNExplainer(epochs=epochs, lr=0.01)
    explainer = explain.Explainer(
        model, algorithm=algorithm, explanation_type="model", edge_mask_type="object", model_config=config
    )
    x, edge_index = gae_inputs(graph, "cpu")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        mask = explainer(x, edge_index, pairs=torch.tensor([[pair[0]], [pair[1]]])).edge_mask
    source = pair[0]
    own = (edge_index == source).any(dim=0)  # in either direction
    if not bool(own.any()):
        return -1
    place = int(torch.where(own, mask, -torch.inf).argmax())
    ends = edge_index[:, place].tolist()
    return int(ends[0] if ends[1] == source else ends[1])


def heuristic_scores(name: str, graph: Graph, pairs: IntArray) -> Float64Array:
    """Common neighbors (``cn``), or their sum of 1 / log(degree) (``aa``) or 1 / degree (``ra``), [n]."""
    ends = graph.edges.ends
    both = np.concatenate([ends, ends[:, ::-1]])
    shape = (graph.num_nodes, graph.num_nodes)
    adjacency = sp.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=shape)
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    counts = {"cn": np.ones(len(degrees)), "aa": 1 / np.log(np.maximum(degrees, 2)), "ra": 1 / np.maximum(degrees, 1)}
    common = sp.csr_array(adjacency @ sp.diags_array(counts[name]) @ adjacency)
    found = [
        np.asarray(common[part[:, 0], part[:, 1]]).ravel() for part in np.array_split(pairs, 1 + len(pairs) // 10**6)
    ]
    return np.concatenate(found)
