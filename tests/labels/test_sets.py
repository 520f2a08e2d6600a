import dataclasses

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from labels.conftest import block_graph, block_model
from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues, Graph
from se_gnn.labels.sets import aps_scores, diffused, lac_scores, prediction_sets, shared_probabilities
from se_gnn.model.numbers import conformal_quantile
from se_gnn.ranking import nearest_per_class
from se_gnn.training.fit import with_calibration
from strategies import changed


class Fixed(ClassifierMixin, BaseEstimator):
    """A classifier for MAPIE whose probabilities are given: X holds their rows."""

    def __init__(self, num_classes=3):
        self.num_classes = num_classes
        self.classes_ = np.arange(num_classes)
        self.fitted_ = True

    def fit(self, X, y=None):
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def predict(self, X):
        return np.asarray(X).argmax(axis=1)


def mapie_sets(calibration, labels, asked, score, coverage, **params):
    from mapie.classification import SplitConformalClassifier

    model = SplitConformalClassifier(Fixed(), confidence_level=coverage, conformity_score=score, prefit=True,
                                     random_state=0)  # fmt: skip
    model.conformalize(calibration, labels)
    return model.predict_set(asked, conformity_score_params=params or None)[1][:, :, 0]


@pytest.fixture(scope="module")
def probabilities(trained):
    def of(nodes):
        cases = nearest_per_class(trained.rank(nodes))
        return shared_probabilities(trained.predict(nodes).probabilities, cases.similarity, 0.3)

    return of


@pytest.mark.parametrize("coverage", [0.6, 0.8, 0.9])
def test_lac_sets_are_those_of_mapie_on_the_same_scores(trained, graph, probabilities, coverage):
    ours = prediction_sets(trained, graph.test, method="lac", coverage=coverage)
    held, asked = probabilities(graph.calibration), probabilities(graph.test)
    theirs = mapie_sets(held, graph.labels[graph.calibration], asked, "lac", coverage)
    assert np.array_equal(ours.members, theirs)
    assert np.array_equal(ours.scores, lac_scores(asked))


@pytest.mark.parametrize("coverage", [0.6, 0.8, 0.9])
def test_aps_sets_are_those_of_mapie_on_the_same_scores_and_draws(graph, probabilities, coverage):
    held, asked = probabilities(graph.calibration), probabilities(graph.test)
    labels = graph.labels[graph.calibration]
    theirs = mapie_sets(held, labels, asked, "aps", coverage, include_last_label="randomized")
    draws = [1 - np.random.RandomState(0).uniform(size=len(rows)) for rows in (held, asked)]
    threshold = conformal_quantile(aps_scores(held, draws[0])[np.arange(len(held)), labels], coverage)
    assert np.array_equal(aps_scores(asked, draws[1]) <= threshold, theirs)


@pytest.mark.parametrize("method", ["lac", "aps", "daps"])
@pytest.mark.parametrize("by_class", [False, True])
def test_coverage_holds_on_average_over_draws_of_the_calibration_nodes(method, by_class):
    """One model, 60 draws of who calibrates and who is asked about: the mean is 1 - alpha to 1 - alpha + 1/n."""
    graph = block_graph(500, noise=1.5)
    trained = block_model(graph)
    pool = np.concatenate([graph.calibration, graph.test])
    covered = []
    for seed in range(60):
        drawn = np.random.default_rng(seed).permutation(pool)
        split = graph.with_split(
            train=graph.train, validation=graph.validation, calibration=drawn[:150], test=drawn[150:]
        )
        model = dataclasses.replace(trained, graph=split)
        found = prediction_sets(model, split.test, coverage=0.8, method=method, by_class=by_class, seed=seed)
        if by_class:
            truth = split.labels[split.test]
            right = found.members[np.arange(len(truth)), truth]
            covered.append([right[truth == c].mean() for c in range(3)])
        else:
            covered.append([found.covered(split.labels)])
    means = np.mean(covered, axis=0)
    assert (means > 0.8 - 0.015).all(), means
    assert (means < 0.8 + (3 if by_class else 1) / 150 + 0.025).all(), means


def test_a_diffused_score_is_half_its_own_and_half_the_mean_of_its_neighbors(graph):
    scores = np.random.default_rng(0).random((graph.num_nodes, 3))
    wanted = np.arange(graph.num_nodes)
    found = diffused(scores, wanted, graph, wanted)
    for node in range(graph.num_nodes):
        ends = graph.edges.ends[(graph.edges.ends == node).any(axis=1)]
        others = ends[ends != node]
        expected = scores[node] if not len(others) else (scores[node] + scores[others].mean(axis=0)) / 2
        np.testing.assert_allclose(found[node], expected)


def test_daps_looks_at_neighbors_that_nobody_asked_about(trained, graph):
    whole = prediction_sets(trained, method="daps", coverage=0.8)
    one = prediction_sets(trained, np.array([7]), method="daps", coverage=0.8)
    np.testing.assert_allclose(one.scores[0], whole.scores[7])


def test_the_set_of_a_node_does_not_depend_on_who_else_is_asked_about(trained):
    whole = prediction_sets(trained, coverage=0.8)
    some = prediction_sets(trained, np.array([50, 3]), coverage=0.8)
    assert np.array_equal(some.members, whole.members[[50, 3]])
    assert np.array_equal(some.cases.nodes, whole.cases.nodes[[50, 3]])


def test_the_case_of_a_class_is_its_most_similar_labeled_node(trained, graph):
    nodes = np.array([*graph.train[:3], *graph.test[:5]])
    cases = nearest_per_class(trained.rank(nodes))
    config = trained.settings.changed(num_nearest=len(graph.train))
    prediction = dataclasses.replace(trained, settings=config).predict(nodes)
    for i, node in enumerate(nodes):
        for label in range(3):
            ranked = prediction.cases[i][graph.labels[prediction.cases[i]] == label]
            assert cases.nodes[i, label] == next(other for other in ranked if other != node)


def test_a_class_without_a_labeled_node_has_no_case(graph):
    train = graph.train[graph.labels[graph.train] != 2]
    rest = graph.with_split(train=train, validation=graph.validation, test=graph.test, calibration=graph.calibration)
    trained = block_model(rest)
    found = prediction_sets(trained, graph.test, coverage=0.6)
    assert (found.cases.nodes[:, 2] == -1).all()
    assert np.isfinite(found.scores).all()


def test_classes_of_a_set_come_with_the_least_strange_first(trained):
    found = prediction_sets(trained, coverage=0.95, method="lac")
    i = int(found.sizes.argmax())
    scores = found.scores[i, found.classes(i)]
    assert len(scores) > 1
    assert (np.diff(scores) >= 0).all()


def test_without_calibration_nodes_the_error_says_how_to_get_them(graph):
    bare = graph.with_split(train=graph.train, validation=graph.validation, test=graph.test)
    with pytest.raises(InputError, match=r"no calibration nodes.*--calibration 0\.3.*calibration=0\.3"):
        prediction_sets(block_model(bare))


def test_validation_nodes_calibrate_with_a_warning_that_nothing_is_guaranteed(graph):
    bare = graph.with_split(train=graph.train, validation=graph.validation, test=graph.test)
    with pytest.warns(UserWarning, match="approximately"):
        found = prediction_sets(block_model(bare), calibrate_on="validation")
    assert not found.guaranteed


def test_too_few_calibration_nodes_give_full_sets_and_a_warning(graph, trained):
    few = graph.with_split(
        train=graph.train, validation=graph.validation, test=graph.test, calibration=graph.calibration[:8]
    )
    with pytest.warns(UserWarning, match="at least 9 calibration nodes, there are 8"):
        found = prediction_sets(dataclasses.replace(trained, graph=few), coverage=0.9)
    assert found.members.all()
    with pytest.warns(UserWarning, match="in every set"):
        prediction_sets(dataclasses.replace(trained, graph=few), coverage=0.9, by_class=True)


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 1.5, "0.9", float("nan"), True])
def test_coverage_outside_of_0_to_1_is_refused(trained, coverage):
    with pytest.raises(InputError, match="coverage must be between 0 and 1"):
        prediction_sets(trained, coverage=coverage)


def test_an_unknown_method_is_refused(trained):
    with pytest.raises(InputError, match="method must be lac, aps, daps"):
        prediction_sets(trained, method="raps")


def test_calibration_nodes_are_a_share_of_the_validation_nodes_of_each_class(graph):
    held = with_calibration(graph.with_split(train=graph.train, validation=graph.test), 0.3, seed=1)
    assert not np.intersect1d(held.validation, held.calibration).size
    assert np.array_equal(np.union1d(held.validation, held.calibration), graph.test)
    for label in range(3):
        count = (graph.labels[graph.test] == label).sum()
        assert (graph.labels[held.calibration] == label).sum() == round(0.3 * count)


def test_the_draw_of_calibration_nodes_follows_from_the_seed(graph):
    one, again, other = (with_calibration(graph, 0.5, seed=seed).calibration for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("share", [-0.1, 0.95, float("nan"), "half", True])
def test_a_share_that_leaves_no_validation_nodes_is_refused(graph, share):
    with pytest.raises(InputError, match="calibration must be a share"):
        with_calibration(graph, share)


def test_a_share_that_is_no_node_is_refused(graph):
    with pytest.raises(InputError, match="less than one node"):
        with_calibration(graph.with_split(train=graph.train, validation=graph.validation[:3]), 0.01)


def test_the_labels_of_calibration_nodes_are_not_part_of_the_answer(trained, graph):
    labels = graph.labels.copy()
    labels[graph.calibration] = (labels[graph.calibration] + 1) % 3
    other = block_model(changed(graph, labels=labels))
    assert np.array_equal(other.predict().probabilities, trained.predict().probabilities)


def test_quantile_is_exact_where_float64_is_not():
    assert conformal_quantile(np.arange(1.0, 10.0), 0.9) == 9.0  # ceil(10 * 0.9) = 9, not 10


def test_the_lowest_rank_is_the_first():
    assert conformal_quantile(np.array([0.3, 0.1, 0.2]), 1e-12) == 0.1


def test_a_neighbor_by_two_edges_is_one_neighbor():
    values = EdgeValues(weight=np.array([1, 2, 1], np.float32))
    graph = Graph.build(features=[[0.0]] * 3, edges=[[0, 1], [0, 1], [0, 2]], labels=[0, 1, 0], edge_values=values)
    scores = np.array([[1.0], [2.0], [4.0]])
    assert graph.num_edges == 3
    assert diffused(scores, np.arange(3), graph, np.array([0])).tolist() == [[0.5 * 1 + 0.5 * 3]]
