"""What happens to predictions when the evidence changes: other cases, other edges, or the evidence alone.

Shapes: n nodes, M edges of a local graph, R ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.measures.agreement import mean_jaccard, with_a_choice
from reproduce.measures.truth import some_nodes
from reproduce.methods import asked
from se_gnn.explain import Explanation, explain
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.extend import NewNodes
from se_gnn.model import Model
from se_gnn.training import fit


def measure(job: Job, device: str) -> dict[str, Any]:
    """Shares of nodes whose class changes, and Jaccard indices of evidence before and after."""
    settings, top = job.series.settings, job.series.settings["top"]
    graph = load_dataset(job.series.dataset, seed=job.seed)
    trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
    nodes = some_nodes(with_a_choice(graph, top), settings["nodes"])
    generator = np.random.default_rng(job.seed)
    explanations = list(explain(trained, nodes, k=top))
    return {
        "nodes": len(nodes),
        **other_cases(trained, nodes, settings["draws"], generator),
        **other_edges(trained, explanations, top, settings["draws"], generator),
        **explained_again(trained, explanations, top),
    }


def other_cases(trained: Model, nodes: IntArray, draws: int, generator: np.random.Generator) -> dict[str, float]:
    """How often the class changes if the stated votes are recounted, and if only the stated or random cases vote.

    Also, whether the stated cases are stated again if no others are left.
    """
    changed: dict[str, list[bool]] = {}
    same = []
    for block in trained.rank(nodes):
        for row in range(len(block)):
            one = block.rows(np.array([row])).cpu()
            stated, predicted, ranks = one.num_nearest, int(one.predicted), np.arange(one.depth)
            classes, weights = one.classes[0].numpy(), one.weights[0].numpy()
            left = one.without(ranks[stated:])
            same.append([{*one.nodes[0, :stated].tolist()}, {*left.nodes[0].tolist()}])
            found = {"recounted": [_winner(classes[:stated], weights)], "stated_alone": [int(left.predicted)]}
            voting = ranks[: int(one.voting.sum())]
            for _ in range(draws):
                drawn = generator.choice(voting, stated, replace=False)
                others = generator.choice(voting[stated:], min(stated, len(voting) - stated), replace=False)
                found.setdefault("random_weights", []).append(_winner(classes[drawn], weights))
                found.setdefault("random_cases", []).append(int(one.without(np.setdiff1d(ranks, drawn)).predicted))
                found.setdefault("not_stated", []).append(int(one.without(np.setdiff1d(ranks, others)).predicted))
            for name, winners in found.items():
                changed.setdefault(name, []).extend(winner != predicted for winner in winners)
    shares = {f"changed_{name}": float(np.mean(values)) for name, values in changed.items()}
    return {**shares, "cases_stated_alone": mean_jaccard(list(zip(*same, strict=True)))}


def _winner(classes: IntArray, weights: FloatArray) -> int:
    """The class with the most votes, of equals the first."""
    return int(np.bincount(classes, weights).argmax())


def other_edges(
    trained: Model, explanations: Sequence[Explanation], top: int, draws: int, generator: np.random.Generator
) -> dict[str, float]:
    """How often the class changes without the most important edges, and if only some edges around the node are left."""
    predicted = np.array([one.predicted for one in explanations])

    def changed_alone(choose: Callable[[Explanation], IntArray]) -> float:
        """With copies of the nodes that have only the chosen edges of their local graphs."""
        model, copies, _ = copied(trained, [(one.node, one.ends(choose(one))) for one in explanations])
        return float((model.predict(copies).classes != predicted).mean())

    def changed_without(choose: Callable[[Explanation], IntArray]) -> float:
        """On the graph without the chosen edges; of one node after the other."""
        graph = trained.graph
        rest = (graph.with_edges(np.delete(graph.edges.ends, choose(one), axis=0)) for one in explanations)
        found = [trained.with_graph(g).predict(np.array([one.node])).classes[0] for g, one in zip(rest, explanations)]
        return float((np.array(found) != predicted).mean())

    def important(one: Explanation) -> IntArray:
        return one.crucial_subgraph(size=top).edge_ids

    def random(one: Explanation) -> IntArray:
        drawn: IntArray = generator.choice(one.edge_ids, len(important(one)), replace=False)
        return drawn

    def extended(one: Explanation) -> IntArray:
        """The most important edges, and each other one with probability 1/2."""
        return np.union1d(important(one), one.edge_ids[generator.random(len(one.edge_ids)) < 0.5])

    return {
        "changed_without_important": changed_without(important),
        "changed_without_random": changed_without(random),
        "changed_important_alone": changed_alone(important),
        "changed_random_alone": changed_alone(random),
        "changed_local_alone": changed_alone(lambda one: one.edge_ids),
        "changed_extended": float(np.mean([changed_alone(extended) for _ in range(draws)])),
    }


def explained_again(trained: Model, explanations: Sequence[Explanation], top: int) -> dict[str, float]:
    """The most important edges alone, explained: how much of the first explanation comes back."""
    kept = [one.crucial_subgraph(size=top).edges for one in explanations]
    model, copies, origin = copied(trained, [(one.node, edges) for one, edges in zip(explanations, kept)])
    again = list(explain(model, copies, k=top))
    same = np.arange(trained.graph.num_nodes)
    few = top // 2
    return {
        "again_same_class": float(np.mean([a.predicted == b.predicted for a, b in zip(explanations, again)])),
        "again_cases": mean_jaccard(
            [[{*one.ranks.nodes[:top].tolist()} for one in run] for run in (explanations, again)]
        ),
        "again_edges": mean_jaccard(
            [
                [_pairs(where[one.crucial_subgraph(size=few).edges]) for one in run]
                for run, where in ((explanations, same), (again, origin))
            ]
        ),
        "again_matches": mean_jaccard(
            [
                [_matches(one, where, _pairs(edges)) for one, edges in zip(run, kept)]
                for run, where in ((explanations, same), (again, origin))
            ]
        ),
    }


def copied(trained: Model, parts: Sequence[tuple[int, IntArray]]) -> tuple[Model, IntArray, IntArray]:
    """The model on its graph and, apart from it, copies of some nodes with some edges around them.

    Nothing else changes: the cases are those of the graph, with all their edges.

    Returns:
        The model, the ids of the copies of the nodes [n], and for each node of the new graph which one it copies.
    """
    graph: Graph = trained.graph
    origins, pairs, copies, first = [], [], [], graph.num_nodes
    for node, edges in parts:
        own = np.union1d(edges, [node]).astype(np.int64)
        origins.append(own)
        pairs.append(first + np.searchsorted(own, edges).reshape(-1, 2))
        copies.append(first + int(np.searchsorted(own, node)))
        first += len(own)
    origin = np.concatenate(origins)
    names = tuple(f"copy {i} of {graph.node_names[one]}" for i, one in enumerate(origin))
    new = NewNodes(names=names, features=graph.features[origin], pairs=np.concatenate(pairs))
    return trained.with_new_nodes(new), np.array(copies), np.concatenate([np.arange(graph.num_nodes), origin])


def _pairs(edges: IntArray) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in edges.tolist()}


def _matches(one: Explanation, where: IntArray, kept: set[tuple[int, int]]) -> set[Any]:
    """Which edge of which case each kept edge is matched with."""
    found = set()
    for vote in one.votes:
        if vote.matches is not None:
            both = (vote.matches.edge_ids, vote.matches.matched_ids)
            ours, theirs = (where[one.ends(ids[vote.matches.matched])] for ids in both)
            for edge, match in zip(ours, theirs):
                (own,), (other,) = _pairs(edge[None]), _pairs(match[None])
                if own in kept:
                    found.add((vote.node, own, other))
    return found
