"""The comparison of explainers: the same nodes, the same number of edges, and figures that mean what they say."""

import numpy as np
import pytest
import torch
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from lab.baselines import baseline
from lab.baselines.gradients import EdgeGradients
from lab.comparison import NAMES, _first, compare, nodes_to_compare
from se_gnn import Graph
from se_gnn.errors import InputError
from se_gnn.settings import Settings


@pytest.fixture(scope="module")
def graph():
    """Two groups of 25 nodes, dense inside and sparse between: every node has a choice of edges."""
    draw = np.random.default_rng(0)
    labels = np.repeat([0, 1], 25)
    likely = np.where(labels[:, None] == labels, 0.25, 0.02)
    order = draw.permutation(50)
    return Graph.build(
        features=draw.normal(labels[:, None], 1, (50, 4)),
        edges=np.argwhere(np.triu(draw.random((50, 50)) < likely, 1)),
        labels=labels,
        train=order[:20],
        validation=order[20:30],
        test=order[30:],
    )


@pytest.fixture(scope="module")
def compared(graph):
    nodes = nodes_to_compare(graph, 2, top=4)
    asked = Settings.of("best", portfolio=False, members=1, epochs=2)
    return nodes, compare(graph, nodes, asked, top=4)


def test_every_explainer_answers_for_the_same_nodes(compared):
    nodes, found = compared
    assert [one.name for one in found] == list(NAMES.values())
    assert all(list(one.importance) == nodes.tolist() for one in found)


def test_all_name_edges_of_the_local_graph_and_no_more_than_asked(compared):
    _, found = compared
    assert all(1 <= len(_first(importance, 4)) <= 4 for one in found for importance in one.importance.values())


def test_an_explanation_that_is_read_off_is_the_same_with_every_seed(compared):
    repeated = {one.name: one.repeated for one in compared[1]}
    assert repeated[NAMES["se-gnn"]] == repeated[NAMES["cases"]] == repeated[NAMES["gradients"]] == 1
    assert repeated[NAMES["chance"]] < 1


def test_nodes_whose_local_graph_leaves_no_choice_are_refused(graph):
    with pytest.raises(InputError, match="name fewer"):
        nodes_to_compare(graph, 2, top=10**6)


def test_gradients_agree_with_finite_differences(graph):
    fitted = baseline("gcn", epochs=3, hidden_size=4).fit(graph, seed=0)
    network, node = fitted.network_.double(), int(graph.test[0])
    x, edge_index = fitted.x_.double(), fitted.edge_index_
    target = network(x, edge_index).argmax(dim=1)
    gradient = EdgeGradients()(network, x, edge_index, target=target, index=node).edge_mask
    steepest = int(gradient.argmax())

    def score(weight: float) -> float:
        weights = torch.ones(edge_index.shape[1], dtype=torch.float64)
        weights[steepest] = weight
        set_masks(network, torch.nn.Parameter(weights), edge_index, apply_sigmoid=False)
        found = network(x, edge_index)[node, target[node]].item()
        clear_masks(network)
        return found

    assert gradient[steepest] == pytest.approx(abs(score(1 + 1e-6) - score(1 - 1e-6)) / 2e-6, rel=1e-4)
