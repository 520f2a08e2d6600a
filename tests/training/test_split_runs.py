"""One run that ranks train together: the result of one process up to rounding, the same bits on every rank."""

import time

import numpy as np
import pytest
import torch

from rank_threads import in_ranks
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.settings import Settings
from se_gnn.training import fit
from se_gnn.training.objectives.paper import PaperLoss
from se_gnn.training.share import Share
from se_gnn.training.terminal import divided
from se_gnn.training.trainer import TrainingRun

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("quick_ranks"),
]  # filters: not per thread

LOSSES = 1e-5  # relative, of each epoch
GRADIENTS = 1e-5  # relative to the largest of all
PARAMETERS = 0.01  # of a learning rate, after EPOCHS: Adam makes a step of a gradient that is nothing but rounding, too
EPOCHS = 5
CPU = torch.device("cpu")


def a_graph(labeled=11, validation=10):
    generator = np.random.default_rng(0)
    labels = np.arange(41) % 3
    return Graph.build(
        features=labels[:, None] + generator.normal(scale=0.5, size=(41, 5)),
        edges=[(i, (i + step) % 40) for i in range(40) for step in (2, 3, 7)],  # the last node has none
        labels=labels,
        train=[*range(labeled - 1), 40],
        validation=np.arange(20, 20 + validation),
        test=np.arange(30, 40),
    )


@pytest.fixture(scope="module")
def graph():
    return a_graph()


def settings(preset, **other):
    small = {"epochs": EPOCHS, "hidden_size": 4, "num_nearest": 3, "node_batch": 7, "edge_batch": 9, "patience": "none"}
    return Settings.of(preset, **{**small, **other})


def together(graph, chosen, size, **options):
    def work(ranks):
        run = TrainingRun(graph, chosen.resolve(), seed=3, device=CPU, folder=None, ranks=ranks, **options)
        while not run.finished:
            run.step()
        return run

    runs = in_ranks(size, work)
    assert all(isinstance(run, TrainingRun) for run in runs), runs
    return runs


def alone(graph, chosen):
    run = TrainingRun(graph, chosen.resolve(), seed=3, device=CPU, folder=None)
    while not run.finished:
        run.step()
    return run


def check_close(run, expected):
    for record, other in zip(run.history, expected.history, strict=True):
        for name in ("loss", "class_loss", "node_loss", "edge_loss", "val_loss"):
            assert record[name] == pytest.approx(other[name], rel=LOSSES, nan_ok=True), (record["epoch"], name)
    for name, tensor in expected.model.state_dict().items():
        error = (run.model.state_dict()[name] - tensor).abs().max()
        assert error <= PARAMETERS * run.settings.training.learning_rate, name


def check_same_bits(runs):
    for run in runs[1:]:
        for name, tensor in runs[0].model.state_dict().items():
            assert torch.equal(run.model.state_dict()[name], tensor)
        for record, other in zip(run.history, runs[0].history, strict=True):
            assert repr({**record, "seconds": 0}) == repr({**other, "seconds": 0})  # NaN is like NaN


CASES = {
    "paper": ("paper", {}),
    "authors": ("authors", {}),
    "paper-both": ("paper", {"directions": "both"}),
    "authors-one": ("authors", {"directions": "one"}),
    "paper-sampled": ("paper", {"max_local_edges": 4}),
    "authors-sampled": ("authors", {"max_local_edges": 4}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [2, 3])
def test_ranks_together_find_what_one_process_finds_up_to_rounding_and_the_same_bits(graph, case, size):
    preset, other = CASES[case]
    chosen = settings(preset, **other)
    runs = together(graph, chosen, size)
    check_same_bits(runs)
    check_close(runs[0], alone(graph, chosen))


@pytest.mark.filterwarnings("ignore:classes with one labeled node")
@pytest.mark.parametrize(("labeled", "validation"), [(3, 10), (11, 2), (11, 0)])
def test_ranks_without_a_node_of_their_own_train_with_the_others(labeled, validation):
    graph, chosen = a_graph(labeled, validation), settings("authors", num_nearest=2, node_batch=2, edge_batch=1)
    runs = together(graph, chosen, 4)
    check_same_bits(runs)
    check_close(runs[0], alone(graph, chosen))


@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_the_gradients_that_ranks_find_add_up_to_that_of_the_whole_loss(graph, preset):
    chosen = settings(preset)

    def gradients(ranks):
        run = TrainingRun(graph, chosen.resolve(), seed=3, device=CPU, folder=None, ranks=ranks)
        run.loss.losses(run.loss.draw(0))[0].backward()
        own = [parameter.grad.clone() for parameter in run.model.parameters()]
        run.share.sum_gradients(list(run.model.parameters()))
        return own, [parameter.grad for parameter in run.model.parameters()]

    whole, same = gradients(None)
    assert all(torch.equal(one, other) for one, other in zip(whole, same, strict=True))
    results, largest = in_ranks(3, gradients), max(grad.abs().max() for grad in whole)
    for own, expected in zip(zip(*(own for own, _ in results), strict=True), whole, strict=True):
        assert all((part - expected).abs().max() > 0.01 * expected.abs().max() for part in own)  # a part of it each
        assert (sum(own) - expected).abs().max() <= GRADIENTS * largest
    for _, found in results:
        assert all(torch.equal(one, other) for one, other in zip(found, results[0][1], strict=True))


def test_a_share_has_every_row_once_and_gradients_reach_its_own_rows_alone():
    rows = torch.arange(14.0).reshape(7, 2)

    def work(ranks):
        share = Share(ranks)
        own = rows[share.of(7)].clone().requires_grad_()
        found = share.all_rows(own, 7)
        (found * rows).sum().backward()
        return found.detach(), own.grad, rows[share.of(7)]

    for found, grad, own in in_ranks(3, work):
        assert torch.equal(found, rows)
        assert torch.equal(grad, own)


@pytest.fixture
def impatient_checkpoints(monkeypatch):
    monkeypatch.setattr("se_gnn.training.trainer.SECONDS_BETWEEN_CHECKPOINTS", 0.0)


def test_a_rank_that_fails_in_an_epoch_stops_the_others_and_the_next_start_goes_on_to_the_same_bits(
    graph, tmp_path, monkeypatch, impatient_checkpoints
):
    chosen, losses = settings("authors"), PaperLoss.losses
    expected = in_ranks(2, lambda ranks: fit(graph, chosen, seed=3, ranks=ranks))

    def failing(self, draws):
        if self.share.ranks.rank == 1 and self.epochs_done == 3:
            raise InputError("no memory left")
        self.epochs_done += 1
        return losses(self, draws)

    monkeypatch.setattr(PaperLoss, "epochs_done", 0, raising=False)
    monkeypatch.setattr(PaperLoss, "losses", failing)
    folders = [tmp_path / "a", tmp_path / "b"]  # machines that share no folder

    def work(ranks):
        return fit(graph, chosen, seed=3, ranks=ranks, folder=folders[ranks.rank])

    start = time.monotonic()
    first, second = in_ranks(2, work)
    assert str(first) == "rank 1 stopped: no memory left"
    assert str(second) == "no memory left"
    assert time.monotonic() - start < 5
    assert len((folders[0] / "metrics.jsonl").read_text().splitlines()) == 3

    monkeypatch.setattr(PaperLoss, "losses", counting := _Counting(losses))
    for found, whole in zip(in_ranks(2, work), expected, strict=True):
        assert not isinstance(found, BaseException), repr(found)
        mine, theirs = found.encoder.state_dict(), whole.encoder.state_dict()
        assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    assert counting.calls == 2 * (EPOCHS - 3)
    assert len((folders[0] / "metrics.jsonl").read_text().splitlines()) == EPOCHS
    assert not list(folders[1].iterdir())  # the first rank writes


class _Counting:
    """The losses, and how often they were asked for."""

    def __init__(self, losses):
        self.losses, self.calls = losses, 0

    def __get__(self, objective, kind):
        def counted(draws):
            self.calls += 1
            return self.losses(objective, draws)

        return counted


def test_a_model_trained_together_is_that_of_one_process_up_to_rounding(graph):
    chosen = settings("paper")
    expected = fit(graph, chosen, seed=3)
    for found in in_ranks(2, lambda ranks: fit(graph, chosen, seed=3, ranks=ranks)):
        assert not isinstance(found, BaseException), repr(found)
        assert found.facts.chosen_run.best_epoch == expected.facts.chosen_run.best_epoch
        for name, tensor in expected.encoder.state_dict().items():
            error = (found.encoder.state_dict()[name] - tensor).abs().max()
            assert error <= PARAMETERS * found.settings.training.learning_rate


def test_what_several_processes_do_is_said_before_they_do_it():
    told = {name: divided(Settings.of(name).resolve()) for name in ("best", "paper", "authors")}
    assert told["best"] == "each trains whole runs"
    assert told["paper"] == told["authors"] == "which train one run together"
    assert "not split" in divided(Settings.of("best", portfolio=False, members=1).resolve())
