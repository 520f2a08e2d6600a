"""`ba-shapes`: its sizes, where the houses hang, the base graph; `tests/lab` has the houses themselves."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from se_gnn.datasets import load_dataset
from se_gnn.datasets.embedded import barabasi_albert
from strategies import assert_same_graph

SEEDS = [0, 1, 2]


@pytest.fixture(scope="module", params=SEEDS)
def shapes(request):
    return load_dataset("ba-shapes", seed=request.param)


def test_sizes_are_those_of_the_recipe(shapes):
    assert shapes.num_nodes == 700
    assert shapes.num_edges == 1475 + 80 * 6 + 80 + 70  # base, houses, attachments, random edges
    assert shapes.merged.given == shapes.num_edges  # nothing had to be merged
    assert shapes.class_names == ("base", "top", "middle", "bottom")
    assert np.bincount(shapes.labels).tolist() == [300, 80, 160, 160]


def test_every_house_hangs_on_its_own_base_node_by_a_middle_node(shapes):
    first = 300 + 5 * np.arange(80)
    assert (shapes.labels[first] == 2).all()
    edges = {tuple(edge) for edge in shapes.edges.ends.tolist()}
    assert all((3 * house, int(node)) in edges for house, node in enumerate(first))


def test_the_seed_decides_graph_and_split():
    one, two, other = (load_dataset("ba-shapes", seed=seed) for seed in (3, 3, 4))
    assert_same_graph(one, two)
    assert one.edges.ends.tolist() != other.edges.ends.tolist()
    assert one.train.tolist() != other.train.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_base_graph_is_connected_and_grows_by_preferential_attachment(seed):
    edges = barabasi_albert(300, 5, generator=np.random.default_rng(seed))
    reference = nx.Graph(edges.tolist())
    assert (len(reference), reference.number_of_edges()) == (300, 1475)
    assert nx.is_connected(reference)
    degrees = np.array([reference.degree(node) for node in range(300)])
    assert degrees[6:].min() >= 5  # each node after the first star brings five edges
    assert degrees[:30].mean() > 3 * degrees[-150:].mean()  # the early ones are the hubs
