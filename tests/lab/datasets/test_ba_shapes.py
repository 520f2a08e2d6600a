"""BA-Shapes, drawn here and as published: the planted houses, features and split."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from lab.datasets import load_with_truth
from lab.datasets.ba_shapes import house_edges


@pytest.fixture(scope="module")
def published(data_dir):
    return load_with_truth("ba-shapes-pgexplainer", data_dir=data_dir)


@pytest.fixture(params=["drawn", "published"])
def with_truth(request):
    """A draw of ours, and the published one, with their ground truth."""
    return load_with_truth("ba-shapes") if request.param == "drawn" else request.getfixturevalue("published")


@pytest.fixture
def any_shapes(with_truth):
    return with_truth[0]


def as_networkx(graph):
    result = nx.Graph()
    result.add_nodes_from(range(graph.num_nodes))
    result.add_edges_from(graph.edges.ends.tolist())
    return result


def test_motif_edges_form_eighty_houses_with_the_classes_in_their_places(with_truth):
    any_shapes, truth = with_truth
    house = nx.Graph([("m1", "m2"), ("m1", "b1"), ("m2", "b2"), ("b1", "b2"), ("t", "m1"), ("t", "m2")])
    nx.set_node_attributes(house, {n: {"t": 1, "m": 2, "b": 3}[n[0]] for n in house}, "label")
    planted = nx.Graph(any_shapes.edges.ends[truth.motif_edges].tolist())
    nx.set_node_attributes(planted, {n: int(any_shapes.labels[n]) for n in planted}, "label")
    parts = [planted.subgraph(nodes) for nodes in nx.connected_components(planted)]
    assert len(parts) == 80
    same_label = nx.algorithms.isomorphism.categorical_node_match("label", None)
    assert all(nx.is_isomorphic(part, house, node_match=same_label) for part in parts)


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
    published, truth = published
    assert (published.num_nodes, published.num_edges, truth.motif_edges.sum()) == (
        700,
        1475 + 80 * 6 + 80 + 20,
        480,
    )
    assert np.bincount(published.labels).tolist() == [300, 80, 160, 160]
    assert published.node_names[300:305] == tuple(f"house-00-{part}" for part in range(5))
    assert published.labels[300:305].tolist() == [2, 2, 3, 3, 1]


def test_a_random_edge_within_a_house_is_not_one_of_its_edges():
    across = np.array([[300, 302], [301, 303], [302, 304], [300, 305], [0, 300]])
    assert not house_edges(across).any()
    assert house_edges(np.array([[695, 696], [696, 699]])).all()


@pytest.mark.parametrize("name", ["digits", "cora-nettack"])
def test_other_data_sets_have_no_ground_truth(name, data_dir):
    assert load_with_truth(name, data_dir=data_dir)[1] is None
