"""Files without a known digest, and what an error says where files are missing."""

from __future__ import annotations

import hashlib
import io
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from se_gnn.datasets import load_dataset
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.errors import InputError

pytestmark = pytest.mark.usefixtures("private_cache")

UNKNOWN_DIGEST = RawFile("table.csv", "https://example.org/table.csv", None)


def test_a_download_without_a_known_digest_prints_its_own(serve, capsys):
    serve(lambda name: b"1,2")
    assert read_verified([UNKNOWN_DIGEST], "some", data_dir=None) == {"table.csv": b"1,2"}
    assert f"table.csv has the SHA-256 {hashlib.sha256(b'1,2').hexdigest()}" in capsys.readouterr().err


def test_a_download_without_a_known_digest_that_breaks_off_leaves_nothing(serve, private_cache):
    serve(lambda name: b"1,2", announced=100)
    with pytest.raises(InputError, match="3 bytes read, 97 more expected"):
        read_verified([UNKNOWN_DIGEST], "some", data_dir=None)
    assert not [path for path in private_cache.rglob("*") if path.is_file()]


def test_files_at_hand_are_read_without_the_package_for_downloads(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "table.csv").write_bytes(b"1,2")
    assert read_verified([UNKNOWN_DIGEST], "some", data_dir=tmp_path) == {"table.csv": b"1,2"}
    with pytest.raises(InputError) as caught:
        read_verified([UNKNOWN_DIGEST], "other", data_dir=tmp_path)
    for words in ("pip install 'se-gnn[data]'", "https://example.org", "table.csv", str(tmp_path / "other")):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "what", "where", "folder"),
    [
        ("citeseer", "citeseer.npz", "https://raw.githubusercontent.com/danielzuegner/gnn-meta-attack", "nettack"),
        ("amazon-computers", "amazon_electronics_computers.npz", "https://github.com/shchur/gnn-benchmark", "Amazon"),
        ("coauthor-cs", "ms_academic_cs.npz", "https://github.com/shchur/gnn-benchmark", "Coauthor"),
    ],
)
def test_missing_data_without_network_says_what_to_get_from_where_and_where_to_put_it(
    name, what, where, folder, tmp_path
):
    with pytest.raises(InputError) as caught:
        load_dataset(name, data_dir=tmp_path)
    text = str(caught.value)
    assert all(part in text for part in (what, where, str(tmp_path / folder), "SE_GNN_DATA"))


def gnn_benchmark_file(path, **changes):
    generator = np.random.default_rng(0)
    adjacency, words = sp.random_array((160, 160), density=0.05, rng=generator).tocsr(), sp.eye_array(160, 9).tocsr()
    arrays = {"labels": np.arange(160) % 2}
    for name, matrix in (("adj", adjacency), ("attr", words)):
        arrays |= {f"{name}_{piece}": getattr(matrix, piece) for piece in ("data", "indices", "indptr", "shape")}
    path.parent.mkdir(parents=True)
    np.savez(path, **{**arrays, **changes})
    return adjacency


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("amazon-computers", "Amazon/Computers/raw/amazon_electronics_computers.npz"),
        ("coauthor-cs", "Coauthor/CS/raw/ms_academic_cs.npz"),
    ],
)
def test_a_graph_of_gnn_benchmark_is_read_symmetrized_and_split_by_the_seed(name, file, tmp_path):
    adjacency = gnn_benchmark_file(tmp_path / file)
    one, other = (load_dataset(name, seed=seed, data_dir=tmp_path) for seed in (0, 1))
    expected = sp.triu(adjacency + adjacency.T, k=1)
    np.testing.assert_array_equal(one.edges.ends, np.argwhere(expected.toarray()))
    assert (len(one.train), len(one.validation), len(one.test)) == (40, 60, 60)
    assert np.bincount(one.labels[one.train]).tolist() == [20, 20]
    assert one.train.tolist() != other.train.tolist()
    np.testing.assert_array_equal(one.edges.ends, other.edges.ends)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"attr_data": np.array([{}], dtype=object)}, "cannot be read as an .npz file.*Object arrays cannot be loaded"),
        ({"adj_indices": np.array([500])}, "adj_data, .* must be the pieces of a CSR matrix"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(changes, text, tmp_path):
    gnn_benchmark_file(tmp_path / "Coauthor/CS/raw/ms_academic_cs.npz", **changes)
    with pytest.raises(InputError, match=rf"ms_academic_cs\.npz:? {text}"):
        load_dataset("coauthor-cs", data_dir=tmp_path)


def test_a_page_saved_in_place_of_a_file_is_refused(tmp_path):
    path = tmp_path / "Coauthor/CS/raw/ms_academic_cs.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(io.BytesIO(b"<html>Not found</html>").getvalue())
    with pytest.raises(InputError, match=r"ms_academic_cs\.npz cannot be read as an .npz file"):
        load_dataset("coauthor-cs", data_dir=tmp_path)
