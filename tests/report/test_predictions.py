import json

import numpy as np
import pytest

from se_gnn.graph import Graph
from se_gnn.model import Prediction
from se_gnn.report.page import choose_nodes, find_misleading
from se_gnn.report.predictions import prediction_table


def graph(**changes):
    """Nodes 0 (class 0) and 1 (class 1) vote; 2 is for validation, 3 and 4 for the test, 5 has no known class."""
    values = {
        "features": np.zeros((6, 1)), "edges": [(0, 1)], "labels": [0, 1, 0, 1, 1, -1],
        "train": [0, 1], "validation": [2], "test": [3, 4],
    }  # fmt: skip
    return Graph.build(**{**values, **changes})


def prediction(share_of_0):
    """K = 2: labeled node 0 has this weight in each vote, labeled node 1 the rest."""
    shares = np.array([[p, 1 - p] for p in share_of_0], dtype=np.float32)
    neighbors = np.argsort(-shares, axis=1, kind="stable")
    weights = np.take_along_axis(shares, neighbors, axis=1)
    return votes(shares, neighbors, weights)


def votes(shares, neighbors, weights):
    return Prediction(
        nodes=np.arange(len(shares)), probabilities=shares, cases=neighbors, weights=weights, overall=weights,
        node=weights, structure=weights,
    )  # fmt: skip


SHARES = [0.5, 0.5, 0.75, 0.875, 0.25, 0.625]  # wrong: node 3 alone


def test_a_labeled_node_misleads_by_the_weight_it_gave_to_wrong_predictions():
    (found,) = find_misleading(prediction(SHARES), graph())
    assert (found.node, found.label, found.nodes) == (0, 0, 1)
    assert found.wrong == pytest.approx(0.875)
    assert found.given == pytest.approx(0.75 + 0.875 + 0.25)  # validation and test nodes
    assert found.share == pytest.approx(0.875 / 1.875)


def test_without_validation_and_test_nodes_nobody_misleads():
    assert find_misleading(prediction(SHARES), graph(validation=[], test=[])) == []


def test_the_table_holds_every_prediction_in_columns():
    columns = json.loads(prediction_table(prediction(SHARES), graph(), explained=np.array([4])).json)
    assert columns["name"] == ["0", "1", "2", "3", "4", "5"]
    assert columns["predicted"] == [0, 0, 0, 0, 1, 0]
    assert columns["probability"] == [5000, 5000, 7500, 8750, 7500, 6250]
    assert columns["label"] == [0, 1, 0, 1, 1, -1]
    assert [columns["parts"][part] for part in columns["part"]] == [
        "labeled", "labeled", "validation", "test", "test", "",
    ]  # fmt: skip
    assert columns["closest"] == [0, 0, 0, 0, 1, 0]
    assert columns["explained"] == [4]


def test_a_page_without_script_has_the_least_certain_rows():
    table = prediction_table(prediction(SHARES), graph(), explained=np.array([4]))
    assert table.first == (0, 1, 5, 2, 4, 3)
    assert json.loads(table.json) == table.columns


def test_no_name_ends_the_element_that_holds_the_columns():
    names = ["</script>", "<!--", "a", "b", "c", "d"]
    table = prediction_table(prediction(SHARES), graph(node_names=names), explained=np.array([]))
    assert "<" not in table.json
    assert json.loads(table.json)["name"] == names


def test_twenty_thousand_predictions_take_few_bytes():
    number, generator = 20_000, np.random.default_rng(0)
    table = Graph.build(
        features=np.zeros((number, 1)), edges=[(0, 1)], labels=generator.integers(0, 7, number),
        node_names=[f"node-{i}" for i in range(number)], train=np.arange(500),
    )  # fmt: skip
    weights = generator.dirichlet(np.ones(7), number).astype(np.float32)
    neighbors = generator.integers(0, 500, (number, 7))
    made = votes(weights, neighbors, weights)
    assert len(prediction_table(made, table, explained=np.array([])).json) < 32 * number


def test_the_choice_has_certain_uncertain_and_wrong_nodes_each_once():
    assert choose_nodes(prediction(SHARES), graph()).tolist() == [4, 3]
    assert choose_nodes(prediction(SHARES), graph(test=[])).tolist() == [2]
    assert choose_nodes(prediction(SHARES), graph(test=[], validation=[])).tolist() == [2, 4, 5, 3]
