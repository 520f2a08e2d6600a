import errno
import json
import os
import pickle
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from se_gnn.errors import InputError
from se_gnn.files import sha256
from se_gnn.graph import Graph
from se_gnn.graph.storage import is_graph_file
from se_gnn.labels import Memory
from se_gnn.model import SEGNN, Model, Run, RunFacts
from se_gnn.model.folder import is_model_folder, load_model, save_model
from se_gnn.settings import Decision, Settings
from strategies import random_graph, small_settings, untrained

FILES = ["facts.json", "graph.json", "model.safetensors", "settings.json"]
ARRAY = "graph.labels.npy"  # one of those that graph.json has the digests of


@pytest.fixture
def trained():
    generator = np.random.default_rng(0)
    graph = Graph.build(
        features=generator.normal(size=(12, 5)),
        edges=generator.integers(0, 12, (20, 2)),
        labels=np.arange(12) % 2,
        train=np.arange(6),
        test=np.arange(6, 12),
    )
    settings = Settings.of("paper", hidden_size=4, num_nearest=3, patience="none").resolve()
    decided = settings.decided("validation", {"node_weight": 0.7}, Decision("lambda = 0.7", "best of three"))
    model = SEGNN(5, decided, generator=torch.Generator().manual_seed(1))
    run = Run(
        name="training", seed=3, epochs=4, best_epoch=2, stopped_early=False, val_accuracy=None, val_loss=0.1,
        seconds_per_epoch=0.5,
    )  # fmt: skip
    facts = RunFacts(seed=3, calibration=0.3, runs=(run,), chosen="training", validation={"accuracy": None})
    return Model(model, graph, model.settings, facts)


@pytest.fixture
def folder(trained, tmp_path):
    save_model(trained, tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, name: str, content: bytes, *, seal: bool = True) -> None:
    """Replace a file, and its digest too where the change is to be found out by what is in it."""
    (folder / name).write_bytes(content)
    if seal:
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][name] = sha256(content)
        (folder / "manifest.json").write_text(json.dumps(manifest))


def change_manifest(folder: Path, **values) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, **values}))


def test_a_model_comes_back_with_the_same_bits_and_predicts_the_same(trained, folder):
    loaded = load_model(folder)
    for name, tensor in trained.encoder.state_dict().items():
        assert torch.equal(loaded.encoder.state_dict()[name], tensor)
    assert loaded.settings == trained.settings
    assert loaded.facts == trained.facts
    before, after = trained.predict(), loaded.predict()
    assert np.array_equal(before.probabilities, after.probabilities)
    assert np.array_equal(before.cases, after.cases)
    assert not loaded.encoder.training


def test_a_model_folder_holds_the_files_and_a_manifest_of_their_digests(folder):
    names = {path.name for path in folder.iterdir()}
    assert {name for name in names if name not in FILES and not is_graph_file(name)} == {"manifest.json"}
    assert ARRAY in names
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["format"], manifest["version"]) == ("se-gnn-model", 1)
    assert manifest["files"] == {name: sha256((folder / name).read_bytes()) for name in FILES}


def test_the_log_of_the_epochs_is_sealed_where_there_is_one(trained, folder):
    save_model(trained, folder, epochs=b"{}\n")
    load_model(folder)
    (folder / "metrics.jsonl").write_text("{}\n{}\n")
    with pytest.raises(InputError, match=r"metrics.jsonl is truncated or was changed"):
        load_model(folder)


def test_saving_again_gives_the_same_bytes_and_leaves_other_files_alone(trained, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "notes.txt").write_text("mine")
    save_model(trained, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {**before, "notes.txt": b"mine"}


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"model folder .*nowhere does not exist"):
        load_model(tmp_path / "nowhere")


def test_a_file_is_no_model_folder(folder):
    with pytest.raises(InputError, match=r"settings.json is not a model folder but a file"):
        load_model(folder / "settings.json")


def test_a_folder_without_manifest_is_no_finished_model(folder):
    (folder / "manifest.json").unlink()
    assert not is_model_folder(folder)
    with pytest.raises(InputError, match=r"or its training has not ended: manifest.json is missing"):
        load_model(folder)


@pytest.mark.parametrize("name", [*FILES, ARRAY])
def test_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        load_model(folder)


@pytest.mark.parametrize("name", [*FILES, ARRAY])
def test_truncated_file_is_named(folder, name):
    content = (folder / name).read_bytes()
    rewrite(folder, name, content[: len(content) // 2], seal=False)
    with pytest.raises(InputError, match=f"{name} is truncated or"):
        load_model(folder)


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_is_noticed(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    rewrite(folder, name, bytes(content), seal=False)
    with pytest.raises(InputError, match=f"{name} is truncated or was changed"):
        load_model(folder)


def test_truncated_manifest_is_named(folder):
    (folder / "manifest.json").write_text('{"format": "se-gn')
    with pytest.raises(InputError, match=r"manifest.json is truncated or damaged"):
        load_model(folder)


def test_newer_version_says_which_it_is_and_which_can_be_read(folder):
    change_manifest(folder, version=7)
    with pytest.raises(InputError, match=r"manifest.json was written by a newer version \(7\), this one reads up to 1"):
        load_model(folder)


def test_a_manifest_of_something_else_is_refused(folder):
    change_manifest(folder, format="other")
    assert not is_model_folder(folder)
    with pytest.raises(InputError, match="format must be 'se-gnn-model', got 'other'"):
        load_model(folder)


@pytest.mark.parametrize("files", [{}, None, {"../secret": "0"}])
def test_a_manifest_that_names_other_files_is_refused(folder, files):
    change_manifest(folder, files=files)
    with pytest.raises(InputError, match=r"manifest.json is damaged: it must name the files"):
        load_model(folder)


def test_a_pickle_in_place_of_the_parameters_is_never_opened(folder):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was loaded",))

    rewrite(folder, "model.safetensors", pickle.dumps(Trap()))
    with pytest.raises(InputError, match=r"model.safetensors cannot be read"):
        load_model(folder)


def test_parameters_of_another_shape_are_refused(folder):
    tensors = load((folder / "model.safetensors").read_bytes())
    name = "network.layers.0.weight"
    rewrite(folder, "model.safetensors", save({**tensors, name: torch.zeros(4, 9)}))
    with pytest.raises(InputError, match=rf"tensor {name} must be torch.float32 of shape \(4, 5\), got .*\(4, 9\)"):
        load_model(folder)


def test_parameters_of_another_type_are_refused(folder):
    tensors = load((folder / "model.safetensors").read_bytes())
    rewrite(folder, "model.safetensors", save({name: tensor.double() for name, tensor in tensors.items()}))
    with pytest.raises(InputError, match=r"must be torch.float32 .* got torch.float64"):
        load_model(folder)


def test_missing_and_unknown_parameters_are_named(folder):
    tensors = load((folder / "model.safetensors").read_bytes())
    tensors["surplus"] = tensors.pop("network.layers.0.bias")
    rewrite(folder, "model.safetensors", save(tensors))
    with pytest.raises(InputError, match=r"missing tensors \['network.layers.0.bias'\], unknown \['surplus'\]"):
        load_model(folder)


def test_a_setting_that_is_not_known_names_the_file(folder):
    stored = json.loads((folder / "settings.json").read_text())
    stored["values"]["magic"] = 1
    rewrite(folder, "settings.json", json.dumps(stored).encode())
    with pytest.raises(InputError, match=r"settings.json cannot be used: .* 'magic' is missing or unknown"):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"given": {"num_nearest": {"value": 4, "source": "python"}}},
        {"given": {}},
        {"given": {"num_nearest": {"value": 3, "source": "hearsay"}}},
        {"origin": {}},
        {"preset": "nonsense"},
        {"decisions": [{"what": 3}]},
        {"decisions": ["K = 3"]},
        {"values": []},
        {"origin": "given"},
        {"values": ["x"]},
    ],
)
def test_a_record_of_settings_that_contradicts_itself_is_refused(folder, change):
    stored = json.loads((folder / "settings.json").read_text())
    rewrite(folder, "settings.json", json.dumps({**stored, **change}).encode())
    with pytest.raises(InputError, match=r"settings.json cannot be used: "):
        load_model(folder)


@pytest.mark.parametrize(
    "change", [{"seed": "three"}, {"seed": True}, {"runs": 3}, {"runs": [3]}, {"runs": [{"name": "x"}]}, {"more": 1}]
)
def test_facts_of_the_wrong_type_are_refused(folder, change):
    stored = json.loads((folder / "facts.json").read_text())
    rewrite(folder, "facts.json", json.dumps({**stored, **change}).encode())
    with pytest.raises(InputError, match=r"facts.json cannot be used: "):
        load_model(folder)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_cannot_be_written_to_is_named_with_the_reason(trained, tmp_path, monkeypatch, code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=f"cannot write to .*model: {os.strerror(code)}"):
        save_model(trained, tmp_path / "model")
    assert list((tmp_path / "model").iterdir()) == []


def test_a_read_only_place_for_the_folder_is_named_with_the_reason(trained, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(InputError, match=r"cannot write to .*model: Read-only file system"):
        save_model(trained, tmp_path / "model")


def test_the_log_of_an_earlier_run_does_not_stay_with_a_new_model(trained, folder):
    save_model(trained, folder, epochs=b"{}\n")
    save_model(trained, folder)
    assert not (folder / "metrics.jsonl").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_parameters_that_are_not_finite_are_refused(folder, value):
    tensors = load((folder / "model.safetensors").read_bytes())
    tensors["network.layers.1.weight"][1, 2] = value
    rewrite(folder, "model.safetensors", save(tensors))
    with pytest.raises(InputError, match=r"numbers that are not finite .* in 'network.layers.1.weight'"):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_size": 10**9},
        {"hidden_size": 10**40},
        {"num_layers": 10**6},
        {"num_layers": 10**30},
        {"members": 10**6},
    ],
)
def test_settings_that_ask_for_more_than_the_file_holds_are_refused_before_a_module_is_built(folder, change):
    stored = json.loads((folder / "settings.json").read_text())
    stored["values"] |= change
    stored["given"] |= {name: {"value": value, "source": "python"} for name, value in change.items()}
    stored["origin"] |= dict.fromkeys(change, "given")
    rewrite(folder, "settings.json", json.dumps(stored).encode())
    tracemalloc.start()
    start = time.monotonic()
    refusal = (
        r"model.safetensors does not fit settings.json: |settings.json cannot be used: .* must be at most 2147483647"
    )
    with pytest.raises(InputError, match=refusal):
        load_model(folder)
    assert time.monotonic() - start < 2
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_finite_parameters_that_are_too_large_are_an_error_and_no_nan(folder):
    tensors = load((folder / "model.safetensors").read_bytes())
    tensors["network.layers.1.weight"][:] = 1e30
    rewrite(folder, "model.safetensors", save(tensors))
    with pytest.raises(InputError, match=r"embeddings of graph must be below 1e\+16, got larger ones or NaN"):
        load_model(folder).predict()


def edited(trained, node):
    return Memory(trained).remove([node]).edited


@pytest.fixture
def loaded(tmp_path):
    graph = random_graph(1, num_nodes=20, num_labeled=8)
    save_model(untrained(graph, small_settings()), tmp_path / "edits")
    return load_model(tmp_path / "edits")


def test_of_two_that_loaded_a_model_the_second_cannot_undo_the_edit_of_the_first(loaded, tmp_path):
    folder = tmp_path / "edits"
    first, second = edited(loaded, 0), edited(load_model(folder), 1)
    save_model(first, folder)
    with pytest.raises(InputError, match=r"has changed since this model was loaded.*load it again and repeat the edit"):
        save_model(second, folder)
    assert len(load_model(folder).history) == 1
    save_model(second, tmp_path / "other")  # another folder is fine
    save_model(edited(load_model(folder), 1), folder)
    assert len(load_model(folder).history) == 2


def test_two_edits_of_one_loaded_model_do_not_undo_each_other(loaded, tmp_path):
    first, second = edited(loaded, 0), edited(loaded, 1)
    save_model(first, tmp_path / "edits")
    with pytest.raises(InputError, match="has changed since"):
        save_model(second, tmp_path / "edits")


def test_edits_that_go_on_from_each_other_are_saved_one_after_the_other(loaded, tmp_path):
    folder, model = tmp_path / "edits", loaded
    for node in (0, 1, 2):
        model = edited(model, node)
        save_model(model, folder)
    assert len(load_model(folder).history) == 3


def test_a_model_that_was_saved_first_and_edited_by_others_is_not_replaced(tmp_path):
    folder, model = tmp_path / "fresh", untrained(random_graph(1, num_nodes=20, num_labeled=8), small_settings())
    save_model(model, folder)
    save_model(edited(load_model(folder), 0), folder)
    with pytest.raises(InputError, match="has changed since"):
        save_model(edited(model, 1), folder)
