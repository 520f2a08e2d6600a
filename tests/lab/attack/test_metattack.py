"""What an attack keeps to, and that it can be interrupted."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lab.attack import MetattackConfig, flip_pairs, metattack
from lab.attack.journal import NAME
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from strategies import changed

QUICK = MetattackConfig(steps=20, hidden_size=4)


def attacked(graph, flips):
    return graph.with_edges(flip_pairs(graph.edges.ends, graph.num_nodes, flips))


@pytest.mark.parametrize("approximate", [False, True])
def test_the_budget_is_spent_on_distinct_pairs_and_no_node_is_left_alone(groups, approximate):
    config = MetattackConfig(steps=20, hidden_size=4, approximate=approximate)
    flips = metattack(groups, 0.5, config, device="cpu")
    assert len(np.unique(flips, axis=0)) == len(flips) == groups.num_edges // 2
    assert (flips[:, 0] < flips[:, 1]).all()
    assert attacked(groups, flips).degrees.min() >= 1


def test_the_same_seed_gives_the_same_flips_and_a_longer_attack_begins_like_a_shorter_one(groups):
    short, again, long = (metattack(groups, rate, QUICK, seed=3, device="cpu") for rate in (0.05, 0.05, 0.1))
    np.testing.assert_array_equal(short, again)
    np.testing.assert_array_equal(short, long[: len(short)])
    assert len(long) > len(short)
    assert (metattack(groups, 0.05, QUICK, seed=4, device="cpu") != short).any()


def test_labels_of_unlabeled_nodes_are_never_read(groups):
    hidden = groups.labels.copy()
    hidden[15:] = -1
    blind = Graph.build(
        features=groups.features,
        edges=groups.edges.ends,
        labels=hidden,
        class_names=groups.class_names,
        train=groups.train,
    )
    flips = metattack(groups, 0.1, QUICK, device="cpu")
    np.testing.assert_array_equal(flips, metattack(blind, 0.1, QUICK, device="cpu"))


def test_most_new_edges_join_different_classes(groups):
    flips = metattack(groups, 0.2, MetattackConfig(), device="cpu")
    added = [(u, v) for u, v in flips.tolist() if (u, v) not in set(map(tuple, groups.edges.ends.tolist()))]
    assert len(added) > len(flips) / 2
    assert np.mean([groups.labels[u] != groups.labels[v] for u, v in added]) > 0.9


class TestResume:
    def test_an_interrupted_attack_goes_on_to_the_same_flips(self, groups, tmp_path, monkeypatch):
        from lab.attack.metattack import _Attack

        whole = metattack(groups, 0.1, QUICK, device="cpu")
        choose, calls = _Attack.choose, []

        def interrupted(self, flips):
            calls.append(len(flips))
            if len(calls) == 5:
                raise KeyboardInterrupt
            return choose(self, flips)

        monkeypatch.setattr(_Attack, "choose", interrupted)
        with pytest.raises(KeyboardInterrupt):
            metattack(groups, 0.1, QUICK, device="cpu", folder=tmp_path)
        assert json.loads((tmp_path / NAME).read_text())["flips"] == whole[:4].tolist()
        np.testing.assert_array_equal(metattack(groups, 0.1, QUICK, device="cpu", folder=tmp_path), whole)
        assert calls == [0, 1, 2, 3, 4, *range(4, len(whole))]  # nothing is done twice

    def test_the_flips_of_a_finished_attack_are_read_back(self, groups, tmp_path):
        long = metattack(groups, 0.1, QUICK, device="cpu", folder=tmp_path)
        short = metattack(groups, 0.05, QUICK, device="cpu", folder=tmp_path)
        np.testing.assert_array_equal(short, long[: groups.num_edges // 20])
        assert len(json.loads((tmp_path / NAME).read_text())["flips"]) == len(long)

    @pytest.mark.parametrize("change", ["seed", "settings", "graph"])
    def test_the_journal_of_another_attack_is_refused(self, groups, tmp_path, change):
        metattack(groups, 0.02, QUICK, device="cpu", folder=tmp_path)
        graph = groups.with_edges(groups.edges.ends[1:]) if change == "graph" else groups
        config = MetattackConfig(steps=21, hidden_size=4) if change == "settings" else QUICK
        with pytest.raises(InputError, match="belongs to an attack on another graph"):
            metattack(graph, 0.02, config, seed=int(change == "seed"), device="cpu", folder=tmp_path)

    def test_a_damaged_journal_is_refused(self, groups, tmp_path):
        (tmp_path / NAME).write_text("{")
        with pytest.raises(InputError, match="truncated or damaged"):
            metattack(groups, 0.02, QUICK, device="cpu", folder=tmp_path)


class TestRefused:
    @pytest.mark.parametrize(
        ("settings", "text"),
        [
            ({"labeled_weight": 1.1}, "labeled_weight must be between 0 and 1, got 1.1"),
            ({"approximate": 1}, "approximate must be true or false, got 1"),
            ({"steps": 0}, "steps must be at least 1, got 0"),
            ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0, got 0.0"),
            ({"momentum": 1.5}, "momentum must be between 0 and 1, got 1.5"),
        ],
    )
    def test_bad_settings(self, settings, text):
        with pytest.raises(InputError, match=text):
            MetattackConfig(**settings)

    @pytest.mark.parametrize("rate", [-0.1, float("nan"), float("inf")])
    def test_bad_rate(self, groups, rate):
        with pytest.raises(InputError, match="rate must be a finite number of at least 0"):
            metattack(groups, rate, QUICK, device="cpu")

    def test_more_flips_than_pairs(self):
        triangle = Graph.build(features=np.eye(3), edges=[(0, 1), (0, 2), (1, 2)], labels=[0, 1, -1], train=[0, 1])
        with pytest.raises(InputError, match="no pair of nodes is left to flip after"):
            metattack(triangle, 2.0, QUICK, device="cpu")

    def test_guesses_without_a_node_to_guess(self, groups):
        with pytest.raises(InputError, match="labeled_weight must be 1 where all nodes are labeled"):
            metattack(groups.with_split(train=np.arange(60)), 0.1, QUICK, device="cpu")

    def test_features_on_which_training_diverges(self, groups):

        large = changed(groups, features=groups.features * 1e20)
        with pytest.raises(InputError, match="training the surrogate diverged"):
            metattack(large, 0.1, QUICK, device="cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("approximate", [False, True])
def test_cuda_chooses_the_flips_of_the_cpu(groups, approximate):
    config = MetattackConfig(steps=20, hidden_size=4, approximate=approximate)
    flips = [metattack(groups, 0.05, config, device=device) for device in ("cpu", "cuda")]
    np.testing.assert_array_equal(*flips)
