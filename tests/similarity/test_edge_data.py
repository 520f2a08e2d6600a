"""What edges carry, in the comparison: roles, types, weights and terms against the loops of the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import on_every_device
from se_gnn.deterministic import linear_by_row
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.local import edge_roles
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import items_of, measure_named, reference
from se_gnn.similarity.edges import edge_features
from strategies import Sides, continuous, measures, random_graph, rich_graph, seeds

EVERYTHING = SimilaritySettings(match_direction=True, match_types="own", match_attributes=True, weighted_mean=True)
each = st.fixed_dictionaries(
    {
        "match_direction": st.booleans(),
        "match_types": st.sampled_from(["any", "own", "learned"]),
        "match_attributes": st.booleans(),
        "weighted_mean": st.booleans(),
        "measure": measures,
        "directions": st.sampled_from(["one", "both"]),
        "hops": st.integers(1, 2),
    }
)


def terms_of(graph, config, size, dtype=torch.float32, device="cpu"):
    """A term for each edge, as W a with a fixed W that gradients flow to; None where the settings have none."""
    carried = edge_features(graph.edge_values, config)
    if carried is None:
        return None, None
    weight = continuous(5, carried.shape[1], size).to(dtype).to(device).requires_grad_()
    there = torch.from_numpy(carried).to(dtype).to(device)
    return weight, lambda ids: linear_by_row(there[ids], weight.T)


def by_loops(h, graph, sides, config, terms):
    """The structure similarity of every pair by the reference, [T, L]."""
    points = h if terms is None else measure_named(config.measure).points(h)
    every = None if terms is None else terms(torch.arange(graph.num_edges))
    values = graph.edge_values

    def edges_of(local, i):
        found = []
        for place in range(local.ptr[i], local.ptr[i + 1]):
            edge = int(local.edge_ids[place])
            ends, part = graph.edges.ends[edge].tolist(), 0
            if config.match_direction:
                arguments = (int(local.nodes[i]), ends, int(values.direction[edge]), graph.edges.ends.tolist())
                part += reference.edge_role(*arguments)
            if config.match_types == "own":
                part += 10 * int(values.type[edge])
            weight = float(values.weight[edge]) if config.weighted_mean else 1.0
            found.append(reference.RichEdge(ends, part, weight, 0.0 if every is None else every[edge]))
        return found

    rows = [
        [
            reference.rich_structure_similarity(
                points,
                edges_of(sides.queries.local, t),
                edges_of(sides.cases.local, i),
                config.measure,
                both=config.directions == "both",
            )
            for i in range(len(sides.cases.local))
        ]
        for t in range(len(sides.queries.local))
    ]
    return torch.stack([torch.stack(row) for row in rows])


@on_every_device
@settings(max_examples=15)
@given(seed=seeds, setting=each)
def test_every_setting_agrees_with_the_loops_in_values(seed, setting, device):
    graph, config = rich_graph(seed), SimilaritySettings(**setting)
    h = continuous(seed, graph.num_nodes, 4)
    _, terms = terms_of(graph, config, 4, device=device)
    _, wide = terms_of(graph, config, 4, torch.float64)
    sides = Sides.of(graph, config, terms=terms)
    expected = by_loops(h.double(), graph, sides, config, wide)
    with torch.no_grad():
        found = sides.structure(h.to(device)).cpu()
    torch.testing.assert_close(found.double(), expected.detach(), rtol=1e-5, atol=3e-6)


@settings(max_examples=30)
@given(seed=seeds, setting=each)
def test_with_a_gradient_every_setting_has_the_same_bits(seed, setting):
    graph, config = rich_graph(seed), SimilaritySettings(**setting)
    h = continuous(seed, graph.num_nodes, 4)
    sides = Sides.of(graph, config, terms=terms_of(graph, config, 4)[1])
    with torch.no_grad():
        expected = sides.structure(h)
    assert torch.equal(sides.structure(h.requires_grad_()).detach(), expected)


@on_every_device
@settings(max_examples=8)
@given(seed=seeds, setting=each, wide=st.booleans())
def test_every_setting_agrees_with_the_loops_in_gradients_to_nodes_and_to_what_edges_carry(seed, setting, wide, device):
    graph, config = rich_graph(seed), SimilaritySettings(**setting)
    dtype = torch.float64 if wide else torch.float32  # the torch kernel, or the device's own
    h = continuous(seed, graph.num_nodes, 4)
    found = []
    for fast in (True, False):
        leaf = h.clone().to(dtype if fast else torch.float64).to(device if fast else "cpu").requires_grad_()
        weight, terms = terms_of(graph, config, 4, leaf.dtype, leaf.device)
        sides = Sides.of(graph, config, terms=terms)
        similarity = sides.structure(leaf) if fast else by_loops(leaf, graph, sides, config, terms)
        counts = continuous(seed + 1, *similarity.shape).to(leaf.dtype).to(leaf.device)
        torch.where(torch.isfinite(similarity), similarity * counts, 0).sum().backward()
        found.append([one.grad.double().cpu() for one in (leaf, weight) if one is not None])
    for fast, slow in zip(*found):
        torch.testing.assert_close(fast, slow, rtol=1e-4, atol=1e-4)


@on_every_device
@settings(max_examples=15)
@given(seed=seeds)
def test_a_matched_edge_is_the_most_similar_one_of_its_role_and_type(seed, device):
    graph = rich_graph(seed)
    sides = Sides.of(graph, EVERYTHING, terms=terms_of(graph, EVERYTHING, 4, device=device)[1])
    h = continuous(seed, graph.num_nodes, 4)
    _, matching = sides.comparison(h.to(device)).structure_and_matches(None)
    points = measure_named("cosine").points(h.double())
    terms = terms_of(graph, EVERYTHING, 4, torch.float64)[1](torch.arange(graph.num_edges)).detach()
    ends = torch.from_numpy(np.array(graph.edges.ends))
    vectors = torch.nn.functional.normalize(points[ends].mean(dim=1) + terms, dim=1)
    cosines = (vectors @ vectors.T).numpy()  # of all edges with each other, [E, E]
    for t in range(len(sides.queries.local)):
        (values, every), edges = matching.of(t), sides.queries.local.row(t).tolist()
        parts = sides.queries.local.parts[sides.queries.local.ptr[t] : sides.queries.local.ptr[t + 1]]
        for i in range(len(sides.cases.local)):
            own = slice(sides.cases.local.ptr[i], sides.cases.local.ptr[i + 1])
            theirs = dict(zip(sides.cases.local.edge_ids[own].tolist(), sides.cases.local.parts[own].tolist()))
            for edge, part, matched, value in zip(edges, parts.tolist(), every[:, i].tolist(), values[:, i].tolist()):
                allowed = [other for other, own_part in theirs.items() if own_part == part]
                assert (matched in allowed) if allowed else matched < 0
                if allowed:
                    best = cosines[edge, allowed].max()
                    assert cosines[edge, matched] == pytest.approx(best, abs=1e-5)
                    assert value == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_an_edge_that_none_may_match_counts_as_its_own_opposite(measure):
    values = EdgeValues(type=np.array([0, 1, 1], np.int32), type_names=("pays", "knows"))
    graph = Graph.build(
        features=np.eye(6), edges=[[0, 1], [2, 3], [4, 5]], labels=[0, -1, 1, -1, -1, -1], edge_values=values
    )
    settings = SimilaritySettings(match_types="own", measure=measure)
    sides, h = Sides.of(graph, settings, [4]), continuous(0, 6, 3)
    found, matching = sides.comparison(h).structure_and_matches(None)
    edge = (h[4] + h[5]) / 2
    lowest = -1.0 if measure == "cosine" else -2 * float(edge.norm())
    assert matching.matched_ids.tolist() == [[-1, 1]]
    assert float(found[0, 0]) == pytest.approx(lowest)
    assert float(matching.similarity[0, 0]) == pytest.approx(lowest)
    assert float(found[0, 1]) > lowest


@settings(max_examples=15)
@given(seed=seeds)
def test_labeled_nodes_in_blocks_have_the_same_bits(seed):
    graph = rich_graph(seed)
    config = dataclasses.replace(EVERYTHING, directions="both")
    sides, h = Sides.of(graph, config, terms=terms_of(graph, config, 4)[1]), continuous(seed, graph.num_nodes, 4)
    with torch.no_grad():
        whole = sides.structure(h)
        parts = [sides.comparison(h).block(low, high).structure(None) for low, high in ((0, 2), (2, 3))]
    assert torch.equal(whole, torch.cat(parts, dim=1))


@settings(max_examples=20)
@given(seed=seeds, hops=st.integers(1, 3))
def test_roles_are_those_of_a_search_from_the_center(seed, hops):
    graph = rich_graph(seed, num_nodes=8, num_edges=12)
    local = items_of(graph, np.arange(graph.num_nodes), SimilaritySettings(hops=hops)).local
    roles, edges = edge_roles(graph, local, hops), graph.edges.ends.tolist()
    for i, center in enumerate(local.nodes.tolist()):
        for place in range(local.ptr[i], local.ptr[i + 1]):
            edge = local.edge_ids[place]
            direction = int(graph.edge_values.direction[edge])
            assert roles[place] == reference.edge_role(center, edges[edge], direction, edges)


def test_settings_without_edge_values_change_no_bit():
    graph, h = random_graph(3), continuous(1, 16, 4)
    plain, rich = (Sides.of(graph, settings) for settings in (SimilaritySettings(), EVERYTHING))
    assert rich.comparison(h).plain
    assert torch.equal(plain.structure(h), rich.structure(h))


def test_a_sample_of_the_edges_keeps_their_parts():
    graph = rich_graph(1, num_nodes=12, num_edges=40)
    local = items_of(graph, np.arange(12), EVERYTHING)
    local, sampled = local.local, local.sampled(3, generator=np.random.default_rng(0)).local
    for i in range(12):
        whole, some = slice(local.ptr[i], local.ptr[i + 1]), slice(sampled.ptr[i], sampled.ptr[i + 1])
        known = dict(zip(local.edge_ids[whole].tolist(), local.parts[whole].tolist()))
        assert [known[edge] for edge in sampled.edge_ids[some].tolist()] == sampled.parts[some].tolist()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_edges_with_terms_have_the_same_bits_whoever_else_is_compared(measure):
    graph = rich_graph(2, num_nodes=40, num_edges=90)
    config = dataclasses.replace(EVERYTHING, measure=measure)
    h = continuous(0, 40, 12) + 3
    _, terms = terms_of(graph, config, 12)
    together = Sides.of(graph, config, terms=terms).structure(h).detach()
    for node in range(0, 40, 7):
        alone = Sides.of(graph, config, [node], terms).structure(h).detach()
        assert torch.equal(alone[0], together[node])
