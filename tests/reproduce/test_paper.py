"""The printed numbers: each read again off the print, as a checksum of its row."""

import pytest

from reproduce.methods import CLASSIFIERS, NEAREST
from reproduce.paper import printed


@pytest.mark.parametrize(
    ("dataset", "means", "deviations"),
    [
        ("cora", [80.8, 80.5, 82.4, 79.1, 53.9, 78.8, 78.8, 80.4], [1.1, 0.8, 0.7, 0.1, 1.8, 1.2, 0.3, 0.3]),
        ("citeseer", [71.9, 72.5, 73.6, 73.3, 61.6, 71.4, 69.2, 73.8], [1.0, 0.8, 0.2, 0.7, 1.6, 0.8, 1.2, 0.6]),
        ("pubmed", [78.4, 78.9, 79.2, 79.4, 73.2, 77.4, 78.8, 80.0], [0.4, 0.2, 0.4, 0.4, 0.2, 0.2, 0.3, 0.2]),
    ],
)
def test_table_2_row_by_row(dataset, means, deviations):
    assert [printed("table_2")[dataset][method] for method in CLASSIFIERS] == [list(p) for p in zip(means, deviations)]


def test_table_3_has_the_ratings_of_every_method():
    assert [printed("table_3")["citeseer"][method] for method in NEAREST] == [0.030, 0.311, 0.326, 0.733]


def test_mlp_k_has_no_edge_accuracy():
    assert set(printed("table_4")["accuracy"]) - set(printed("table_4")["edge_accuracy"]) == {"mlp-k"}


def test_figures_print_no_numbers():
    for figure in ("figure_3", "figure_4", "figure_5", "figure_6", "figure_7"):
        assert printed(figure)["not_printed"]
