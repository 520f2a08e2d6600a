"""The tables of GraphXAI's metrics come from result files alone."""

from reproduce import graphxai
from reproduce.job import Job
from reproduce.store import Result, Store


def test_the_page_has_a_table_for_each_sort_of_graph_that_was_run(tmp_path):
    store, series = Store(tmp_path), graphxai.on_graph("base")
    assert "Not run yet" in graphxai.render(store, tmp_path)
    measures = {"test_accuracy/se-gnn": 0.8, "test_accuracy/gin": 0.7, "se-gnn/accuracy": 0.5}
    store.put(Job(series, 0, "graphxai"), Result(0, {**measures, "gnn-explainer/accuracy": None}, 1, {}))
    text = graphxai.render(store, tmp_path)
    assert "| SE-GNN, by itself | 0.50 ± 0.00 | - |" in text
    assert "| GNNExplainer of PyG | - |" in text
    assert "**Unfair**" not in text
