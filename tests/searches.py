"""What searches for the nearest labeled nodes are tried on, and what they must find."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st

from se_gnn.config import SimilarityConfig
from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.similarity import ComparisonPlan, compare, nearest_labeled
from se_gnn.similarity.compared import Compared

COUNTS = {"FEWEST_LABELED": 1, "FEWEST_PAIRS": 1, "SHARE": 1}


def by_comparing_all(h, plan, count):
    similarities = compare(h, plan)
    targets, labeled = plan.nodes(h.device)
    overall = similarities.overall.masked_fill(targets[:, None] == labeled, -torch.inf)
    order = nearest_labeled(overall, count)
    tables = (overall, similarities.node, similarities.structure)
    return Compared(order, *(table.gather(1, order) for table in tables))


def assert_same(found, wanted):
    for name in Compared.__slots__:
        one, other = (getattr(side, name).numpy() for side in (found, wanted))
        np.testing.assert_array_equal(one, other, err_msg=name)
        assert one.tobytes() == other.tobytes(), name  # the sign of a zero too


def planned(edges, num_nodes, labeled, targets, **settings):
    config = SimilarityConfig(**settings)
    graph = AttributedGraph.build(features=np.zeros((num_nodes, 1)), edges=edges, labels=np.zeros(num_nodes, int))
    ways = [local_graphs(graph, np.asarray(nodes), config.hops, config.max_edges) for nodes in (targets, labeled)]
    return ComparisonPlan.build(graph.edges, *ways, config)


@st.composite
def cases(draw, directions=("one", "both")):
    """Small graphs with ties, equal vectors, nodes without edges, opposite ends and far outliers."""
    num_nodes, depth = draw(st.integers(6, 40)), draw(st.sampled_from([1, 3, 15, 16, 17, 40]))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["whole", "normal", "equal", "near", "outliers", "offset"]))
    h = generator.normal(size=(num_nodes, depth))
    if kind == "whole":
        h = generator.integers(-1, 2, size=h.shape).astype(float)
    elif kind == "equal":
        h = h[generator.integers(0, 3, size=num_nodes)]
    elif kind == "near":  # nearly one point: what bounds tell apart is less than rounding
        h = h[:1] + 1e-6 * h
    elif kind == "outliers":
        h[generator.integers(0, num_nodes, size=2)] *= 1e8
    elif kind == "offset":
        h = h + 1000
    edges = generator.integers(0, num_nodes, size=(draw(st.integers(1, 3 * num_nodes)), 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    if draw(st.booleans()):
        edges = edges[(edges < num_nodes // 2).all(axis=1)]  # half of the nodes have none
    labeled = np.sort(generator.permutation(num_nodes)[: draw(st.integers(4, num_nodes))])
    settings_ = {
        "measure": draw(st.sampled_from(["cosine", "distance"])),
        "directions": draw(st.sampled_from(directions)),
        "node_weight": draw(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])),
        "max_edges": draw(st.sampled_from([None, 3, 64])),
        "hops": draw(st.sampled_from([1, 2])),
    }
    plan = planned(edges.reshape(-1, 2), num_nodes, labeled, np.arange(num_nodes), **settings_)
    return torch.from_numpy(h.astype(np.float32)), plan, draw(st.integers(1, len(labeled) - 2))


def in_communities():
    """A graph of 600 nodes in which 300 are labeled, and embeddings that lie close to a few directions."""
    generator = np.random.default_rng(0)
    num_nodes = 600
    groups = np.arange(num_nodes) % 6
    first, second = generator.integers(num_nodes, size=(2, 2400))
    same = (groups[first] == groups[second]) & (first != second)
    centers = generator.normal(size=(6, 40))
    h = centers[groups] + 0.2 * generator.normal(size=(num_nodes, 4)) @ generator.normal(size=(4, 40))
    labeled = np.sort(generator.permutation(num_nodes)[:300])
    edges = np.stack([first[same], second[same]], axis=1)
    return torch.from_numpy(h.astype(np.float32)), edges, labeled
