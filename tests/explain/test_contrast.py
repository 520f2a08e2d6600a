"""Why this class and not the other: the nearest case of each, what tells them apart, and exactly what it would take."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.explain import Abstention, Explanation, explain
from se_gnn.explain.text import contrast_edges, contrast_values, contrast_words
from se_gnn.model import SEGNN, Model
from se_gnn.plot.figure import title_of
from se_gnn.ranking import nearest_per_class, tally
from se_gnn.settings import Settings
from se_gnn.tables import ImportSettings, read_tables
from strategies import models, random_graph, small_settings, untrained

SETTINGS = Settings.of("paper", num_nearest=4, hidden_size=8, match_direction=True, match_types="own").resolve()


@settings(max_examples=40)
@given(trained=models(min_nodes=5), data=st.data())
def test_the_two_cases_are_the_nearest_of_the_predicted_class_and_of_any_other(trained, data):
    node = data.draw(st.integers(0, trained.graph.num_nodes - 1))
    explanation = explain(trained, node, k=1)[0]
    nearest = nearest_per_class(trained.rank(np.array([node])))
    others = np.delete(nearest.similarity[0], explanation.predicted)
    if explanation.contrast is None:
        assert not np.isfinite(others).any()
        return
    chosen, other = explanation.contrast.chosen, explanation.contrast.other
    assert (chosen.node, chosen.label) == (nearest.nodes[0, explanation.predicted], explanation.predicted)
    assert other.similarity == pytest.approx(others.max())
    assert other.node in nearest.nodes[0]


def predicted_if(trained, node, case, similarity):
    """The class that is predicted if one case alone had another similarity."""
    (ranking,) = trained.rank(np.array([node]))
    overall = ranking.overall[0].clone()
    overall[torch.from_numpy(ranking.nodes[0] == case)] = similarity
    order = torch.sort(overall, descending=True, stable=True).indices[: ranking.num_nearest]
    positions = ranking.positions[:, order]
    return int(tally(ranking.votes(overall[None, order], positions), positions, ranking.answers).argmax())


@settings(max_examples=40)
@given(trained=models(min_nodes=5), data=st.data())
def test_the_similarity_that_it_takes_is_exact(trained, data):
    node = data.draw(st.integers(0, trained.graph.num_nodes - 1))
    found = (explanation := explain(trained, node)[0]).contrast
    if found is None:
        return
    step = 1e-3 * max(1.0, abs(found.needed))
    assert predicted_if(trained, node, found.other.node, found.needed + step) == found.other.label
    if found.needed - step > found.other.similarity:
        assert predicted_if(trained, node, found.other.node, found.needed - step) == explanation.predicted


@pytest.fixture(scope="module")
def bank() -> Model:
    """Accounts of two towns; fraud is in one of them, and fraudsters pay each other."""
    count = 40
    fraud = np.arange(count) % 2 == 1
    nodes = pd.DataFrame(
        {
            "account": [f"K{i}" for i in range(count)],
            "town": np.where(fraud, "Oslo", "Bern"),
            "balance": np.where(fraud, 10.0, 90.0) + np.arange(count) % 7,
            "state": np.where(fraud, "fraud", "ok"),
        }
    )
    pairs = [(i, (i + 2) % count) for i in range(count)] + [(i, (i + 4) % count) for i in range(count)]
    edges = pd.DataFrame(pairs, columns=["source", "target"]).map("K{}".format)
    edges["amount"] = np.arange(len(edges)) % 9 + 1.0
    edges["type"] = np.where(np.arange(len(edges)) % 3 == 0, "refunds", "pays")
    asked = ImportSettings(id="account", label="state", directed=True, edge_type="type")
    graph = read_tables(nodes, edges, asked).graph
    return Model(SEGNN.for_graph(graph, SETTINGS).eval(), graph, SETTINGS)


def test_columns_tell_the_two_cases_apart_in_the_values_of_the_table(bank):
    rows = {row.name: row for row in contrast_values(explain(bank, 0)[0])}
    assert rows["town"].value == rows["town"].chosen != rows["town"].other or not rows["town"].for_prediction


def test_an_edge_that_ends_at_the_node_itself_is_no_evidence_about_it(bank):
    for explanation in explain(bank):
        for row in contrast_edges(explanation):
            for match in (row.chosen, row.other):
                assert match is None or explanation.node not in match.ends
        words = explanation.sentence()
        if "Best matched: " in words:
            matched = words.split("Best matched: ")[1].split(" with ")[1]
            assert explanation.name not in matched.split(" (")[0].split()


@pytest.mark.parametrize("name", ["bank", "plain", "lonely", "labeled"])
def test_an_explanation_and_all_that_is_made_of_it_survive_json(name, bank):
    graph = random_graph(1, isolated=(2,), feature_names=tuple("abcde"))
    trained = bank if name == "bank" else untrained(graph, small_settings(directions="both"))
    explanation = explain(trained, {"bank": 0, "plain": 12, "lonely": 2, "labeled": 3}[name], attributes=True)[0]
    read = Explanation.from_json(explanation.to_json())
    assert read == explanation
    assert read.sentence() == explanation.sentence()
    assert read._repr_html_() == explanation._repr_html_()
    assert contrast_words(read) == contrast_words(explanation)
    assert read.to_pandas().equals(explanation.to_pandas())
    assert dict(read.to_networkx().nodes) == dict(explanation.to_networkx().nodes)
    np.testing.assert_array_equal(read.importance, explanation.importance)


def test_a_node_that_is_too_unlike_anything_known_has_no_answer_anywhere(bank):
    explanation = explain(bank, 0)[0].abstaining(Abstention(novelty=0.9, threshold=0.7, false_alarms=0.05))
    assert "too unlike anything known" in explanation.sentence()
    everything = explanation.to_text() + explanation._repr_html_() + repr(explanation) + title_of(explanation)
    for answer in ("predicted '", "predicted ‘", "Probability of each class", "adds its share", "Why '"):
        assert answer not in everything
    assert "no answer" in repr(explanation)
    assert Explanation.from_json(explanation.to_json()) == explanation
    assert dataclasses.asdict(explanation.answer)["abstained"]["novelty"] == 0.9
