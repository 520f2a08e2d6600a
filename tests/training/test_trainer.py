"""Algorithm 1: same seed, same bits; the best epoch; small classes; devices."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys

import numba
import numpy as np
import pytest
import torch

from backends import on_every_device
from se_gnn import progress
from se_gnn.device import resolve_device
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.model.metrics import evaluate_nodes
from se_gnn.model.prediction import log_loss
from se_gnn.training import fit, trainer
from se_gnn.training.objectives import paper
from strategies import random_graph, small_settings

GRAPH = random_graph(1, num_nodes=30, num_edges=50, num_labeled=10, isolated=(2, 20))


def records(folder):
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line, parse_constant=pytest.fail) for line in lines]


def without_time(values):
    return {key: value for key, value in values.items() if not key.startswith("seconds")}


def timeless(facts):
    return dataclasses.replace(facts, runs=tuple(dataclasses.replace(run, seconds_per_epoch=0) for run in facts.runs))


def assert_same_bits(one, other):
    for name, tensor in one.encoder.state_dict().items():
        assert torch.equal(tensor, other.encoder.state_dict()[name]), name
    assert timeless(one.facts) == timeless(other.facts)


@on_every_device
@pytest.mark.parametrize(("measure", "references"), [("cosine", "support"), ("distance", "nearest")])
def test_the_same_seed_gives_the_same_bits(measure, references, device, tmp_path):
    asked = small_settings(
        measure=measure, directions="both", references=references,
    )  # fmt: skip
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 (the global generator is what must not matter)
    one = fit(GRAPH, asked, seed=7, device=device, folder=tmp_path / "one")
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    other = fit(GRAPH, asked, seed=7, device=device, folder=tmp_path / "other")
    assert_same_bits(one, other)
    assert list(map(without_time, records(tmp_path / "one"))) == list(map(without_time, records(tmp_path / "other")))


ON_CUDA_ALONE = """
import hashlib
import torch
from benchmarks.graphs import generated_graph
from se_gnn.settings import Settings
from se_gnn.training import fit

torch.use_deterministic_algorithms(True)
for preset, given in (("best", {"portfolio": False, "members": 2}), ("paper", {}), ("authors", {})):
    found = fit(generated_graph(700, seed=0), Settings.of(preset, epochs=8, **given), seed=3, device="cuda")
    tensors = [*found.encoder.state_dict().values(), torch.from_numpy(found.predict(found.graph.test).probabilities)]
    print(preset, hashlib.sha256(b"".join(tensor.cpu().numpy().tobytes() for tensor in tensors)).hexdigest())
"""


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda_two_processes_train_to_the_same_bits_and_every_operation_is_deterministic():
    command = [sys.executable, "-c", ON_CUDA_ALONE]
    environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = [
        subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=300, check=True).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 3


def test_another_seed_gives_other_bits():
    one, other = (fit(GRAPH, small_settings(epochs=1), seed=seed) for seed in (0, 1))
    assert any(
        not torch.equal(tensor, other.encoder.state_dict()[name]) for name, tensor in one.encoder.state_dict().items()
    )


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_the_number_of_threads_does_not_change_a_bit_of_training():
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            results.append(fit(GRAPH, small_settings(), seed=3))
    finally:
        numba.set_num_threads(before)
    assert_same_bits(*results)


def test_training_learns_what_the_attributes_tell(tmp_path):
    labels = np.arange(40) % 2
    features = np.random.default_rng(0).normal(size=(40, 4)) + 6 * labels[:, None]
    same = np.random.default_rng(1).integers(0, 20, (60, 2)) * 2
    graph = random_graph(
        0, num_nodes=40, num_labeled=10, features=features, edges=np.concatenate([same, same + 1]), labels=labels
    )
    trained = fit(graph, small_settings(epochs=20), folder=tmp_path)
    assert trained.predict(graph.test).accuracy(graph.labels) == 1.0
    history = records(tmp_path)
    assert history[-1]["class_loss"] < history[0]["class_loss"]


def test_the_loss_is_the_weighted_sum_of_its_parts(tmp_path):
    asked = small_settings(node_loss_weight=0.5, edge_loss_weight=2.0, epochs=2)
    fit(GRAPH, asked, folder=tmp_path)
    for record in records(tmp_path):
        total = record["class_loss"] + 0.5 * record["node_loss"] + 2.0 * record["edge_loss"]
        assert record["loss"] == pytest.approx(total, rel=1e-5)


def test_without_contrastive_weights_no_views_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "contrast_loss", lambda *_, **__: pytest.fail("views were made"))
    fit(GRAPH, small_settings(node_loss_weight=0, edge_loss_weight=0), folder=tmp_path)
    assert all(record["loss"] == record["class_loss"] for record in records(tmp_path))


def test_the_best_epoch_has_the_highest_accuracy_then_the_lowest_loss_then_comes_first(tmp_path):
    asked = small_settings(epochs=15, learning_rate=0.05, patience="none")
    trained = fit(GRAPH, asked, seed=2, folder=tmp_path)
    history = records(tmp_path)
    best = min(range(15), key=lambda i: (-history[i]["val_accuracy"], history[i]["val_loss"], i))
    assert trained.facts.chosen_run.best_epoch == best
    assert trained.facts.chosen_run.val_accuracy == history[best]["val_accuracy"]
    accuracies = [record["val_accuracy"] for record in history]
    assert accuracies.count(max(accuracies)) > 1  # else ties would not be tried
    prediction = trained.predict(GRAPH.validation)
    assert prediction.accuracy(GRAPH.labels) == history[best]["val_accuracy"]
    loss = log_loss(prediction.probabilities, GRAPH.labels[GRAPH.validation])
    assert loss == pytest.approx(history[best]["val_loss"], abs=1e-6)


@pytest.mark.parametrize(
    ("accuracies", "losses", "best"),
    [
        ([0.5, 0.7, 0.6], [1.0, 0.9, 0.1], 1),  # accuracy before loss
        ([0.7, 0.7, 0.7], [0.9, 0.8, 0.95], 1),  # of equal accuracy the lower loss
        ([0.7, 0.7, 0.7], [0.9, 0.8, 0.8], 1),  # of equals in both the first
    ],
)
def test_the_best_epoch_of_scripted_figures(accuracies, losses, best, monkeypatch):
    for name, values in {"accuracy": iter(accuracies), "log_loss": iter(losses)}.items():
        monkeypatch.setattr(trainer, name, lambda *_, values=values: next(values))
    assert fit(GRAPH, small_settings(epochs=3)).facts.chosen_run.best_epoch == best


def test_the_parameters_are_those_of_the_best_epoch():
    asked = small_settings(epochs=15, learning_rate=0.05, patience="none")
    whole = fit(GRAPH, asked, seed=2)
    shorter = fit(GRAPH, asked.changed(epochs=whole.facts.chosen_run.best_epoch + 1), seed=2)
    for name, tensor in whole.encoder.state_dict().items():
        assert torch.equal(tensor, shorter.encoder.state_dict()[name])


def test_training_stops_after_so_many_epochs_without_a_better_one(tmp_path):
    asked = small_settings(epochs=200, patience=3, learning_rate=0.05)
    trained = fit(GRAPH, asked, seed=2, folder=tmp_path)
    assert trained.facts.epochs == trained.facts.chosen_run.best_epoch + 1 + 3 < 200
    assert len(records(tmp_path)) == trained.facts.epochs


def test_without_patience_training_runs_to_the_end():
    asked = small_settings(epochs=12, patience="none", learning_rate=0.5)
    assert fit(GRAPH, asked).facts.epochs == 12


def test_without_validation_nodes_the_last_epoch_counts_and_nothing_stops_it_early(tmp_path):
    graph = GRAPH.with_split(train=GRAPH.train, test=GRAPH.test)
    trained = fit(graph, small_settings(epochs=60), folder=tmp_path)
    assert (trained.facts.epochs, trained.facts.chosen_run.best_epoch) == (60, 59)
    assert trained.facts.chosen_run.val_accuracy is None
    assert [record["val_accuracy"] for record in records(tmp_path)] == [None] * 60  # NaN would not be JSON


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("directions", ["one", "both"])
def test_without_validation_nodes_figures_are_none_and_not_nan(directions, device):
    graph = GRAPH.with_split(train=GRAPH.train)
    asked = small_settings(epochs=1, directions=directions)
    facts = fit(graph, asked, device=device).facts
    assert facts.chosen_run.val_accuracy is None
    assert facts.validation["precision_at_5"] is None
    json.dumps(dataclasses.asdict(facts), allow_nan=False)


def test_facts_of_a_run_hold_the_figures_of_the_validation_nodes():
    trained = fit(GRAPH, small_settings(), seed=4)
    facts = trained.facts
    assert facts.validation == evaluate_nodes(trained, GRAPH.validation)
    assert facts.chosen_run.val_accuracy == trained.predict(GRAPH.validation).accuracy(GRAPH.labels)
    assert (facts.epochs, facts.seed, facts.device, facts.test) == (5, 4, "cpu", None)
    assert facts.seconds_per_epoch > 0
    assert {"se-gnn", "torch"} <= facts.versions.keys()
    assert not trained.encoder.training


@pytest.mark.parametrize("references", ["support", "nearest"])
def test_a_class_with_one_labeled_node_is_left_out_with_a_warning(references):
    labels = GRAPH.labels.copy()
    labels[0] = 2
    graph = random_graph(1, num_nodes=30, num_edges=50, num_labeled=10, labels=labels, class_names=("a", "b", "rare"))
    asked = small_settings(references=references)
    with pytest.warns(UserWarning, match="classes with one labeled node .* are left out of the loss: rare$"):
        trained = fit(graph, asked)
    assert trained.predict().probabilities.shape == (30, 3)


@pytest.mark.parametrize("references", ["support", "nearest"])
@pytest.mark.parametrize("contrast", [0.0, 0.1])
def test_one_labeled_node_in_every_class_does_not_fail(references, contrast):
    graph = random_graph(1, num_labeled=2)
    asked = small_settings(
        num_nearest=2, node_loss_weight=contrast, edge_loss_weight=contrast,
        references=references,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="left out of the loss: 0, 1"):
        trained = fit(graph, asked)
    assert np.isfinite(trained.predict().probabilities).all()


@pytest.mark.parametrize("aggregation", ["gcn", "mean"])
def test_a_graph_without_edges_trains(aggregation):
    graph = random_graph(1, num_edges=0)
    trained = fit(graph, small_settings(aggregation=aggregation, directions="both"))
    assert np.isfinite(trained.predict().probabilities).all()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_nodes_with_equal_attributes_train_without_nan(measure):
    graph = random_graph(1, features=np.ones((16, 3)))
    trained = fit(graph, small_settings(measure=measure, directions="both"))
    assert np.isfinite(trained.predict().probabilities).all()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_a_node_without_any_attribute_trains_without_nan(measure):
    features = np.random.default_rng(0).normal(size=(16, 3))
    features[[0, 8]] = 0
    graph = random_graph(1, features=features, isolated=(0, 8))
    trained = fit(graph, small_settings(measure=measure))
    assert np.isfinite(trained.predict().probabilities).all()


def test_a_sample_as_large_as_every_local_graph_trains_as_no_sample(tmp_path):
    for name, most in (("all", "none"), ("sample", 10_000)):
        fit(GRAPH, small_settings(max_local_edges=most, epochs=3), folder=tmp_path / name)
    for one, other in zip(records(tmp_path / "all"), records(tmp_path / "sample")):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-3)


@pytest.mark.parametrize("directions", ["one", "both"])
def test_a_sample_of_the_edges_trains_and_predicts_on_all_of_them(directions):
    asked = small_settings(directions=directions, max_local_edges=2, epochs=2)
    one, same = (fit(GRAPH, asked, seed=1) for _ in range(2))
    assert_same_bits(one, same)
    assert np.isfinite(one.predict().probabilities).all()


def test_one_epoch_is_one_step_of_adam_with_weight_decay():
    """The first step of Adam moves every parameter by the learning rate, against the sign of its gradient."""
    asked = small_settings(epochs=1, learning_rate=1e-3)
    trained = fit(GRAPH, asked, seed=5)
    start = trainer.SEGNN(GRAPH.num_features, asked.resolve(), generator=torch.Generator().manual_seed(5))
    for name, tensor in trained.encoder.state_dict().items():
        moved = (tensor - start.state_dict()[name]).abs()
        assert moved.max() <= 1e-3 * 1.001
        assert moved.median() > 0.99e-3


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (Graph.build(features=np.ones((3, 2)), edges=[], labels=[-1, -1, -1]), "has no labeled node"),
        (Graph.build(features=np.ones((3, 2)), edges=[], labels=[0, 0, 0]), "two classes, all 3 are '0'"),
    ],
)
def test_a_graph_that_nothing_can_be_learned_from_is_an_error(graph, text):
    with pytest.raises(InputError, match=text):
        fit(graph, small_settings())


def test_more_nearest_than_labeled_nodes_is_an_error_before_training():
    with pytest.raises(InputError, match="num_nearest must be between 1 and the 10 labeled nodes, got 20"):
        fit(GRAPH, small_settings(num_nearest=20))


def test_the_progress_bar_shows_loss_and_validation_accuracy(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fit(GRAPH, small_settings(epochs=5), progress=True)
    shown = capsys.readouterr().err
    assert "loss=" in shown
    assert "val=" in shown
    assert "5/5" in shown
    fit(GRAPH, small_settings(epochs=2))
    assert capsys.readouterr() == ("", "")


# --- devices


def test_cuda_asked_for_and_absent_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:0"):
        with pytest.raises(InputError, match=f"device '{device}' was asked for, but PyTorch sees no CUDA device here"):
            resolve_device(device)
    with pytest.raises(InputError, match="use cpu or auto"):
        fit(GRAPH, small_settings(), device="cuda")


def test_auto_takes_cuda_where_it_is(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == torch.device("cuda")
    assert resolve_device("cuda") == torch.device("cuda")
    assert resolve_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("device", ["gpu", "", "tpu", "cuda0", "cuda:x"])
def test_an_unknown_device_is_an_error(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(InputError, match=f"device must be auto, cpu or cuda, got '{device}'"):
        resolve_device(device)


def test_validation_figures_are_exact_where_training_looks_at_a_part_of_the_edges():
    asked = small_settings(max_local_edges=1, epochs=3, hops=2)
    trained = fit(GRAPH, asked)
    assert trained.facts.validation == evaluate_nodes(trained, GRAPH.validation)


def test_training_does_not_look_at_test_nodes_or_their_labels():
    labels = GRAPH.labels.copy()
    labels[GRAPH.test] = 1 - labels[GRAPH.test]
    scrambled = GRAPH.replace(target=GRAPH.target.with_labels(labels))
    hidden = GRAPH.with_split(train=GRAPH.train, validation=GRAPH.validation)
    assert_same_bits(*(fit(graph, small_settings(), seed=3) for graph in (GRAPH, scrambled)))
    assert_same_bits(*(fit(graph, small_settings(), seed=3) for graph in (GRAPH, hidden)))


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64, 10**400, 0.5, "1", None, True])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(InputError, match="seed must be a whole number from 0 to 9223372036854775807, got "):
        fit(GRAPH, small_settings(), seed=seed)


@pytest.mark.parametrize(
    ("rate", "text"),
    [(1e38, r"learning_rate must be at most 1e\+30, got 1e\+38"), (1e30, "lower learning_rate")],
)
def test_a_learning_rate_that_bursts_the_numbers_is_one_clear_error(rate, text):
    with pytest.raises(InputError, match=text):
        fit(GRAPH, small_settings(learning_rate=rate, epochs=5))


def test_training_says_how_long_it_will_take_and_that_it_stopped_early_where_progress_is_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    asked = small_settings(epochs=200, patience=3, learning_rate=0.05)
    trained = fit(GRAPH, asked, seed=2, progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    expected = r"estimate  about [\d.]+ s for about \d+ epochs \(at most 200\) of [\d.]+ s, \d+ MB of memory"
    assert re.search(expected, said.err)
    assert "stopped early" in said.err
    assert trained.facts.chosen_run.stopped_early
    fit(GRAPH, asked, seed=2)
    assert capsys.readouterr().err == ""
