"""Overall similarity, Eq. (7), in one direction and in both."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import on_every_device
from se_gnn.graph import local_graphs
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import Similarity, combine, comparison, items_of, reference, similarity
from se_gnn.similarity.measure import measure_named
from strategies import Sides, continuous, graphs, measures, random_graph, seeds

hops = st.integers(1, 3)


@on_every_device
@settings(max_examples=30)
@given(
    graph=graphs(max_nodes=7), seed=seeds, measure=measures, weight=st.floats(0, 1),
    directions=st.sampled_from(["one", "both"]),
)  # fmt: skip
def test_all_similarities_are_those_of_the_paper(graph, seed, measure, weight, directions, device):
    h = continuous(seed, graph.num_nodes, 3)
    settings = SimilaritySettings(directions=directions, measure=measure, node_weight=weight)
    found = Sides.of(graph, settings).compare(h.to(device))
    local, wide = local_graphs(graph, np.arange(graph.num_nodes), 2), h.double()
    for t in range(graph.num_nodes):
        for column, one in enumerate(graph.train):
            node = reference.similarity(wide[t], wide[one], measure)
            edges = [graph.edges.ends[local.row(i)].tolist() for i in (t, one)]
            structure = reference.structure_similarity(wide, *edges, measure, both=directions == "both")
            expected = reference.overall_similarity(node, structure, weight)
            for name, value in (("node", node), ("structure", structure), ("overall", expected)):
                got = getattr(found, name)[t, column].cpu().double()
                torch.testing.assert_close(got, value, rtol=1e-5, atol=2e-6)


@settings(max_examples=30)
@given(graph=graphs(), seed=seeds, weight=st.floats(0, 1))
def test_another_lambda_needs_no_other_comparison(graph, seed, weight):
    h = continuous(seed, graph.num_nodes, 3)
    found = Sides.of(graph, SimilaritySettings(node_weight=0.5)).compare(h).weighted(weight)
    again = Sides.of(graph, SimilaritySettings(node_weight=weight)).compare(h)
    assert torch.equal(found.overall, again.overall)


@on_every_device
@pytest.mark.parametrize("directions", ["one", "both"])
@pytest.mark.parametrize("budget", [1, 5000, 1 << 30])
def test_labeled_nodes_in_blocks_have_the_bits_of_all_at_once(budget, directions, device, monkeypatch):
    graph = random_graph(2, num_labeled=7, isolated=(1, 8))
    sides = Sides.of(graph, SimilaritySettings(directions=directions, measure="distance"))
    h = continuous(5, graph.num_nodes, 4).to(device)
    whole = sides.at(h).nearest(sides.queries, sides.cases, 7)
    for module in (similarity, comparison):
        monkeypatch.setattr(module, "memory_budget", lambda *_: budget)
    parts = sides.at(h).nearest(sides.queries, sides.cases, 7)
    for name in ("positions", "node", "structure", "overall"):
        assert torch.equal(getattr(parts, name), getattr(whole, name))


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures, directions=st.sampled_from(["one", "both"]))
def test_labeled_nodes_compared_with_themselves_are_compared_as_any_targets(graph, seed, hops, measure, directions):
    settings = SimilaritySettings(directions=directions, measure=measure, hops=hops)
    sides = Sides.of(graph, settings, graph.train)
    for h in (continuous(seed, graph.num_nodes, 3), continuous(seed, graph.num_nodes, 3).requires_grad_()):
        short, general = sides.at(h).compare_among(sides.cases), sides.compare(h)
        for name in ("node", "structure", "overall"):
            torch.testing.assert_close(getattr(short, name), getattr(general, name), rtol=1e-6, atol=1e-6)


def test_the_shortcut_has_the_gradients_of_the_general_path():
    graph = random_graph(2, isolated=(1, 8))
    settings = SimilaritySettings(directions="both", measure="distance")
    sides, weights, pulls = Sides.of(graph, settings, graph.train), continuous(9, 6, 6), []
    for among in (True, False):
        h = continuous(5, graph.num_nodes, 4).requires_grad_()
        found = sides.at(h).compare_among(sides.cases) if among else sides.compare(h)
        (found.overall * weights).sum().backward()
        pulls.append(h.grad)
    assert pulls[0].abs().max() > 0
    torch.testing.assert_close(*pulls, rtol=1e-4, atol=1e-5)


def test_both_directions_are_symmetric_and_one_direction_is_not():
    graph = random_graph(2)
    h = continuous(5, graph.num_nodes, 4)
    for directions, symmetric in (("both", True), ("one", False)):
        settings = SimilaritySettings(directions=directions, hops=1)
        found = Similarity(graph, h, settings).compare_among(items_of(graph, graph.train, settings)).structure
        assert torch.allclose(found, found.T) == symmetric


@settings(max_examples=50)
@given(
    graph=graphs(), seed=seeds, measure=measures, weight=st.floats(0, 1), directions=st.sampled_from(["one", "both"])
)
def test_overall_weighs_the_two_or_is_node_similarity_alone_where_there_is_no_structure(
    graph, seed, measure, weight, directions
):
    config = SimilaritySettings(node_weight=weight, measure=measure, directions=directions)
    h = continuous(seed, graph.num_nodes, 3)
    found = Sides.of(graph, config).compare(h)
    without = (graph.degrees == 0)[:, None] | (graph.degrees == 0)[graph.train][None, :]
    np.testing.assert_array_equal(found.overall[without], found.node[without])
    some = ~without
    expected = weight * found.node[some].double() + (1 - weight) * found.structure[some].double()
    np.testing.assert_allclose(found.overall[some], expected, atol=1e-6)
    assert torch.isfinite(found.overall).all()


def test_combining_sends_no_gradient_to_a_structure_that_is_not_there():
    node = torch.tensor([[0.5, 0.25]], requires_grad=True)
    structure = torch.tensor([[-torch.inf, 0.75]], requires_grad=True)
    overall = combine(node, structure, 0.2)
    overall.sum().backward()
    torch.testing.assert_close(overall.detach(), torch.tensor([[0.5, 0.65]]))
    torch.testing.assert_close(node.grad, torch.tensor([[1.0, 0.2]]))
    torch.testing.assert_close(structure.grad, torch.tensor([[0.0, 0.8]]))


@pytest.mark.parametrize("directions", ["one", "both"])
def test_gradients_stay_finite_where_nodes_have_no_edges(directions):
    graph = random_graph(2, isolated=(0, 1, 8))
    config = SimilaritySettings(directions=directions)
    h = continuous(5, graph.num_nodes, 4).requires_grad_()
    Sides.of(graph, config).compare(h).overall.sum().backward()
    assert torch.isfinite(h.grad).all()


@pytest.mark.parametrize("directions", ["one", "both"])
def test_a_comparison_that_reads_some_rows_of_a_file_has_the_same_bits(directions, tmp_path):
    graph = random_graph(4, num_nodes=60, num_edges=110, num_labeled=8)
    h = continuous(0, 60, 12) + 3  # far from 0, so that where distances are computed from counts
    np.save(tmp_path / "h.npy", h.numpy())
    sides = Sides.of(graph, SimilaritySettings(measure="distance", directions=directions, hops=1), [20, 31])
    mapped = Similarity(graph, np.load(tmp_path / "h.npy", mmap_mode="r"), sides.settings)
    assert len(mapped.comparison(sides.queries, sides.cases).h) < 60
    some, whole = mapped.compare(sides.queries, sides.cases), sides.compare(h)
    assert torch.equal(some.structure, whole.structure)
    assert torch.equal(some.node, whole.node)
    for one, other in zip(
        mapped.compare_with_matches(sides.queries, sides.cases)[1:2],
        sides.at(h).compare_with_matches(sides.queries, sides.cases)[1:2],
    ):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.matched_ids, other.matched_ids)


def test_distances_are_computed_from_the_same_point_in_memory_and_mapped(tmp_path):
    h = continuous(1, 10_000, 5) + 2
    np.save(tmp_path / "h.npy", h.numpy())
    measure = measure_named("distance")
    assert torch.equal(measure.origin(np.load(tmp_path / "h.npy", mmap_mode="r")), measure.origin(h))
