"""Cases for models that others trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.explain import Explainer
from torch_geometric.explain.metric import fidelity, unfaithfulness
from torch_geometric.nn import GAT, GCN, GCNConv, GraphSAGE, HeteroConv, SAGEConv
from torch_geometric.transforms import ToUndirected

from se_gnn import CaseExplainer, Explanation, Graph, SEGNNClassifier
from se_gnn.cases.pyg import CaseAlgorithm
from se_gnn.errors import InputError
from se_gnn.labels import Memory
from se_gnn.plot import explanation_figure
from se_gnn.report import report_html
from se_gnn.tables.pyg import to_hetero, to_pyg
from strategies import random_graph

GRAPH = random_graph(3, num_nodes=120, num_labeled=40, num_classes=3)
DATA = to_pyg(GRAPH)


def trained(kind=GCN, data=DATA, **options):
    torch.manual_seed(0)
    model = kind(data.num_features, 16, 2, 3, dropout=0.5, **options)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(30):
        optimizer.zero_grad()
        functional.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    return model.eval()


@pytest.fixture(scope="module")
def explainer():
    return CaseExplainer(trained(), DATA)


@pytest.mark.parametrize("kind", [GCN, GAT, GraphSAGE])
def test_the_vote_agrees_with_the_model(kind):
    model = trained(kind)
    explainer = CaseExplainer(model, DATA)
    with torch.no_grad():
        answers = model(DATA.x, DATA.edge_index).argmax(dim=1)
    assert torch.equal(explainer.outputs.classes, answers)
    assert explainer.agreement >= 0.8  # of a graph of random numbers
    test = explainer.graph_.test
    assert explainer.agreement == pytest.approx(explainer.agrees(test).mean())
    assert "agrees with the model" in explainer.choice


def test_the_model_is_not_changed_and_keeps_no_hooks():
    model = trained()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    CaseExplainer(model, DATA)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_cases_vote_for_the_answer_of_the_model(explainer):
    found = explainer.explain(5)
    answers = explainer.outputs.classes.numpy()
    assert all(one.label == answers[one.node] for one in found.votes)
    counted = np.bincount([one.label for one in found.votes], [one.weight for one in found.votes], minlength=3)
    np.testing.assert_allclose(counted + found.reserve / 3, found.probabilities, atol=1e-6)
    assert {one.node for one in found.votes} <= set(GRAPH.train.tolist())


def test_agreement_is_part_of_every_explanation(explainer):
    agrees = explainer.agrees()
    same, other = np.flatnonzero(agrees)[0], np.flatnonzero(~agrees)
    assert str(explainer.explain(int(same))).startswith("The model answers")
    if len(other):
        text = str(explainer.explain(int(other[0])))
        assert text.startswith("The vote of the cases and the model disagree")


def test_embeddings_are_the_input_of_the_last_layer():
    model = trained()
    with torch.no_grad():
        hidden = model.convs[0](DATA.x, DATA.edge_index).relu()
    explainer = CaseExplainer(model, DATA)
    torch.testing.assert_close(explainer.outputs.embeddings, hidden)
    named = CaseExplainer(model, DATA, embeddings="convs.1")
    assert torch.equal(named.outputs.embeddings, explainer.outputs.embeddings)
    given = CaseExplainer(model, DATA, embeddings=lambda model, data: data.x)
    assert torch.equal(given.outputs.embeddings, DATA.x)


def test_references_are_the_cases():
    chosen = np.arange(60, 100)
    explainer = CaseExplainer(trained(), DATA, references=chosen)
    assert explainer.graph_.train.tolist() == chosen.tolist()


def test_what_is_given_is_kept():
    explainer = CaseExplainer(trained(), DATA, settings={"num_nearest": 7, "sharpness": 1.0})
    settings = explainer.trained_.settings
    assert (settings.vote.num_nearest, settings.objective.sharpness) == (7, 1.0)
    with pytest.raises(InputError, match="epochs = 3 would have no effect: a CaseExplainer trains nothing"):
        CaseExplainer(trained(), DATA, settings={"epochs": 3})


def test_a_saved_explainer_gives_the_same_answers_and_knows_its_model(explainer, tmp_path):
    explainer.save(tmp_path / "cases")
    loaded = CaseExplainer.load(tmp_path / "cases")
    assert np.array_equal(loaded.predict_proba(), explainer.predict_proba())
    assert loaded.explain(3).to_json() == explainer.explain(3).to_json()
    CaseExplainer.load(tmp_path / "cases", model=trained(), graph=DATA)
    with pytest.raises(InputError, match="other outputs"):
        CaseExplainer.load(tmp_path / "cases", model=trained(GAT), graph=DATA)
    with pytest.raises(InputError, match="need the explained model itself"):
        loaded.with_graph(DATA)
    with pytest.raises(InputError, match=r"use CaseExplainer.load|CaseExplainer"):
        SEGNNClassifier.load(tmp_path / "cases")


def test_another_graph_needs_nothing_but_the_model(explainer):
    more = random_graph(4, num_nodes=90, num_labeled=40, num_classes=3)
    other = explainer.with_graph(to_pyg(more))
    assert other.predict_proba().shape == (90, 3)
    assert other.trained_.settings == explainer.trained_.settings


def test_audits_and_certificates_work(explainer):
    assert len(explainer.audit()) == len(GRAPH.train)
    assert len(explainer.certify([1, 2, 3])) == 3
    assert explainer.predict_sets([1, 2]).members.shape == (2, 3)


def test_an_explanation_of_a_model_has_json_masks_a_picture_and_a_page(explainer):
    found = explainer.explain(5)
    assert Explanation.from_json(found.to_json()) == found
    masks = found.to_pyg(explainer.graph_)
    assert masks.edge_mask.shape == (2 * explainer.graph_.num_edges,)
    assert int(masks.target[5]) == found.predicted
    assert explanation_figure(found).axes
    page = report_html(explainer.trained_, np.array([5]))
    assert "agrees" in page or "disagree" in page
    assert explainer.novelty([5]).score.shape == (1,)


def test_the_seed_of_an_explainer_is_kept_for_another_graph():
    explainer = CaseExplainer(trained(), DATA, seed=7)
    assert explainer.with_graph(DATA).seed == 7


def test_cases_can_be_removed_but_not_relabeled():
    explainer = CaseExplainer(trained(), DATA, settings={"num_nearest": 7})
    node = int(explainer.graph_.train[0])
    memory = Memory(explainer.trained_)
    assert len(memory.remove([node], dry_run=True).edited.graph.train) == len(explainer.graph_.train) - 1
    answer = explainer.graph_.class_names[int(explainer.outputs.classes[node])]
    other = next(name for name in explainer.graph_.class_names if name != answer)
    with pytest.raises(InputError, match="cases vote for the answers of the explained model"):
        memory.relabel({node: other})


class Wrong(nn.Module):
    """A model with something that is wrong."""

    def __init__(self, wrong):
        super().__init__()
        self.wrong, self.conv = wrong, GCNConv(DATA.num_features, 3)

    def forward(self, x, edge_index):
        out = self.conv(x, edge_index)
        return {
            "random": functional.dropout(out, 0.5),
            "pooled": out.mean(dim=0, keepdim=True),
            "few": out[:10],
            "nan": out * float("nan"),
            "columns": out[:, :2],
        }[self.wrong]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("random", "must give the same answer twice"),
        ("pooled", "a row for each of the 120 nodes"),
        ("few", "a row for each of the 120 nodes"),
        ("nan", "must be finite"),
        ("columns", "a column for each of the 3 classes"),
    ],
)
def test_models_that_cannot_be_explained_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        CaseExplainer(Wrong(wrong).eval(), DATA)


def test_a_model_on_another_device_is_refused():
    with pytest.raises(InputError, match=r"must be on one device, they are on cpu, meta: move one with \.to"):
        CaseExplainer(trained().to("meta"), DATA)


def test_a_model_in_training_mode_is_refused():
    with pytest.raises(InputError, match=r"call model\.eval"):
        CaseExplainer(trained().train(), DATA)


def test_it_is_an_algorithm_of_pyg():
    model = trained()
    explainer = Explainer(
        model,
        algorithm=CaseAlgorithm(DATA),
        explanation_type="model",
        edge_mask_type="object",
        node_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    found = explainer(DATA.x, DATA.edge_index, index=5)
    assert found.edge_mask.shape == (DATA.num_edges,)
    assert 0 <= float(found.edge_mask.min()) <= float(found.edge_mask.max()) <= 1
    assert found.cases.node == 5
    assert all(0 <= value <= 1 for value in fidelity(explainer, found))
    assert 0 <= unfaithfulness(explainer, found) <= 1


class Hetero(nn.Module):
    """A model of several node types as PyG's examples write one."""

    def __init__(self, data, target):
        super().__init__()
        self.target = target
        self.conv = HeteroConv({kind: SAGEConv((-1, -1), 16) for kind in data.edge_types})
        self.head = nn.Linear(16, 3)

    def forward(self, x_dict, edge_index_dict):
        return self.head(self.conv(x_dict, edge_index_dict)[self.target].relu())


def papers():
    """Papers with topics, and authors who have none."""
    generator = np.random.default_rng(5)
    labels = np.concatenate([generator.integers(0, 3, 60), np.full(30, -1)])
    features = np.zeros((90, 8), np.float32)
    features[:60, :5] = generator.random((60, 5))
    features[np.arange(60), labels[:60]] += 1
    features[60:, 5:] = generator.random((30, 3))
    return Graph.build(
        features=features,
        edges=np.stack([np.repeat(np.arange(60), 2), 60 + generator.integers(0, 30, 120)], axis=1),
        labels=labels,
        node_types=np.repeat([0, 1], [60, 30]),
        node_type_names=("paper", "author"),
        target_type="paper",
        train=np.arange(20),
        validation=np.arange(20, 40),
        test=np.arange(40, 60),
    )


def test_several_node_types():
    graph = papers()
    data = ToUndirected()(to_hetero(graph))
    model = Hetero(data, graph.target.node_type).eval()
    with torch.no_grad():
        model(data.x_dict, data.edge_index_dict)
    explainer = CaseExplainer(model, data)
    node = int(explainer.graph_.test[0])
    assert explainer.explain(node).votes
    assert explainer.agreement > 0.5
