from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.explain.attributes import mentioning
from se_gnn.graph import local_graphs
from se_gnn.plot import explanation_figure, save_figure
from se_gnn.plot.style import figure_bytes
from strategies import ISOLATED, UNLABELED

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def hostile(hub):
    """A figure that shows every hostile name at least once."""
    graph = hub.graph
    explanation = explain(hub, 1)[0]
    local = local_graphs(graph, np.arange(1, 9), 2)
    explanation = mentioning(explanation, graph, np.unique(local.edge_ids).astype(np.int64))
    named = [
        replace(explanation.votes[node % 3], node=node, edge_ids=local.row(node - 1).astype(np.int64), matches=None)
        for node in range(1, 9)
    ]
    return explanation_figure(replace(explanation, votes=tuple(named)))


@pytest.fixture(scope="module")
def lonely(hub):
    return explanation_figure(explain(hub, ISOLATED, k=1)[0])


@pytest.fixture(scope="module")
def twins(hub):
    """Two figures of the same node."""
    return [explanation_figure(explain(hub, UNLABELED, k=2)[0]) for _ in range(2)]


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_the_same_explanation_gives_the_same_bytes(twins, kind, tmp_path):
    one, two = tmp_path / f"one.{kind}", tmp_path / f"two.{kind}"
    save_figure(twins[0], one)
    save_figure(twins[1], two)
    content = one.read_bytes()
    assert content == two.read_bytes()
    assert content.startswith(BEGINNINGS[kind])
    assert not re.search(rb"CreationDate|<dc:date>", content)


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_no_name_can_break_a_picture(hostile, kind):
    # warnings are errors here: a glyph that the font does not have must not raise one
    assert figure_bytes(hostile, kind, dots_per_inch=40)


def test_markup_in_a_name_is_not_markup_in_the_picture(hostile):
    content = figure_bytes(hostile, "svg")
    assert b"<script" not in content
    assert b"<b>" not in content


def test_a_file_that_is_there_is_replaced_and_nothing_else_is_left(lonely, tmp_path):
    path = tmp_path / "new" / "picture.PNG"
    save_figure(lonely, path)
    save_figure(lonely, str(path))
    assert [file.name for file in path.parent.iterdir()] == ["picture.PNG"]


@pytest.mark.parametrize(("name", "said"), [("picture.jpg", r"\.jpg"), ("picture", "no ending")])
def test_an_unknown_ending_is_refused(lonely, tmp_path, name, said):
    with pytest.raises(InputError, match=rf"must end in \.png, \.svg or \.pdf, got {said}"):
        save_figure(lonely, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_a_clear_error(lonely, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot write to"):
        save_figure(lonely, tmp_path / "file" / "picture.png")
