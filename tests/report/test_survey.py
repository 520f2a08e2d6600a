import numpy as np
import pytest

from se_gnn.graph import AttributedGraph
from se_gnn.model import Prediction
from se_gnn.report.choice import choose_nodes
from se_gnn.report.survey import find_misleading, survey


def graph(**changes):
    """Nodes 0 (class 0) and 1 (class 1) vote; 2 is for validation, 3 and 4 for the test, 5 has no known class."""
    values = {
        "features": np.zeros((6, 1)), "edges": [(0, 1)], "labels": [0, 1, 0, 1, 1, -1],
        "train": [0, 1], "val": [2], "test": [3, 4],
    }  # fmt: skip
    return AttributedGraph.build(**{**values, **changes})


def prediction(share_of_0):
    """K = 2: labeled node 0 has this weight in each vote, labeled node 1 the rest."""
    shares = np.array([[p, 1 - p] for p in share_of_0], dtype=np.float32)
    nodes = np.arange(len(shares))
    neighbors = np.argsort(-shares, axis=1, kind="stable")
    weights = np.take_along_axis(shares, neighbors, axis=1)
    return Prediction(nodes, shares, neighbors, weights, weights, weights, weights)


SHARES = [0.5, 0.5, 0.75, 0.875, 0.25, 0.625]  # wrong: node 3 alone


def test_a_labeled_node_misleads_by_the_weight_it_gave_to_wrong_predictions():
    (found,) = find_misleading(prediction(SHARES), graph())
    assert (found.node, found.label, found.nodes) == (0, 0, 1)
    assert found.wrong == pytest.approx(0.875)
    assert found.given == pytest.approx(0.75 + 0.875 + 0.25)  # validation and test nodes
    assert found.share == pytest.approx(0.875 / 1.875)


def test_certain_and_uncertain_are_of_nodes_that_do_not_vote_and_none_is_both():
    found = survey(prediction(SHARES), graph())
    assert found.compared == 4
    assert [case.node for case in found.most_certain] == [3, 2]
    assert [case.node for case in found.least_certain] == [5, 4]
    assert [(case.node, case.predicted, case.label) for case in found.mistakes] == [(3, 0, 1)]
    assert [(voter.node, voter.weight) for voter in found.mistakes[0].voters] == [(0, 0.875), (1, 0.125)]


def test_without_validation_and_test_nodes_nobody_misleads():
    found = survey(prediction(SHARES), graph(val=[], test=[]))
    assert found.misleading == ()
    assert found.mistakes == ()
    assert found.num_mistakes == 0


def test_the_choice_has_certain_uncertain_and_wrong_nodes_each_once():
    assert choose_nodes(prediction(SHARES), graph()).tolist() == [4, 3]
    assert choose_nodes(prediction(SHARES), graph(test=[])).tolist() == [2]
    assert choose_nodes(prediction(SHARES), graph(test=[], val=[])).tolist() == [2, 4, 5, 3]
