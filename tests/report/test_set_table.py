import pytest

from labels.conftest import block_graph, block_model
from se_gnn.labels.sets import prediction_sets
from se_gnn.report import report_html
from se_gnn.report.card import set_table


@pytest.fixture(scope="module")
def graph():
    return block_graph(220)


def test_the_report_has_the_sets_of_a_model_with_calibration_nodes(graph):
    trained = block_model(graph)
    found = set_table(trained, trained.graph.test)
    assert [row.coverage for row in found] == [0.8, 0.9, 0.95]
    sets = prediction_sets(trained, graph.test, coverage=0.9)
    assert found[1].covered(graph.labels) == sets.covered(graph.labels)
    page = report_html(trained, [int(graph.test[0])], k=1)
    assert "Prediction sets</h3>" in page
    assert f"{sets.mean_size:.2f}" in page


def test_without_enough_calibration_nodes_the_report_is_silent_about_sets(graph):
    few = graph.with_split(
        train=graph.train, validation=graph.validation, test=graph.test, calibration=graph.calibration[:3]
    )
    assert set_table(block_model(few), few.test) == []
    page = report_html(block_model(few), [int(graph.test[0])], k=1)
    assert "Prediction sets</h3>" not in page
