"""Whole runs shared between ranks: the same bits as one process."""

from pathlib import Path

import numpy as np
import pytest
import torch

import se_gnn.ranks.ranks as ranks_module
from rank_threads import in_ranks
from se_gnn.graph import Graph
from se_gnn.settings import Settings
from se_gnn.training import fit
from se_gnn.training.checkpoint import Kept, TrainingState, agreed, kept_state, state_bytes

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("quick_ranks"),
]  # filters: not per thread

ASKED = Settings.of(
    "best", epochs=2, hidden_size=4, output_size=3, members=3, num_nearest=3, steps=2, consistency_batch=8
)


@pytest.fixture(scope="module")
def graph():
    generator = np.random.default_rng(0)
    labels = np.arange(40) % 2
    return Graph.build(
        features=labels[:, None] + generator.normal(scale=0.5, size=(40, 3)),
        edges=[(i, (i + step) % 40) for i in range(40) for step in (2, 3)],
        labels=labels,
        train=np.arange(10),
        validation=np.arange(10, 20),
        test=np.arange(20, 40),
    )


@pytest.fixture(scope="module")
def alone(graph):
    return fit(graph, ASKED, seed=3)


def same(one, other):
    assert not isinstance(one, BaseException), repr(one)
    mine, theirs = one.encoder.state_dict(), other.encoder.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("size", [2, 3])
def test_every_rank_has_the_model_of_one_process_bit_for_bit(graph, alone, size):
    for found in in_ranks(size, lambda ranks: fit(graph, ASKED, seed=3, ranks=ranks)):
        assert same(found, alone)
        assert found.settings == alone.settings
        assert [(run.name, run.val_loss) for run in found.facts.runs] == [
            (run.name, run.val_loss) for run in alone.facts.runs
        ]


def test_a_rank_that_ends_leaves_runs_that_the_next_start_goes_on_with(graph, alone, tmp_path, monkeypatch):
    def ending(ranks):
        if ranks.rank == 1:
            monkeypatch.setattr(ranks_module.Ranks, "heartbeat", lambda self: self.rank == 1 and 1 / 0)
        return fit(graph, ASKED, seed=3, ranks=ranks, folder=tmp_path)

    errors = in_ranks(2, ending)
    assert any(isinstance(error, Exception) for error in errors)
    monkeypatch.undo()
    for found in in_ranks(2, lambda ranks: fit(graph, ASKED, seed=3, ranks=ranks, folder=tmp_path)):
        assert same(found, alone)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == alone.facts.epochs


def test_a_single_run_is_trained_by_one_rank_and_had_by_all(graph):
    asked = ASKED.changed(portfolio=False, members=1)
    expected = fit(graph, asked, seed=1)
    for found in in_ranks(2, lambda ranks: fit(graph, asked, seed=1, ranks=ranks)):
        assert same(found, expected)


def test_a_run_travels_between_ranks_without_losing_a_bit():
    history = [{"epoch": 0, "loss": 0.1 + 0.2, "val_accuracy": float("nan"), "val_loss": 1e-300, "seconds": 1 / 3}]
    kept = [
        Kept(0, (-float("inf"), -0.25), {"w": torch.tensor([0.1, -0.0])}),
        Kept(0, (0.5, -1.0), {"w": torch.ones(2)}),
    ]
    back = kept_state(state_bytes(TrainingState({}, {}, kept, history), ""), Path("near"))
    assert repr(back.history) == repr(history)
    for one, other in zip(back.kept, kept, strict=True):
        assert (one.epoch, one.standing) == (other.epoch, other.standing)
        assert one.parameters["w"].numpy().tobytes() == other.parameters["w"].numpy().tobytes()


@pytest.mark.parametrize(
    ("seed", "settings", "moved", "text"),
    [
        (4, {}, 0, "the same seed: rank 0 has '3', rank 1 has '4'"),
        (3, {"hidden_size": 5}, 0, "the same hidden_size: rank 0 has '4', rank 1 has '5'"),
        (3, {}, 1, "the same data: rank 0 has "),
    ],
)
def test_what_one_rank_has_otherwise_is_named_on_every_rank(graph, seed, settings, moved, text):
    other = graph.with_split(train=graph.train + moved, validation=graph.validation + moved, test=graph.test[moved:])
    given = [agreed(graph, ASKED.resolve(), 3), agreed(other, ASKED.changed(**settings).resolve(), seed)]
    results = in_ranks(2, lambda ranks: ranks.check_same(given[ranks.rank]))
    assert all(f"all ranks must have {text}" in str(error) for error in results)
