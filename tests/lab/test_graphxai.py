"""GraphXAI's graphs and metrics; most of it needs a clone of GraphXAI, named by the environment variable GRAPHXAI."""

import copy
import importlib.util
import os
import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lab.graphxai import METRICS, load_graphxai
from lab.graphxai.comparison import HOPS, _measured, named, prepare
from lab.graphxai.load import FOLDER, WHERE, quiet
from se_gnn.errors import InputError

there = FOLDER in os.environ or importlib.util.find_spec("graphxai") is not None
needs_graphxai = pytest.mark.skipif(not there, reason=f"needs a clone of {WHERE}, named by {FOLDER}")


class _Explanation(SimpleNamespace):
    def set_enclosing_subgraph(self, local):
        self.local = local


THEIRS = SimpleNamespace(utils=SimpleNamespace(Explanation=_Explanation))


def test_without_graphxai_the_error_says_where_to_clone_it_from(monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=f"git clone {WHERE}, and set {FOLDER} to the folder"):
        load_graphxai()


def test_an_explanation_names_a_quarter_of_the_local_edges_and_the_nodes_on_them():
    path = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]])
    edges = torch.cat([path, path.flip(0)], dim=1)
    mask = torch.tensor([0.9, 0.2, 0.1, 0.3, 1.0, 0.5]).repeat(2)
    found = named(THEIRS, 0, mask, edges)
    assert found.local[0].tolist() == list(range(HOPS + 1))  # edges farther away are not counted, however important
    assert found.edge_imp.nonzero().flatten().tolist() in ([0], [3])  # one of the two directions of the first edge
    assert found.node_imp.tolist() == pytest.approx([0.9, 0.9, 0, 0])


def test_global_generators_are_left_as_they_were_and_a_seed_repeats_them():
    def states():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002

    before = states()
    drawn = []
    for _ in range(2):
        with quiet(1, 2):
            drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))  # noqa: NPY002
    assert drawn[0] == drawn[1]
    assert states() == before


@needs_graphxai
def test_our_explanations_are_measured_and_the_same_seed_gives_the_same_numbers():
    setting = prepare("base", 0)
    assert setting.accuracy["se-gnn"] > 0.6
    nodes = setting.graph.test[:2]
    found = _measured(setting, "se-gnn", nodes)
    assert list(found) == list(METRICS)
    assert 0 < found["accuracy"] <= 1
    assert found == _measured(setting, "se-gnn", nodes)


@needs_graphxai
def test_what_the_page_says_about_graphxai_is_so():
    theirs, setting = load_graphxai(), prepare("base", 0)
    shapes = setting.shapes
    assert (shapes.fixed_train_mask & shapes.fixed_test_mask).any()  # its fixed split overlaps
    other = copy.deepcopy(setting.network.network_)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1.0)
    masks = []
    for network in (setting.network.network_, other):
        with quiet(0):
            explainer = theirs.explainers.GNNExplainer(network)
            masks.append(explainer.get_explanation_node(5, shapes.graph.x, shapes.graph.edge_index).edge_imp.tolist())
    assert masks[0] == masks[1]  # its GNNExplainer does not depend on the network


@needs_graphxai
def test_graphxai_is_found_where_the_variable_says():
    theirs = load_graphxai()
    folder = os.environ.get(FOLDER)
    assert folder is None or folder in sys.path
    assert callable(theirs.metrics.graph_exp_acc)
