"""Numbers by cases: what is promised of a prediction, whatever the graph is."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import numpy as np
import pytest
import torch

from se_gnn import Explanation, Graph, SEGNNRegressor
from se_gnn.errors import InputError
from se_gnn.explain import Abstention, explain
from se_gnn.explain.json_format import schema
from se_gnn.graph import Numbers
from se_gnn.graph.rows import as_rows
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.labels import certify
from se_gnn.labels.sets import prediction_sets
from se_gnn.model.numbers import calibrate_intervals, conformal_quantile, predict_numbers, prediction_intervals
from se_gnn.ranking import without_each
from se_gnn.report import report_html
from se_gnn.report.templating import page_environment
from se_gnn.settings import Settings
from se_gnn.tables import read_tables
from se_gnn.training import fit

QUICK = {"epochs": 12, "members": 2, "num_nearest": 8}


def ring(num_nodes=160, seed=0, *, skewed=False, noise=0.1):
    """Nodes on a ring; the number depends on a node's own attribute and on where it stands."""
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((num_nodes, 3)).astype(np.float32)
    around = np.sin(np.arange(num_nodes) * 2 * np.pi / num_nodes * 3)
    values = features[:, 0] + 2 * around + noise * generator.standard_normal(num_nodes)
    values = 1000 * np.exp(values) if skewed else values
    order = generator.permutation(num_nodes)
    edges = [(i, (i + step) % num_nodes) for i in range(num_nodes) for step in (1, 2)]
    parts = {"train": order[: num_nodes // 2], "validation": order[num_nodes // 2 : 3 * num_nodes // 4]}
    return Graph.build(
        features=features, edges=edges, values=values, value_name="height", unit="m", name="ring",
        test=order[3 * num_nodes // 4 :], **parts,
    )  # fmt: skip


@pytest.fixture(scope="module")
def regressor():
    return SEGNNRegressor(**QUICK, device="cpu").fit(ring())


def test_contributions_add_up_to_the_prediction(regressor):
    found = regressor.predict_votes()
    assert np.array_equal(found.values, torch.from_numpy(found.contributions).sum(dim=1).numpy())
    known = regressor.graph_.values[found.cases]
    assert np.allclose(found.weights * known, found.contributions, rtol=1e-6, atol=1e-9)
    assert np.allclose(found.weights.sum(axis=1), 1, atol=1e-6)


def test_a_prediction_lies_between_the_values_of_its_cases(regressor):
    found = regressor.predict_votes()
    known = regressor.graph_.values[found.cases]
    assert (found.values >= known.min(axis=1) - 1e-9).all()
    assert (found.values <= known.max(axis=1) + 1e-9).all()


def test_it_learns_what_the_mean_cannot_say(regressor):
    assert regressor.score() > 0.6
    assert regressor.evaluate()["test"]["r2"] == pytest.approx(regressor.score())


@pytest.mark.parametrize("change", [1e4, -3.0])
def test_the_prediction_of_a_labeled_node_does_not_depend_on_its_own_value(regressor, change):
    graph = regressor.graph_
    before = regressor.predict()
    assert regressor.trained_.encoder.reads_target
    for node in graph.train[:4].tolist():
        values = graph.values.copy()
        values[node] += change
        other = regressor.with_graph(graph.replace(target=graph.numbers.with_values(values)))
        assert other.predict([node])[0] == before[node]
        assert (other.predict() != before).any()  # others read it, or it votes for them


def test_a_labeled_node_has_the_same_answer_alone_and_among_others(regressor):
    graph = regressor.graph_
    mixed = np.concatenate([graph.train[:9], graph.test[:5], graph.train[20:25]])
    assert np.array_equal(regressor.predict(mixed), regressor.predict()[mixed])
    assert np.array_equal(regressor.predict([int(graph.train[3])]), regressor.predict()[graph.train[3:4]])


def test_a_stated_removal_has_the_stated_effect(regressor):
    trained = regressor.trained_
    (ranking,) = trained.rank(trained.graph.test[:6], depth=None)
    stated = without_each(ranking)[:, :, 0]
    for rank in range(ranking.num_nearest):
        kept = torch.from_numpy(np.delete(np.arange(ranking.depth), rank)).expand(len(ranking), -1)
        rest = dataclasses.replace(ranking, nearest=ranking.nearest.columns(kept), num_cases=ranking.num_cases - 1)
        assert torch.equal(rest.numbers, stated[:, rank])


def test_a_saved_model_gives_the_same_answers(regressor, tmp_path):
    regressor.save(tmp_path)
    again = SEGNNRegressor.load(tmp_path, device="cpu")
    assert np.array_equal(again.predict(), regressor.predict())
    assert again.graph_.numbers.unit == "m"


def test_the_same_seed_gives_the_same_bits():
    once, twice = (SEGNNRegressor(epochs=3, members=1, seed=5, device="cpu").fit(ring()).predict() for _ in range(2))
    assert np.array_equal(once, twice)


def test_a_new_node_is_answered_as_if_it_had_been_there_from_the_start(regressor):
    graph = regressor.graph_
    new = np.array([[0.5, 0.0, 0.0]], np.float32)
    found = regressor.extend(new, [[160, 3], [160, 4]])
    edges = np.concatenate([graph.edges.ends[:], [[3, 160], [4, 160]]])
    whole = Graph.build(
        features=np.concatenate([graph.features, new]), edges=edges, values=[*graph.values, np.nan],
        value_name="height", train=graph.train, validation=graph.validation, test=graph.test,
    )  # fmt: skip
    assert found.prediction.values.tolist() == regressor.with_graph(whole).predict([160]).tolist()


def test_intervals_hold_about_as_often_as_they_promise():
    inside = []
    for seed in range(3):
        graph = ring(800, seed, noise=0.5)
        trained = fit(graph, Settings.of("best", epochs=8, members=1, num_nearest=10), calibration=0.6, seed=seed)
        found = prediction_intervals(trained, graph.test, coverage=0.8)
        assert found.guaranteed
        inside.append(found.holds(graph.values).mean())
    assert 0.74 < np.mean(inside) < 0.87


def test_an_interval_is_wider_where_the_cases_disagree(regressor):
    found, intervals = regressor.predict_votes(), regressor.predict_intervals()
    assert not intervals.guaranteed  # validation nodes take the place of calibration nodes
    order = np.argsort(found.spread)
    assert (np.diff(intervals.widths[order]) >= -1e-9).all()
    assert np.allclose((intervals.low + intervals.high) / 2, found.values)


def test_intervals_keep_their_promise_if_one_case_votes_and_nothing_spreads():
    graph = ring(800, noise=0.5)
    trained = fit(graph, Settings.of("best", epochs=8, members=1, num_nearest=1), calibration=0.6)
    assert (predict_numbers(trained).spread == 0).all()
    found = prediction_intervals(trained, graph.test, coverage=0.8)
    assert 0.72 < found.holds(graph.values).mean() < 0.88
    assert (found.widths < np.ptp(graph.values)).all()


def test_too_few_calibration_nodes_give_intervals_without_a_bound():
    graph = ring(40)
    trained = fit(graph, Settings.of("best", epochs=2, members=1, num_nearest=4))
    assert len(graph.validation) < 19
    found = prediction_intervals(trained, coverage=0.95)
    assert np.isinf(found.widths).all()
    assert graph.numbers.text(np.inf) == "unlimited"


def test_a_skewed_number_is_tried_by_logarithms_and_the_choice_is_said():
    trained = fit(ring(skewed=True), Settings.of("best", **QUICK))
    said = " ".join(map(str, trained.settings.decisions))
    assert "values-log" in said
    assert "R2 on validation nodes" in said
    assert [run.name for run in trained.facts.runs][:2] == ["values", "values-log"]
    assert {run.name for run in fit(ring(), Settings.of("best", **QUICK)).facts.runs} == {"values", "values-2"}


def test_sparse_attributes_are_smoothed_and_values_are_not_read():
    import scipy.sparse as sp

    graph = ring()
    sparse = Graph.build(
        features=sp.csr_array(graph.features), edges=graph.edges.ends[:], values=graph.values, train=graph.train,
        validation=graph.validation, test=graph.test,
    )  # fmt: skip
    trained = fit(sparse, Settings.of("best", **QUICK))
    assert trained.settings.encoder.aggregation == "pagerank"
    assert not trained.encoder.reads_target


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"preset": "paper"}, "use 'best' to predict numbers"),
        ({"best_by": "accuracy"}, "best_by must be r2 or loss"),
        ({"objective": "vote"}, "does not fit ring, which has a number to predict"),
        ({"balance_classes": True}, "not read by the objective for numbers"),
        ({"value_scale": "log"}, "value_scale = log needs values above 0"),
    ],
)
def test_settings_that_make_no_sense_for_numbers_are_refused(given, text):
    given = dict(given)
    with pytest.raises(InputError, match=text):
        fit(ring(), Settings.of(given.pop("preset", "best"), epochs=1, **given))


def test_a_model_of_logarithms_reads_a_later_graph_in_which_a_value_is_zero():
    graph = ring(skewed=True)
    regressor = SEGNNRegressor(**QUICK, settings={"value_scale": "log", "read_values": True}).fit(graph)
    later = graph.values.copy()
    later[graph.train[0]] = 0.0
    found = regressor.with_graph(graph.replace(target=graph.numbers.with_values(later))).predict(graph.test)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["read_values", "value_scale", "hidden_values"])
def test_settings_of_numbers_are_refused_for_classes(name):
    graph = ring()
    classes = Graph.build(features=graph.features, edges=graph.edges.ends[:], labels=[0, 1] * 80)
    with pytest.raises(InputError, match=r"numbers|predict a number"):
        Settings.of("best", **{name: {"read_values": True, "value_scale": "log"}.get(name, 0.5)}).resolve(classes)


def test_what_needs_classes_says_so(regressor):
    with pytest.raises(InputError, match="a number changes a little with every case"):
        certify(regressor.trained_)
    with pytest.raises(InputError, match="which has intervals"):
        prediction_sets(regressor.trained_)
    with pytest.raises(InputError, match="needs classes"):
        regressor.graph_.labels  # noqa: B018


def test_a_planted_value_is_the_most_surprising_one():
    graph = ring(480, noise=0.02)  # with 120 validation nodes: fewer than 99 call nothing surprising
    values = graph.values.copy()
    wrong = int(graph.train[7])
    values[wrong] += 12
    audit = SEGNNRegressor(**QUICK, device="cpu").fit(graph, values).audit()
    assert audit.nodes[audit.order[0]] == wrong
    assert audit.surprising[audit.order[0]]
    assert audit.rehearsal.found >= audit.rehearsal.planted // 3
    assert len(audit.effect) == len(graph.train)


def test_a_node_far_from_all_cases_abstains(regressor):
    graph = regressor.graph_
    features = graph.features.copy()
    features[graph.test[0]] = 40
    nodes = dataclasses.replace(graph.nodes, features=as_rows(features))
    found = regressor.with_graph(graph.replace(nodes=nodes)).novelty([int(graph.test[0])])
    assert found.abstains.all()
    assert regressor.novelty().abstains.mean() < 0.2


def test_the_nodes_to_label_next_come_with_the_number_that_is_expected(regressor):
    found = regressor.suggest(3, candidates=regressor.graph_.test)
    assert len({one.node for one in found}) == 3
    assert all(one.predicted.endswith(" m") for one in found)


def test_numbers_survive_storage(tmp_path):
    graph = ring()
    save_graph(graph, tmp_path)
    again = load_graph(tmp_path)
    assert np.array_equal(again.values, graph.values)
    assert (again.numbers.name, again.numbers.unit) == ("height", "m")


def test_values_may_be_given_to_fit_in_place_of_the_graphs():
    graph = ring()
    doubled = SEGNNRegressor(epochs=2, members=1, device="cpu").fit(graph, 2 * graph.values)
    assert np.array_equal(doubled.graph_.values, 2 * graph.values)
    some = SEGNNRegressor(epochs=2, members=1, device="cpu").fit(graph.train[:50], graph=graph)
    assert len(some.graph_.train) == 50


@pytest.mark.parametrize("values", [[1.0, np.inf], ["a", "b"], [[1.0], [2.0]]])
def test_values_that_are_no_numbers_are_refused(values):
    with pytest.raises(InputError, match="values must be"):
        Numbers.build(values)


def test_a_graph_has_classes_or_numbers_and_not_both():
    for given in ({}, {"labels": [0], "values": [1.0]}):
        with pytest.raises(InputError, match="give one of the two"):
            Graph.build(features=[[0.0]], edges=[], **given)
    with pytest.raises(InputError, match="two different values"):
        Graph.build(features=[[0.0]] * 3, edges=[], values=[1.0] * 3).check_trainable()


def test_a_quantile_is_infinite_without_enough_scores():
    assert conformal_quantile(np.arange(8.0), 0.9) == np.inf
    assert conformal_quantile(np.arange(9.0), 0.9) == 8


def test_calibration_needs_nodes():
    graph = ring()
    alone = graph.with_split(train=graph.train, test=graph.test)
    trained = fit(alone, Settings.of("best", epochs=1, members=1))
    assert calibrate_intervals(trained) is None
    with pytest.raises(InputError, match="no calibration or validation nodes"):
        prediction_intervals(trained)
    assert np.isfinite(predict_numbers(trained).values).all()


TABLE = "id,size,rent\n" + "".join(f"{i},{i % 7},{'' if i % 9 == 0 else 100 + 10 * (i % 7) + i}\n" for i in range(60))


def test_a_column_of_numbers_is_imported_as_what_is_predicted(tmp_path):
    (tmp_path / "flats.csv").write_text(TABLE)
    (tmp_path / "near.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 60}\n" for i in range(60)))
    given = {"id": "id", "target_number": "rent", "unit": "EUR"}
    imported = read_tables(tmp_path / "flats.csv", tmp_path / "near.csv", **given, out=tmp_path / "graph")
    graph = load_graph(tmp_path / "graph")
    assert (graph.numbers.name, graph.numbers.unit, int((~graph.numbers.known).sum())) == ("rent", "EUR", 7)
    assert graph.feature_names == ("size",)
    assert len(graph.train) + len(graph.validation) + len(graph.test) == 53
    assert "rent, from 107.0 EUR to 215.0 EUR" in " ".join(str(imported.summary).split())
    later = read_tables(tmp_path / "flats.csv", tmp_path / "near.csv", **given, like=graph).graph
    assert np.array_equal(later.train, graph.train)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "target_number"),
        ({"label": "size", "target_number": "rent"}, "or target_number"),
        ({"label": "size", "unit": "EUR"}, "unit = 'EUR' is that of a number"),
        ({"target_number": "words"}, "column 'words'"),
        ({"target_number": "same"}, "one value"),
        ({"label": "rent"}, "target_number"),
    ],
)
def test_a_column_that_is_no_number_to_predict_is_refused(tmp_path, given, text):
    rows = TABLE.splitlines()
    lines = [rows[0] + ",words,same", *(row + f",w{i % 3},5" for i, row in enumerate(rows[1:]))]
    (tmp_path / "flats.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "near.csv").write_text("source,target\n1,2\n")
    with pytest.raises(InputError, match=text):
        read_tables(tmp_path / "flats.csv", tmp_path / "near.csv", id="id", **given)


def test_a_column_that_is_the_number_in_another_form_is_warned_of(tmp_path):
    rows = TABLE.splitlines()
    yearly = [str(12 * int(row.split(",")[2])) if row[-1] != "," else "" for row in rows[1:]]
    lines = [rows[0] + ",yearly", *(f"{row},{one}" for row, one in zip(rows[1:], yearly))]
    (tmp_path / "flats.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "near.csv").write_text("source,target\n1,2\n")
    found = read_tables(tmp_path / "flats.csv", tmp_path / "near.csv", id="id", target_number="rent", keep=["yearly"])
    assert any("'yearly' nearly is the number" in warning for warning in found.summary.warnings)


def test_an_explanation_says_number_interval_and_removal_in_words(regressor):
    explanation = regressor.explain(int(regressor.graph_.test[0]))
    said = explanation.sentence()
    answer = explanation.answer
    assert f": height {answer.text(answer.value)} (90% interval " in said
    assert f"Of its {len(explanation.votes)} nearest cases, " in said
    first = explanation.weightiest
    assert f"without it: {answer.text(first.without[0])}" in said
    assert sum(one.contribution for one in explanation.votes) == pytest.approx(answer.value, rel=1e-12)


def test_an_explanation_of_a_labeled_node_hides_its_value(regressor):
    node = int(regressor.graph_.train[0])
    explanation = regressor.explain(node)
    assert explanation.answer.value == regressor.predict([node])[0]
    assert node not in [one.node for one in explanation.votes]
    assert "was hidden" in explanation.sentence()


def test_an_explanation_of_a_number_survives_json_and_follows_the_schema(regressor):
    for node in (int(regressor.graph_.test[0]), int(regressor.graph_.train[0])):
        explanation = regressor.explain(node, 2)
        assert Explanation.from_json(explanation.to_json()) == explanation
        jsonschema.validate(json.loads(explanation.to_json()), schema())
        assert explanation.removal is None  # every case changes a number: there is no smallest set


def test_explanations_of_many_nodes_are_those_of_each(regressor):
    nodes = [*regressor.graph_.test[:2].tolist(), *regressor.graph_.train[:6].tolist()]
    for node, explanation in zip(nodes, explain(regressor.trained_, nodes, k=1, attributes=True), strict=True):
        assert explanation == regressor.explain(node, 1)


def test_pictures_of_numbers_are_drawn(regressor):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'se-gnn[plot]'")
    from se_gnn.plot import embedding_figure, explanation_figure

    explanation = regressor.explain(int(regressor.graph_.test[0]), 2)
    drawn = [explanation_figure(explanation), embedding_figure(explanation, regressor.trained_, method="pca")]
    for figure in drawn:
        texts = figure.findobj(lambda artist: hasattr(artist, "get_text"))
        assert any("height of" in text.get_text() for text in texts)


def test_a_number_that_is_not_answered_is_not_stated(regressor):
    explanation = regressor.explain(int(regressor.graph_.test[0]), 2)
    abstained = explanation.abstaining(Abstention(novelty=0.9, threshold=0.7, false_alarms=0.05))
    chart = page_environment().get_template("charts.html").module.distribution(abstained)
    assert explanation.answer_text in explanation.to_text()
    for text in (abstained.to_text(), abstained._repr_html_(), repr(abstained), chart):
        assert explanation.answer_text not in text
    assert "too unlike anything known" in abstained.sentence()
    assert 'class="predicted"' not in chart


def test_a_report_shows_the_distribution_of_the_voting_values(regressor):
    page = report_html(regressor.trained_)
    assert page.count('class="distribution"') >= 4
    assert "R2" in page
    one = report_html(regressor.trained_, [int(regressor.graph_.train[0])])
    assert one.count('class="distribution"') == 1
    assert "was hidden" in one


def test_an_explanation_of_a_number_goes_to_pandas_networkx_pyg_and_notebooks(regressor):
    node = int(regressor.graph_.test[0])
    found = regressor.explain(node)
    table = found.to_pandas()
    assert table["value"].to_list() == [one.number for one in found.votes]
    assert (table.weight * table.value).sum() == pytest.approx(found.answer.value)
    batch = regressor.explain_all([node]).to_pandas()
    np.testing.assert_allclose(batch["value"], table["value"])
    assert found.to_networkx().graph["predicted"] == found.answer.value
    assert float(found.to_pyg(regressor.graph_).target[node]) == pytest.approx(found.answer.value)
    assert found.answer_of(found.votes[0]) in found._repr_html_()
