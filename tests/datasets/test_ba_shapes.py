"""`ba-shapes`: the planted houses, the base graph, the noise and the split."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from se_gnn.datasets import load_dataset
from se_gnn.datasets.ba_shapes import barabasi_albert

SEEDS = [0, 1, 2]


@pytest.fixture(scope="module", params=SEEDS)
def shapes(request):
    return load_dataset("ba-shapes", seed=request.param)


@pytest.fixture(scope="module")
def published(data_dir):
    return load_dataset("ba-shapes-pgexplainer", data_dir=data_dir)


@pytest.fixture(params=["drawn", "published"])
def any_shapes(request):
    """A draw of ours, and the published one."""
    return load_dataset("ba-shapes") if request.param == "drawn" else request.getfixturevalue("published")


def as_networkx(graph):
    result = nx.Graph()
    result.add_nodes_from(range(graph.num_nodes))
    result.add_edges_from(graph.edges.tolist())
    return result


def test_sizes_are_those_of_the_recipe(shapes):
    assert shapes.num_nodes == 700
    assert shapes.num_edges == 1475 + 80 * 6 + 80 + 70  # base, houses, attachments, random edges
    assert shapes.motif_edges.sum() == 480
    assert shapes.merged.given == shapes.num_edges  # nothing had to be merged
    assert shapes.class_names == ("base", "top", "middle", "bottom")
    assert np.bincount(shapes.labels).tolist() == [300, 80, 160, 160]


def test_motif_edges_form_eighty_houses_with_the_classes_in_their_places(any_shapes):
    house = nx.Graph([("m1", "m2"), ("m1", "b1"), ("m2", "b2"), ("b1", "b2"), ("t", "m1"), ("t", "m2")])
    nx.set_node_attributes(house, {n: {"t": 1, "m": 2, "b": 3}[n[0]] for n in house}, "label")
    planted = nx.Graph(any_shapes.edges[any_shapes.motif_edges].tolist())
    nx.set_node_attributes(planted, {n: int(any_shapes.labels[n]) for n in planted}, "label")
    parts = [planted.subgraph(nodes) for nodes in nx.connected_components(planted)]
    assert len(parts) == 80
    same_label = nx.algorithms.isomorphism.categorical_node_match("label", None)
    assert all(nx.is_isomorphic(part, house, node_match=same_label) for part in parts)


def test_every_house_hangs_on_its_own_base_node_by_a_middle_node(shapes):
    first = 300 + 5 * np.arange(80)
    assert (shapes.labels[first] == 2).all()
    edges = {tuple(edge) for edge in shapes.edges.tolist()}
    assert all((3 * house, int(node)) in edges for house, node in enumerate(first))


def test_features_are_degree_and_number_of_triangles(any_shapes):
    reference = as_networkx(any_shapes)
    assert any_shapes.feature_names == ("degree", "triangles")
    assert any_shapes.features.dtype == np.float32
    assert any_shapes.features[:, 0].tolist() == [degree for _, degree in sorted(reference.degree)]
    assert any_shapes.features[:, 1].tolist() == [nx.triangles(reference, node) for node in range(700)]


def test_the_split_is_80_10_10_and_covers_all_nodes(any_shapes):
    assert (len(any_shapes.train), len(any_shapes.validation), len(any_shapes.test)) == (560, 70, 70)
    assert np.sort(np.concatenate([any_shapes.train, any_shapes.validation, any_shapes.test])).tolist() == list(
        range(700)
    )


def test_the_published_draw_has_twenty_random_edges_where_ours_have_seventy(published):
    assert (published.num_nodes, published.num_edges, published.motif_edges.sum()) == (
        700,
        1475 + 80 * 6 + 80 + 20,
        480,
    )
    assert np.bincount(published.labels).tolist() == [300, 80, 160, 160]
    assert published.node_names[300:305] == tuple(f"house-00-{part}" for part in range(5))
    assert published.labels[300:305].tolist() == [2, 2, 3, 3, 1]


def test_the_seed_decides_graph_and_split():
    one, two, other = (load_dataset("ba-shapes", seed=seed) for seed in (3, 3, 4))
    for field in ("edges", "features", "motif_edges", "train", "validation", "test"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    assert one.edges.tolist() != other.edges.tolist()
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
