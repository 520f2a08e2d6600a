"""PyG sees the model as it is: the same predictions, masks that change them, its own tools on top."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.explain import Explainer as PygExplainer
from torch_geometric.explain import GNNExplainer, fidelity, unfaithfulness

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.explain.pyg import SEGNNExplainer, SEGNNModule, dense_features, directed, mask_of_importance
from se_gnn.model import Model
from strategies import changed, models, random_graph, rich_graph, seeds, small_settings, untrained

MODEL = {"mode": "multiclass_classification", "task_level": "node", "return_type": "probs"}


def pyg_explainer(trained, algorithm=None, **settings):
    return PygExplainer(
        SEGNNModule(trained), algorithm or SEGNNExplainer(), explanation_type="model", model_config=MODEL,
        **{"edge_mask_type": "object", **settings},
    )  # fmt: skip


@pytest.fixture
def trained() -> Model:
    return untrained(random_graph(1, isolated=(15,)), small_settings(directions="both"))


def inputs(graph):
    return dense_features(graph), directed(graph.edges.ends)


@settings(max_examples=40)
@given(trained=models())
def test_the_module_predicts_what_the_model_predicts(trained):
    found = SEGNNModule(trained)(*inputs(trained.graph)).detach().numpy()
    np.testing.assert_allclose(found, trained.predict().probabilities, atol=1e-4)


@settings(max_examples=40)
@given(trained=models(), data=st.data())
def test_a_mask_of_zeros_and_ones_is_the_model_on_the_graph_without_those_edges(trained, data):
    graph = trained.graph
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=graph.num_edges, max_size=graph.num_edges)), dtype=bool)
    x, edge_index = inputs(graph)
    mask = torch.from_numpy(np.concatenate([kept, kept])).float()
    found = pyg_explainer(trained).get_masked_prediction(x, edge_index, edge_mask=mask)
    smaller = Model(trained.encoder, graph.with_edges(graph.edges.ends[kept]), trained.settings)
    np.testing.assert_allclose(found.numpy(), smaller.predict().probabilities, atol=1e-4)


RICH = {
    "read_edges": True, "weighted_steps": True, "aggregation": "pagerank", "steps": 2,
    "match_direction": True, "match_types": "own", "match_attributes": True, "weighted_mean": True,
}  # fmt: skip


@settings(max_examples=20)
@given(seed=seeds, directions=st.sampled_from(["one", "both"]), kinds=st.sampled_from(["any", "own", "learned"]))
def test_the_module_carries_what_edges_carry(seed, directions, kinds):
    changes = {**RICH, "directions": directions, "match_types": kinds}
    trained = untrained(rich_graph(seed), small_settings(**changes))
    found = SEGNNModule(trained)(*inputs(trained.graph)).detach().numpy()
    np.testing.assert_allclose(found, trained.predict().probabilities, atol=1e-4)


@settings(max_examples=20)
@given(seed=seeds, data=st.data())
def test_a_mask_on_edges_that_carry_something_is_the_model_without_those_pairs(seed, data):
    graph = rich_graph(seed)
    trained = untrained(graph, small_settings(**RICH))
    pairs, place = np.unique(graph.edges.ends, axis=0, return_inverse=True)
    chosen = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    kept = np.array(chosen, dtype=bool)[place.ravel()]
    mask = torch.from_numpy(np.concatenate([kept, kept])).float()
    found = pyg_explainer(trained).get_masked_prediction(*inputs(graph), edge_mask=mask)
    smaller = Model(trained.encoder, graph.with_edges(graph.edges.ends[kept]), trained.settings)
    np.testing.assert_allclose(found.numpy(), smaller.predict().probabilities, atol=1e-4)


def test_masks_of_edges_that_carry_something_have_gradients():
    trained = untrained(rich_graph(3), small_settings(**RICH))
    found = pyg_explainer(trained, GNNExplainer(epochs=2))(*inputs(trained.graph), index=5)
    assert found.edge_mask.shape == (2 * trained.graph.num_edges,)
    own = pyg_explainer(trained)(*inputs(trained.graph), index=5)
    assert own.edge_mask.max() == 1


def test_masked_attributes_change_the_prediction_as_other_attributes_do(trained):
    x, edge_index = inputs(trained.graph)
    mask = torch.zeros(16, 5)
    mask[:, 2] = 1
    found = pyg_explainer(trained).get_masked_prediction(x, edge_index, node_mask=mask)
    np.testing.assert_allclose(found, SEGNNModule(trained)(x * mask, edge_index).detach(), atol=1e-6)
    assert not torch.allclose(found, SEGNNModule(trained)(x, edge_index))


def test_order_direction_and_loops_of_the_edges_do_not_matter(trained):
    x, edge_index = inputs(trained.graph)
    module = SEGNNModule(trained)
    other = edge_index[:, torch.randperm(edge_index.shape[1], generator=torch.Generator().manual_seed(0))]
    other = torch.cat([other, torch.tensor([[3], [3]])], dim=1)
    torch.testing.assert_close(module(x, other), module(x, edge_index))
    torch.testing.assert_close(module(x, edge_index[:, : trained.graph.num_edges]), module(x, edge_index))


def test_an_explanation_for_pyg_is_valid_and_ranks_the_edges_by_importance(trained):
    explanation = explain(trained, 12)[0]
    converted = explanation.to_pyg(trained.graph)
    assert converted.validate(raise_on_error=True)
    assert converted.x.shape == (16, 5)
    assert converted.index.tolist() == [12]
    assert converted.target[12] == explanation.predicted
    directed_mask = {
        (int(u), int(v)): float(value) for (u, v), value in zip(converted.edge_index.T, converted.edge_mask)
    }
    ends = explanation.ends(explanation.edge_ids).tolist()
    local = {tuple(edge): value for edge, value in zip(ends, explanation.importance.tolist())}
    for (u, v), value in directed_mask.items():
        edge = (min(u, v), max(u, v))
        expected = np.mean([local[edge] >= other for other in local.values()]) if edge in local else 0
        assert value == pytest.approx(expected)
    assert converted.cases.tolist() == [one.node for one in explanation.votes]
    assert converted.node_mask[12, 0] == 1


def test_an_explanation_for_pyg_without_attributes_is_valid(trained):
    converted = explain(trained, 12)[0].to_pyg(trained.graph, features=False)
    assert converted.validate(raise_on_error=True)
    assert converted.num_nodes == 16
    assert "x" not in converted


def test_a_node_without_edges_has_an_empty_mask(trained):
    converted = explain(trained, 15)[0].to_pyg(trained.graph)
    assert converted.validate(raise_on_error=True)
    assert converted.edge_mask.sum() == 0
    assert converted.node_mask[15] == 1


def test_pyg_s_explainer_hands_out_our_explanation(trained):
    x, edge_index = inputs(trained.graph)
    found = pyg_explainer(trained, node_mask_type="object")(x, edge_index, index=12)
    assert found.validate(raise_on_error=True)
    own = explain(trained, 12)[0].to_pyg(trained.graph)
    torch.testing.assert_close(found.edge_mask, own.edge_mask)
    torch.testing.assert_close(found.node_mask, own.node_mask)
    assert found.target[12] == own.target[12]
    several = pyg_explainer(trained)(x, edge_index, index=torch.tensor([12, 13]))
    assert (several.edge_mask >= found.edge_mask).all()
    assert pyg_explainer(trained)(x, edge_index).edge_mask.max() == 1


def test_pyg_s_explainer_explains_the_graph_that_it_is_given(trained):
    graph = trained.graph
    smaller = graph.with_edges(graph.edges.ends[::2])
    x = dense_features(graph) * 2
    found = pyg_explainer(trained)(x, directed(smaller.edges.ends), index=12)
    other = Model(trained.encoder, changed(smaller, features=x.numpy()), trained.settings)
    expected = explain(other, 12)[0].to_pyg(other.graph)
    torch.testing.assert_close(found.edge_mask, expected.edge_mask)


def test_pyg_s_metrics_work_on_both_kinds_of_explanation(trained):
    explainer = pyg_explainer(trained, threshold_config=("topk_hard", 6))
    x, edge_index = inputs(trained.graph)
    for explanation in (explainer(x, edge_index, index=12), explain(trained, 12)[0].to_pyg(trained.graph)):
        assert all(0 <= value <= 1 for value in fidelity(explainer, explanation))
        assert np.isfinite(unfaithfulness(explainer, explanation))


def test_pyg_s_fidelity_of_an_explanation_of_all_edges_is_perfect(trained):
    explainer = pyg_explainer(trained)
    x, edge_index = inputs(trained.graph)
    explanation = explainer(x, edge_index, index=12)
    explanation.edge_mask = torch.ones_like(explanation.edge_mask)
    assert fidelity(explainer, explanation)[1] == 0


def test_pyg_s_own_explainers_work_on_the_model(trained):
    x, edge_index = inputs(trained.graph)
    torch.manual_seed(0)
    explanation = pyg_explainer(trained, GNNExplainer(epochs=3), node_mask_type="attributes")(x, edge_index, index=12)
    assert explanation.validate(raise_on_error=True)
    assert explanation.edge_mask.max() > 0


def test_pyg_draws_the_explanation(trained, tmp_path):
    subgraph = explain(trained, 12)[0].to_pyg(trained.graph).get_explanation_subgraph()
    subgraph.visualize_graph(str(tmp_path / "graph.png"), backend="networkx")
    assert (tmp_path / "graph.png").stat().st_size > 0


@pytest.mark.parametrize(
    "settings", [{"model_config": {**MODEL, "return_type": "raw"}}, {"node_mask_type": "attributes"}]
)
def test_settings_without_an_answer_are_refused(trained, settings):
    arguments = {"explanation_type": "model", "model_config": MODEL, "edge_mask_type": "object", **settings}
    with pytest.raises(ValueError, match="does not support the given explanation settings"):
        PygExplainer(SEGNNModule(trained), SEGNNExplainer(), **arguments)


def test_other_models_and_other_graphs_are_refused(trained):
    x, edge_index = inputs(trained.graph)
    with pytest.raises(InputError, match="model must be a SEGNNModule, got Linear"):
        SEGNNExplainer()(torch.nn.Linear(2, 2), x, edge_index, target=None)
    with pytest.raises(InputError, match=r"x must have the shape of the trained graph, \(16, 5\), got \(15, 5\)"):
        SEGNNModule(trained)(x[1:], edge_index)


def test_importance_that_is_not_known_has_no_mask():
    assert mask_of_importance(np.array([np.nan, 1.0], dtype=np.float32)).tolist() == [0, 1]
    assert mask_of_importance(np.empty(0, np.float32)).tolist() == []


def test_without_pyg_the_error_says_what_to_install(trained, monkeypatch):
    explanation = explain(trained, 12)[0]
    monkeypatch.setitem(sys.modules, "torch_geometric.explain", None)
    monkeypatch.delitem(sys.modules, "se_gnn.explain.pyg")  # as in a process that has not used PyG
    with pytest.raises(InputError, match=r"pip install 'se-gnn\[data\]'"):
        explanation.to_pyg(trained.graph)
