"""Commands under `torchrun`, in processes of their own: the same bytes as one process, whoever is killed when."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from se_gnn.graph import Graph
from se_gnn.graph.storage import save_graph
from se_gnn.shards import verify_shards

NODES = 300
TRAINING = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")


@pytest.fixture(scope="session")
def graph_folder(tmp_path_factory):
    generator = np.random.default_rng(0)
    labels = np.arange(NODES) % 3
    graph = Graph.build(
        name="ring",
        features=labels[:, None] + generator.normal(scale=0.5, size=(NODES, 4)),
        edges=[(i, (i + step) % NODES) for i in range(NODES) for step in (1, 3)],
        labels=labels,
        train=np.arange(0, 60),
        validation=np.arange(60, 90),
        test=np.arange(90, NODES),
    )
    folder = tmp_path_factory.mktemp("graphs") / "ring"
    save_graph(graph, folder)
    return folder


@pytest.fixture(scope="session")
def ring_model(run, graph_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "ring"
    result = run("train", graph_folder, "--out", folder, "--device", "cpu", "--quiet", *TRAINING)
    assert result.exit_code == 0, result.output
    return folder


def torchrun(*arguments, restarts=0):
    """Two ranks of a command, started."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", str(restarts)]
    command = [sys.executable, *launcher, "-m", "se_gnn", *map(str, arguments)]
    root = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def finished(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shards_of(folder):
    """Finished shards and what tells whether they were written again."""
    return {path.name: path.stat().st_ino for path in folder.glob("*parts-*/part-*.parquet")}


def workers(process):
    try:
        children = psutil.Process(process.pid).children(recursive=True)
        return [child for child in children if "se_gnn" in child.cmdline()]
    except psutil.NoSuchProcess:
        return []


def kill_at(process, out, moments, chosen):
    """Kill a worker at each moment: when so many shards are done, or so many seconds after the last kill."""
    kept = {}
    for kind, moment in moments:
        start = time.monotonic()
        while process.poll() is None:
            done = shards_of(out)
            if (kind == "shards" and len(done) >= moment) or (kind == "seconds" and time.monotonic() - start >= moment):
                break
            time.sleep(0.002)
        for name, inode in kept.items():
            assert done.get(name) == inode, f"{name} was lost or written again"
        kept = done
        alive = workers(process)
        if alive:
            chosen.choice(alive).send_signal(signal.SIGKILL)
            time.sleep(0.2)
    return kept


def check_kills(ring_model, tmp_path, run, moments, seed):
    one, two = tmp_path / "one", tmp_path / "two"
    assert run("predict", ring_model, "--out", one, "--set", "shard=1", "--quiet").exit_code == 0
    process = torchrun("predict", ring_model, "--out", two, "--set", "shard=1", restarts=len(moments))
    kept = kill_at(process, two, moments, random.Random(seed))
    code, _, err = finished(process)
    assert code == 0, err
    assert contents(one) == contents(two)
    after = shards_of(two)
    assert all(after[name] == inode for name, inode in kept.items())


def test_a_killed_worker_costs_no_shard_and_repeats_none(ring_model, run, tmp_path):
    check_kills(ring_model, tmp_path, run, [("shards", 20), ("shards", 140)], seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_workers_killed_at_random_moments_cost_no_shard_and_repeat_none(ring_model, run, tmp_path, seed):
    chosen = random.Random(seed)
    by_shards = [("shards", count) for count in sorted(chosen.sample(range(NODES), 7))]
    by_time = [("seconds", chosen.uniform(0, 8)) for _ in range(3)]
    check_kills(ring_model, tmp_path, run, [*by_time[:2], *by_shards, by_time[2]], seed)


@pytest.mark.slow
def test_a_job_that_was_killed_whole_goes_on_when_it_is_started_again(ring_model, run, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assert run("explain", ring_model, "--out", one, "--set", "shard=2", "--quiet").exit_code == 0
    arguments = ("explain", ring_model, "--out", two, "--set", "shard=2")
    process = torchrun(*arguments)
    kept = kill_at(process, two, [("shards", 50)], random.Random(0))
    assert finished(process)[0] != 0
    assert not list(two.glob("parts-*"))
    code, _, err = finished(torchrun(*arguments))
    assert code == 0, err
    assert contents(one) == contents(two)
    after = shards_of(two)
    assert all(after[name] == inode for name, inode in kept.items())


@pytest.mark.slow
def test_two_ranks_on_different_graphs_end_with_an_error_on_both(ring_model, graph_folder, tmp_path):
    script = tmp_path / "differing.py"
    script.write_text(
        "import os, sys\n"
        "from se_gnn.apps.cli import main\n"
        "if os.environ['RANK'] == '1':\n"
        "    sys.argv += ['--set', 'shard=7']\n"
        "main()\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script,
         "predict", ring_model, "--out", tmp_path / "out"],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr.count("all ranks must have the same shard_nodes: rank 0 has '4096', rank 1 has '7'") == 2
    assert not (tmp_path / "out").exists()


def test_one_process_writes_shards_and_verify_finds_a_changed_one(ring_model, run, tmp_path):
    out = tmp_path / "out"
    result = run("predict", ring_model, "--out", out, "--set", "shard=100")
    assert result.stdout == f"Wrote the predictions of 300 nodes to {out}, in 3 shards.\n"
    manifest = verify_shards(out)
    assert "complete: predictions of 300 nodes in 3 shards" in run("verify", out).stdout
    path = out / manifest.run.parts / "part-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    result = run("verify", out)
    assert result.exit_code == 2
    assert "part-00001.parquet is truncated or was changed" in result.stderr


def test_shards_hold_what_a_single_file_holds(ring_model, run, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from se_gnn.shards import read_shards

    assert run("predict", ring_model, "--out", tmp_path / "all.parquet").exit_code == 0
    assert run("predict", ring_model, "--out", tmp_path / "out", "--set", "shard=77").exit_code == 0
    assert pa.concat_tables(read_shards(tmp_path / "out")).equals(pq.read_table(tmp_path / "all.parquet"))


def test_explanations_of_all_nodes_agree_with_those_of_one(ring_model, run, tmp_path):
    from se_gnn.explain import explain
    from se_gnn.model.folder import load_model
    from se_gnn.shards import read_shards

    out = tmp_path / "out"
    assert run("explain", ring_model, "--out", out, "--set", "shard=128", "--k", "2").exit_code == 0
    rows = [row for table in read_shards(out) for row in table.to_pylist()]
    assert [row["node"] for row in rows] == [str(i) for i in range(NODES)]
    for node in (0, 17, 250):
        row, one = rows[node], explain(load_model(ring_model), node, k=2)[0]
        assert row["class"] == one.predicted_name
        assert [vote["node"] for vote in row["nearest"]] == [one.nodes[vote.node].name for vote in one.votes]
        assert [vote["similarity"] for vote in row["nearest"]] == pytest.approx([n.similarity for n in one.votes])
        assert [edge["id"] for edge in row["edges"]] == one.edge_ids.tolist()
        assert [edge["importance"] for edge in row["edges"]] == pytest.approx(one.importance.tolist())
        matched = [match["matched"] for match in row["matches"] if match["rank"] == 2]
        assert matched == one.votes[1].matches.matched_ids.tolist()
        assert {match["rank"] for match in row["matches"]} == {1, 2}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["predict", "MODEL", "--out", "OUT/p.txt"], "--out must end in .csv, .jsonl, .parquet or name a folder"),
        (["explain", "MODEL", "--out", "OUT/e.csv"], "--out must name a folder"),
        (["explain", "MODEL"], "give --node NAME to explain one node"),
        (["explain", "MODEL", "--node", "0", "--out", "OUT/e"], "--out has an effect only without --node"),
        (["verify", "OUT/nothing"], "there is no such folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(ring_model, run, tmp_path, arguments, text):
    result = run(*(one.replace("MODEL", str(ring_model)).replace("OUT", str(tmp_path)) for one in arguments))
    assert result.exit_code == 2
    assert text in result.stderr
    assert not list(tmp_path.iterdir())


def test_several_ranks_cannot_write_one_file(ring_model, run, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = run("predict", ring_model, "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "several processes cannot write one file: let --out name a folder" in result.stderr


@pytest.mark.slow
def test_training_in_two_ranks_with_one_killed_gives_the_model_of_one_process(run, graph_folder, tmp_path):
    settings = ("--set", "epochs=40", "--set", "hidden_size=8", "--device", "cpu")
    assert run("train", graph_folder, "--out", tmp_path / "one", "--quiet", *settings).exit_code == 0
    process = torchrun("train", graph_folder, "--out", tmp_path / "two", *settings, restarts=1)
    begun = tmp_path / "two" / ".training"
    while process.poll() is None and len(list(begun.glob("*/checkpoint.safetensors"))) < 2:
        time.sleep(0.01)
    random.Random(0).choice(workers(process)).send_signal(signal.SIGKILL)
    code, out, err = finished(process)
    assert code == 0, err
    assert out.count("test accuracy") == 1  # one rank speaks
    for name in ("model.safetensors", "settings.json", "graph.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert not begun.exists()


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_one_run_trained_by_two_ranks_with_one_killed_is_that_of_one_process_up_to_rounding(
    run, graph_folder, tmp_path, preset
):
    from se_gnn.model.folder import load_model

    settings = ("--preset", preset, "--set", "epochs=60", "--set", "hidden_size=8", "--device", "cpu")
    assert run("train", graph_folder, "--out", tmp_path / "one", "--quiet", *settings).exit_code == 0
    process = torchrun("train", graph_folder, "--out", tmp_path / "two", *settings, restarts=1)
    begun = tmp_path / "two" / ".training" / "metrics.jsonl"
    while process.poll() is None and not (begun.exists() and begun.read_text().count("\n") >= 3):
        time.sleep(0.01)
    random.Random(0).choice(workers(process)).send_signal(signal.SIGKILL)
    code, out, err = finished(process)
    assert code == 0, err
    assert "2, which train one run together" in out
    assert out.count("test accuracy") == 1  # one rank speaks
    one, two = (load_model(tmp_path / name) for name in ("one", "two"))
    assert one.facts.chosen_run.best_epoch == two.facts.chosen_run.best_epoch
    assert len((tmp_path / "two" / "metrics.jsonl").read_text().splitlines()) == two.facts.epochs
    for name, tensor in one.encoder.state_dict().items():
        error = (two.encoder.state_dict()[name] - tensor).abs().max()
        assert error <= 0.01 * one.settings.training.learning_rate
