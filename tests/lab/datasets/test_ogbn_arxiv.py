"""`ogbn-arxiv` on a tiny folder in OGB's layout; the real files are not at hand."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from lab.datasets import load_dataset
from se_gnn.errors import InputError
from se_gnn.settings import Settings
from se_gnn.training import fit

TABLES = {
    "raw/edge.csv.gz": "0,1\n1,0\n2,3\n4,1\n5,0\n",
    "raw/node-feat.csv.gz": "0.5,1\n-0.25,1e-3\n0,0\n1,1\n0.5,0.9\n-0.2,0\n",
    "raw/node-label.csv.gz": "4\n39\n4\n39\n4\n39\n",
    "split/time/train.csv.gz": "0\n1\n2\n3\n",
    "split/time/valid.csv.gz": "5\n",
    "split/time/test.csv.gz": "4\n",
}


@pytest.fixture
def raw_folder(tmp_path, private_cache):
    for name, text in TABLES.items():
        path = tmp_path / "ogbn_arxiv" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_raw_files_become_a_graph_with_the_published_split(raw_folder):
    graph = load_dataset("ogbn-arxiv", data_dir=raw_folder)
    assert graph.edges.ends.tolist() == [[0, 1], [0, 5], [1, 4], [2, 3]]
    assert graph.merged.reciprocal == 1
    np.testing.assert_array_equal(graph.features[:2], np.array([[0.5, 1], [-0.25, 1e-3]], np.float32))
    assert graph.labels.tolist() == [4, 39, 4, 39, 4, 39]
    assert graph.num_classes == 40
    assert (graph.train.tolist(), graph.validation.tolist(), graph.test.tolist()) == ([0, 1, 2, 3], [5], [4])


def test_a_model_can_be_trained_on_it(raw_folder):
    graph = load_dataset("ogbn-arxiv", data_dir=raw_folder)
    asked = Settings.of("paper", epochs=1, num_nearest=1)
    assert fit(graph, asked, seed=0).facts.epochs == 1


@pytest.mark.parametrize(
    ("file", "content", "text"),
    [
        pytest.param("edge", b"0,1\n", "cannot be read: Not a gzipped file", id="not compressed"),
        pytest.param("edge", gzip.compress(b"0,1\n")[:-4], "cannot be read", id="cut off"),
        pytest.param("edge", gzip.compress(b"0,1.5\n"), "must hold whole numbers", id="fractions for edges"),
        pytest.param("node-feat", gzip.compress(b"a,b\n"), "cannot be read", id="words for features"),
    ],
)
def test_a_damaged_file_is_named(raw_folder, file, content, text):
    (raw_folder / f"ogbn_arxiv/raw/{file}.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match=rf"{file}\.csv\.gz of ogbn-arxiv {text}"):
        load_dataset("ogbn-arxiv", data_dir=raw_folder)
