"""Citation graphs: sizes, the public split, and that no byte is unpickled before it was checked."""

from __future__ import annotations

import pickle
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from se_gnn.datasets import load_dataset, public
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN

pytestmark = pytest.mark.usefixtures("private_cache")


@pytest.fixture
def no_reader(monkeypatch):
    """Fail when anything is handed to the reader that unpickles."""

    def read(name, contents):
        pytest.fail("unchecked bytes reached the reader")

    monkeypatch.setattr(public, "_read", read)


@pytest.fixture
def cora_copy(data_dir, tmp_path):
    """A data folder of its own with the files of Cora, writable."""
    folder = tmp_path / "data" / "Planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    for source in (data_dir / "Planetoid" / "Cora" / "raw").iterdir():
        shutil.copyfile(source, folder / source.name)
    return folder


class Bomb:
    """Unpickling it fails the test."""

    def __reduce__(self):
        return pytest.fail, ("an unchecked pickle was loaded",)


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "class_sizes", "labeled"),
    [
        ("cora", 2708, 5278, 1433, [351, 217, 418, 818, 426, 298, 180], 140),
        ("citeseer-planetoid", 3327, 4552, 3703, [249, 590, 668, 701, 596, 508], 120),
        ("pubmed", 19717, 44324, 500, [4103, 7739, 7875], 60),
    ],
)
def test_sizes_are_the_published_ones(data_dir, name, nodes, edges, features, class_sizes, labeled):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    graph = load_dataset(name, data_dir=data_dir)
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (nodes, edges, features)
    assert (len(graph.train), len(graph.validation), len(graph.test)) == (labeled, 500, 1000)
    assert np.bincount(graph.labels[graph.labels != UNKNOWN]).tolist() == class_sizes
    assert np.bincount(graph.labels[graph.train]).tolist() == [20] * len(class_sizes)
    assert len(graph.class_names) == len(class_sizes)
    assert sp.issparse(graph.features)
    graph.check_trainable()


def test_papers_of_citeseer_without_words_or_label_are_unknown(data_dir):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    graph = load_dataset("citeseer-planetoid", data_dir=data_dir)
    unknown = np.flatnonzero(graph.labels == UNKNOWN)
    assert len(unknown) == 15
    assert graph.features[unknown].nnz == 0


def test_the_data_folder_may_be_named_by_the_environment_and_is_not_written_to(cora_copy, monkeypatch, private_cache):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    root = cora_copy.parents[2]
    before = sorted(root.rglob("*"))
    monkeypatch.setenv("SE_GNN_DATA", str(root))
    assert load_dataset("Cora").num_nodes == 2708
    assert sorted(root.rglob("*")) == before
    assert not private_cache.exists()


@pytest.mark.usefixtures("no_reader")
def test_a_tampered_file_is_refused_before_it_is_unpickled(cora_copy):
    (cora_copy / "ind.cora.graph").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match=r"ind\.cora\.graph is not the published file and was not opened: its SHA-256"):
        load_dataset("cora", data_dir=cora_copy.parents[2])


@pytest.mark.usefixtures("no_reader")
def test_a_tampered_file_in_the_cache_is_refused_as_well(private_cache):
    folder = private_cache / "Planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    (folder / "ind.cora.x").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match=r"ind\.cora\.x is not the published file"):
        load_dataset("cora")


def test_the_reader_gets_the_bytes_that_were_checked(cora_copy, monkeypatch):
    """A file that changes between check and use changes nothing."""
    seen = {}

    def read_planetoid_data(folder, name):
        (cora_copy / "ind.cora.x").write_bytes(b"changed after the check")
        seen.update({path.name: path.read_bytes() for path in public.Path(folder).iterdir()})
        raise StopIteration

    fake = SimpleNamespace(read_planetoid_data=read_planetoid_data)
    monkeypatch.setattr(public, "require", lambda *_, **__: fake)
    with pytest.raises(StopIteration):
        load_dataset("cora", data_dir=cora_copy.parents[2])
    assert len(seen) == 8
    assert seen["ind.cora.x"] != b"changed after the check"


@pytest.mark.usefixtures("no_reader")
def test_absent_data_without_network_says_what_to_get_from_where_and_where_to_put_it(tmp_path, private_cache):
    with pytest.raises(InputError) as caught:
        load_dataset("pubmed", data_dir=tmp_path)
    text = str(caught.value)
    assert "could not be downloaded (no network in tests)" in text
    assert "ind.pubmed.x, ind.pubmed.tx" in text
    assert "from https://github.com/kimiyoung/planetoid/raw/master/data" in text
    assert f"into {tmp_path / 'Planetoid' / 'PubMed' / 'raw'}" in text
    assert "SE_GNN_DATA" in text
    assert not [path for path in private_cache.rglob("*") if path.is_file()]  # no half file is left


@pytest.mark.usefixtures("no_reader")
def test_absent_data_without_a_data_folder_names_the_cache(private_cache):
    with pytest.raises(InputError, match=re.escape(f"into {private_cache / 'Planetoid' / 'CiteSeer' / 'raw'}")):
        load_dataset("citeseer-planetoid")


@pytest.mark.usefixtures("no_reader")
def test_a_download_that_is_not_the_published_file_is_deleted(serve, private_cache):
    serve(lambda name: pickle.dumps(Bomb()))
    with pytest.raises(
        InputError, match=r"downloaded from https://\S+/ind\.cora\.x is not the published file and was del"
    ):
        load_dataset("cora")
    assert not [path for path in private_cache.rglob("*") if path.is_file()]


def test_missing_files_are_downloaded_once_and_then_read_from_the_cache(data_dir, serve, private_cache, capsys):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    raw = data_dir / "Planetoid" / "Cora" / "raw"
    asked = serve(lambda name: (raw / name).read_bytes())
    assert load_dataset("cora").num_edges == 5278
    assert len(asked) == 8
    assert load_dataset("cora").num_edges == 5278
    assert len(asked) == 8
    assert sorted(path.name for path in private_cache.rglob("*") if path.is_file()) == sorted(
        f"ind.cora.{part}" for part in public.PLANETOID_SHA256["cora"]
    )
    assert "ind.cora.allx: 100%" in capsys.readouterr().err  # progress


@pytest.mark.parametrize("source", ["data_dir", "SE_GNN_DATA"])
def test_a_data_folder_that_does_not_exist_is_refused(source, monkeypatch):
    folder = "/no/such/folder"
    if source == "SE_GNN_DATA":
        monkeypatch.setenv(source, folder)
    with pytest.raises(InputError, match=f"{source} must name an existing folder, got '{folder}'"):
        load_dataset("cora", data_dir=folder if source == "data_dir" else None)
