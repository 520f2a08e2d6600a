from __future__ import annotations

import numpy as np

from se_gnn.model.metrics import by_class, confusion_matrix
from strategies import random_graph


def test_confusion_counts_rows_by_truth():
    counts = confusion_matrix(np.array([0, 0, 1, 2]), np.array([0, 2, 1, 2]), 4)
    assert counts.tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_recall_is_of_the_class_and_precision_of_those_predicted_so_and_none_without_nodes():
    graph = random_graph(1)
    first, second, *_ = by_class(graph, np.array([[3, 1], [0, 0]]))
    assert [first[name] for name in ("recall", "precision", "test", "predicted")] == [0.75, 1.0, 4, 3]
    assert (second["recall"], second["precision"]) == (None, 0.0)
    assert first["labeled"] == (graph.labels[graph.train] == 0).sum()
