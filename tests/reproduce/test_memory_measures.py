import numpy as np

from labels.conftest import block_graph
from reproduce.measures.left_out import without_class
from reproduce.measures.suggest import one_of_each_class


def test_a_class_that_is_left_out_has_no_label_anywhere():
    graph = block_graph()
    rest = without_class(graph, 1)
    assert rest.class_names == ("red", "blue")
    assert (rest.labels[graph.labels == 1] == -1).all()
    assert np.array_equal(rest.labels[graph.labels == 2], np.ones((graph.labels == 2).sum()))
    assert np.array_equal(rest.train, graph.train[graph.labels[graph.train] != 1])


def test_a_simulation_begins_with_one_node_of_each_class_from_the_pool():
    graph = block_graph()
    drawn = one_of_each_class(graph, graph.test, np.random.default_rng(0))
    assert graph.labels[drawn].tolist() != []
    assert sorted(graph.labels[drawn].tolist()) == [0, 1, 2]
    assert set(drawn) <= set(graph.test)
