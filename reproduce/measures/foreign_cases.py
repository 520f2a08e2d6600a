"""Cases for a model that plain PyG code trained: agreement with it, what removing them does, and who finds its errors.

Four ways to rank the labeled nodes of a prediction are compared: the weights of our vote, the cosine of the model's
embeddings, the gradient similarity of TracIn at the last layer, and chance. Shapes: T nodes, L labeled nodes.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GAT, GCN, GraphSAGE

from lab.datasets import load_dataset
from reproduce.job import Job
from se_gnn import CaseExplainer
from se_gnn.graph import Graph
from se_gnn.tables.pyg import to_pyg

MODELS = {"gcn": GCN, "gat": GAT, "graph-sage": GraphSAGE}
RANKINGS = ("cases", "embeddings", "gradients", "chance")
EPOCHS = 100
FLIPPED = 0.1  # share of the labels that are wrong
REMOVED = 10  # labeled nodes that are removed before the model is trained again
ASKED = 10  # test nodes whose labeled nodes are removed


def measure(job: Job, device: str) -> dict[str, Any]:
    """Agreement on test nodes and the time of all nodes; or probability lost by removal; or AUROC of flipped labels."""
    graph = load_dataset(job.series.dataset, seed=job.seed)
    name, wanted = job.series.settings["model"], job.series.settings["measure"]
    if wanted == "blame":
        return blame(graph, name, job.seed, device)
    explainer = CaseExplainer(trained(graph, name, job.seed, device).cpu(), to_pyg(graph))
    if wanted == "removal":
        return removal(graph, explainer, name, job.seed, device)
    begin = time.perf_counter()
    explainer.predict_proba()
    return {"agreement": explainer.agreement, "seconds": time.perf_counter() - begin}


def trained(graph: Graph, name: str, seed: int, device: str) -> nn.Module:
    """A model as PyG's examples train one, on the labeled nodes of a graph."""
    data = to_pyg(graph).to(device)
    torch.manual_seed(seed)
    options = {"heads": 8} if name == "gat" else {}
    model = MODELS[name](data.num_features, 64, 2, graph.num_classes, dropout=0.5, **options).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(EPOCHS):
        model.train()
        optimizer.zero_grad()
        answers = model(data.x, data.edge_index)
        functional.cross_entropy(answers[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    return model.eval()


def importance(explainer: CaseExplainer, graph: Graph, nodes: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """How much each labeled node counts for the model's answer for some nodes, by each of the rankings, [T, L]."""
    outputs, labeled = explainer.outputs, graph.train.copy()
    weights = np.zeros((len(nodes), len(labeled)))
    prediction = explainer.trained_.predict(nodes)
    for row, cases in enumerate(prediction.cases):
        weights[row, np.searchsorted(labeled, cases)] = prediction.weights[row]
    h = functional.normalize(outputs.embeddings, dim=1)
    return {
        "cases": weights,
        "embeddings": (h[nodes] @ h[labeled].T).numpy(),
        "gradients": _gradient_similarity(explainer, graph, nodes),
        "chance": np.random.default_rng(seed).random(weights.shape),
    }


def _gradient_similarity(explainer: CaseExplainer, graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """TracIn at the last layer: products of the gradients of the loss, of a node for the model's answer, [T, L]."""
    outputs = explainer.outputs
    count = graph.num_classes

    def errors(some: np.ndarray, classes: Tensor) -> Tensor:
        return outputs.probabilities[some] - functional.one_hot(classes, count)

    of_nodes = errors(nodes, outputs.classes[nodes])
    of_labeled = errors(graph.train, torch.tensor(graph.labels[graph.train]))
    products = outputs.embeddings[nodes] @ outputs.embeddings[graph.train].T
    return ((of_nodes @ of_labeled.T) * products).numpy()


def removal(graph: Graph, explainer: CaseExplainer, name: str, seed: int, device: str) -> dict[str, float]:
    """How far the probability of the answer falls if the model is trained without the most important labeled nodes."""
    nodes = np.sort(np.random.default_rng([seed, 1]).choice(graph.test, ASKED, replace=False))
    found: dict[str, list[float]] = {f"removal_{ranking}": [] for ranking in RANKINGS}
    for ranking, scores in importance(explainer, graph, nodes, seed).items():
        for node, row in zip(nodes, scores):
            gone = graph.train[np.argsort(-row, kind="stable")[:REMOVED]]
            split = dataclasses.replace(graph.split, train=np.setdiff1d(graph.train, gone))
            other = trained(graph.replace(split=split), name, seed, device)
            data = to_pyg(graph).to(device)
            with torch.no_grad():
                after = other(data.x, data.edge_index).softmax(dim=1)[node].cpu()
            answer = explainer.outputs.classes[node]
            found[f"removal_{ranking}"].append(float(explainer.outputs.probabilities[node, answer] - after[answer]))
    return {key: float(np.mean(values)) for key, values in found.items()}


def blame(graph: Graph, name: str, seed: int, device: str) -> dict[str, float]:
    """Flip labels, train, and let wrong answers on validation nodes blame labeled nodes; AUROC of the flipped ones."""
    generator = np.random.default_rng([seed, 2])
    wrong = generator.choice(graph.train, max(1, round(FLIPPED * len(graph.train))), replace=False)
    labels = graph.labels.copy()
    labels[wrong] = (labels[wrong] + generator.integers(1, graph.num_classes, len(wrong))) % graph.num_classes
    flipped = graph.replace(target=graph.target.with_labels(labels))
    explainer = CaseExplainer(trained(flipped, name, seed, device).cpu(), to_pyg(flipped))
    answers = explainer.outputs.classes.numpy()
    mistaken = graph.validation[answers[graph.validation] != graph.labels[graph.validation]]
    contradicts = labels[graph.train][None, :] != graph.labels[mistaken][:, None]  # [T, L]
    scores = {
        name: (one.clip(0) * contradicts).sum(axis=0)
        for name, one in importance(explainer, flipped, mistaken, seed).items()
    }
    scores["audit"] = explainer.audit().suspicion.score
    return {f"blame_{name}": float(roc_auc_score(np.isin(graph.train, wrong), one)) for name, one in scores.items()}
