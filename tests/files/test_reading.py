"""What is read is a regular file of an allowed size, JSON of an allowed depth, tensors as their header says."""

from __future__ import annotations

import json
import os
import socket

import numpy as np
import pytest
from safetensors.numpy import save

from se_gnn.errors import InputError
from se_gnn.files import parse_json, read_file
from se_gnn.files.tensors import load_sealed, load_tensors, sealed_tensors


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="must be a regular file, got a pipe"):
        read_file(tmp_path / "pipe")


def test_devices_folders_and_sockets_are_refused(tmp_path):
    with pytest.raises(InputError, match="a socket or a device"):
        read_file(tmp_path.__class__("/dev/zero"))
    with pytest.raises(InputError, match="got a folder"):
        read_file(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(InputError, match="got a pipe, a socket"):
            read_file(tmp_path / "s")


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="must have at most 1,000 bytes, got 1,099,511,627,776"):
        read_file(tmp_path / "sparse", limit=1000)


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000 + "1" + "}" * 5000, "[" * 65 + "]" * 65])
def test_json_that_is_nested_too_deep_is_refused(tmp_path, text):
    with pytest.raises(InputError, match="must have at most 64 levels of JSON"):
        parse_json(text.encode(), tmp_path)


def test_brackets_in_texts_are_no_levels(tmp_path):
    value = {"a": "[" * 5000, "b\\": ["\\", '"[[['] * 50}
    assert parse_json(json.dumps(value).encode(), tmp_path) == value


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": -Infinity}', '{"a": "\\ud800"}', '{"a": ' + "9" * 5000 + "}", "\xff"]
)
def test_what_is_no_plain_json_is_refused(tmp_path, text):
    with pytest.raises(InputError, match="damaged"):
        parse_json(text.encode("latin-1"), tmp_path)


def test_deep_json_in_another_encoding_is_refused(tmp_path):
    with pytest.raises(InputError):
        parse_json(("[" * 100_000).encode("utf-16"), tmp_path)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 800]},
        {"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]},
        {"dtype": "X", "shape": [2], "data_offsets": [0, 8]},
        {"shape": [2]},
        7,
    ],
)
def test_a_header_that_does_not_fit_is_refused(tmp_path, entry):
    header = json.dumps({"a": entry}).encode()
    with pytest.raises(InputError, match="cannot be read"):
        load_tensors(len(header).to_bytes(8, "little") + header + bytes(8), tmp_path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(tmp_path, value):
    with pytest.raises(InputError, match="not finite"):
        load_tensors(save({"a": np.array([1.0, value], np.float32)}), tmp_path)


def test_every_changed_byte_of_a_sealed_file_is_noticed(tmp_path):
    import torch

    content = sealed_tensors({"a": torch.arange(4.0), "b": torch.zeros(2, 2)}, {"x": "y"})
    tensors, about = load_sealed(content, tmp_path)
    assert (tensors["a"].tolist(), about) == ([0, 1, 2, 3], {"x": "y"})
    for place in range(len(content)):
        spoiled = bytearray(content)
        spoiled[place] ^= 1
        try:
            found, other = load_sealed(bytes(spoiled), tmp_path)
        except InputError:
            continue
        assert other == about  # a change that means nothing, such as white space in the header
        assert all(torch.equal(found[name], tensors[name]) for name in tensors)
