"""Precision@k of several methods: a line for each, a band where a spread is given."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from lab.metrics.precision_figure import precision_figure
from se_gnn.errors import InputError
from se_gnn.plot.style import figure_bytes


def test_precision_has_a_line_a_method_and_a_band_where_a_spread_is_given():
    figure = precision_figure({"SE-GNN": [0.9, 0.8], "$x$ <b>": [0.5, 0.4]}, spread={"SE-GNN": [0.1, 0.1]})
    (axes,) = figure.axes
    first, second = axes.get_lines()
    np.testing.assert_allclose(first.get_xdata(), [1, 2])
    np.testing.assert_allclose(first.get_ydata(), [90, 80])
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    assert len(axes.findobj(PolyCollection)) == 1
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["SE-GNN", r"\$x\$ <b>"]
    figure_bytes(figure, "pdf")


def test_many_k_do_not_crowd_the_axis():
    (axes,) = precision_figure({"a": np.linspace(1, 0.5, 50)}).axes
    assert len(axes.get_xticks()) <= 12


def test_methods_of_different_lengths_are_an_error():
    with pytest.raises(InputError, match="each of the 2 k, 'b' has 1"):
        precision_figure({"a": [1, 1], "b": [1]})
    with pytest.raises(InputError, match="at least one method"):
        precision_figure({})
