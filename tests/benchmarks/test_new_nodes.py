import numpy as np

from benchmarks.cases import CASES
from benchmarks.workloads.new_nodes import parted
from labels.conftest import block_graph
from se_gnn.graph.extend import extended_graph


def test_the_parts_of_a_graph_are_the_graph_again_in_another_order():
    graph = block_graph()
    graph = graph.with_split(train=graph.train, validation=graph.validation, test=graph.test)
    known, new = parted(graph, 30, seed=0)
    again = extended_graph(known, new)
    place = [again.node_id(name) for name in graph.node_names]
    edges = {frozenset(pair) for pair in np.array(place)[graph.edges.ends].tolist()}
    assert {frozenset(pair) for pair in again.edges.ends.tolist()} == edges
    assert np.array_equal(again.features[place], graph.features)
    assert np.array_equal(np.sort(np.array(place)[graph.train]), again.train)


def test_the_case_names_a_workload_that_is_there():
    (case,) = [case for case in CASES if case.name == "new-nodes"]
    assert callable(case.load_workload())
