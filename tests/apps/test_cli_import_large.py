import numpy as np
import pytest

from mapped_graphs import in_memory, random_tables
from se_gnn.graph.storage import array_file, save_graph
from se_gnn.shards import read_shards

QUICK = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    """Tables, the graph they make in memory, a model trained on it, and the same graph mapped."""
    folder = tmp_path_factory.mktemp("large")
    graph = in_memory(*random_tables(folder, 300, 900))
    save_graph(graph, folder / "small")
    assert (
        run("train", folder / "small", "--out", folder / "model", "--quiet", "--device", "cpu", *QUICK).exit_code == 0
    )
    tables = ("--nodes", folder / "nodes.parquet", "--edges", folder / "edges.parquet", "--split", "part")
    result = run("import-large", *tables, "--out", folder / "big", "--max-memory", "1M")
    assert result.exit_code == 0, result.output
    assert "300 nodes, " in result.stdout
    assert "4 features as float32, 3 classes, 60 labeled" in result.stdout
    return folder


def rows_in(folder):
    return [row for table in read_shards(folder) for row in table.to_pylist()]


def test_predictions_on_a_mapped_graph_are_those_on_the_same_graph_in_memory(run, place, tmp_path):
    for name in ("small", "big"):
        assert run("predict", place / "model", "--graph", place / name, "--out", tmp_path / name).exit_code == 0
    one, other = (
        [row for table in read_shards(tmp_path / name) for row in table.to_pylist()] for name in ("small", "big")
    )
    assert [row["node"] for row in one] == [row["node"] for row in other]
    agree = np.mean([a["class"] == b["class"] for a, b in zip(one, other, strict=True)])
    assert agree > 0.99  # classes that are equally likely may change places
    for a, b in zip(one, other, strict=True):
        assert a["probability_red"] == pytest.approx(b["probability_red"], abs=1e-3)


def test_a_sample_of_nodes_is_drawn_by_the_seed(run, place, tmp_path):
    common = ("predict", place / "model", "--graph", place / "big", "--sample", "40")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run(*common, "--seed", str(seed), "--out", tmp_path / name).exit_code == 0
    a, b, c = ([row["node"] for row in rows_in(tmp_path / name)] for name in "abc")
    assert a == b != c
    assert len(set(a)) == 40


def test_verify_finds_a_changed_array(run, place, tmp_path):
    assert "is whole: 300 nodes" in run("verify", place / "big").stdout
    path = place / "big" / array_file("labels")
    content = path.read_bytes()
    path.write_bytes(content[:-8] + b"\x01" + content[-7:])
    try:
        result = run("verify", place / "big")
        assert result.exit_code == 2
        assert "graph.labels.npy" in result.stderr
    finally:
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["predict", "PLACE/model", "--graph", "PLACE/big", "--sample", "301", "--out", "OUT/p"],
            "at most the 300 nodes",
        ),
        (
            ["predict", "PLACE/model", "--sample", "3", "--out", "OUT/p.csv"],
            "--sample has an effect only if --out is a folder",
        ),
        (["predict", "PLACE/model", "--sample", "3", "--nodes", "#1", "--out", "OUT/p"], "give one of them"),
        (["train", "PLACE/big", "--out", "OUT/m"], "train on a part of it that fits in memory"),
        (["explain", "PLACE/model", "--graph", "PLACE/big", "--all", "--out", "OUT/e"], "are mapped from files"),
        (["explain", "PLACE/model", "--graph", "PLACE/big", "--node", "#3"], "are mapped from files"),
    ],
)
def test_what_a_mapped_graph_is_not_for_is_refused(run, place, tmp_path, arguments, text):
    result = run(*(one.replace("PLACE", str(place)).replace("OUT", str(tmp_path)) for one in arguments))
    assert result.exit_code == 2, result.output
    assert text in result.stderr
