"""The numbers that describe the role of a node agree with NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from se_gnn.tables.structure import (
    CORE,
    EDGES,
    FEWEST,
    MEDIAN,
    MOST,
    NEIGHBORS,
    PAGERANK,
    TRIANGLES,
    structure_numbers,
)


@pytest.mark.parametrize("seed", range(3))
def test_roles_are_those_of_networkx(seed: int) -> None:
    graph = nx.gnm_random_graph(60, 140, seed=seed)
    numbers = structure_numbers(np.array(graph.edges), 60)
    degree = dict(graph.degree)
    assert numbers[EDGES].tolist() == [degree[node] for node in range(60)]
    assert numbers[TRIANGLES].tolist() == [nx.triangles(graph, node) for node in range(60)]
    assert numbers[CORE].tolist() == [nx.core_number(graph)[node] for node in range(60)]
    around = [sorted(degree[other] for other in graph[node]) for node in range(60)]
    assert numbers[FEWEST].tolist() == [min(found, default=0) for found in around]
    assert numbers[MOST].tolist() == [max(found, default=0) for found in around]
    assert numbers[MEDIAN].tolist() == [found[(len(found) - 1) // 2] if found else 0 for found in around]
    assert numbers[NEIGHBORS] == pytest.approx([np.mean(found) if found else 0 for found in around])


def test_pagerank_is_in_units_of_the_average() -> None:
    graph = nx.barabasi_albert_graph(80, 2, seed=1)
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-12)
    found = structure_numbers(np.array(graph.edges), 80)[PAGERANK]
    assert found == pytest.approx([80 * expected[node] for node in range(80)], rel=1e-3)


def test_a_node_without_edges_has_no_neighbors_to_count() -> None:
    numbers = structure_numbers(np.array([[0, 1]]), 3)
    assert {name: values[2] for name, values in numbers.items() if name != PAGERANK} == dict.fromkeys(
        (EDGES, TRIANGLES, CORE, FEWEST, MEDIAN, NEIGHBORS, MOST), 0.0
    )
