"""Ways to spoil a file: blindly, byte by byte, and with knowledge of JSON, NumPy files and safetensors."""

from __future__ import annotations

import copy
import io
import json
import random
from typing import Any

import numpy as np
from safetensors.numpy import load, save


def deep(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**6, 10**9, 2**31, 2**63, 2**64, 10**40, 10**400, 0.5, -0.0, 1e-320, 1e38,
    1e308, -1e308, "", "x", "none", "nan", "1", "\x00", "\ud800", "é\u202e\x1b[31m", "x" * 5000, [], [[]], {},
    {"x": 1}, [None], [1, 2], ["a", "a"], [[1, 2], [3, 4]], deep(30), deep(70), deep(400), list(range(300)),
)  # fmt: skip


def spoil_bytes(content: bytes, draw: random.Random) -> bytes:
    """Flip, cut, insert, repeat or overwrite some bytes."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 5, 20))):
        size = len(data)
        place, length = draw.randrange(size + 1), draw.choice((1, 1, 2, 8, 64))
        kind = draw.randrange(7)
        if kind == 0 and size:
            data[place % size] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del data[place:]
        elif kind == 2:
            del data[place : place + length]
        elif kind == 3:
            data[place:place] = draw.randbytes(length)
        elif kind == 4:
            data[place:place] = data[place : place + length] * draw.choice((1, 2, 50))
        elif kind == 5:
            data[place : place + length] = bytes(length) if draw.random() < 0.5 else b"\xff" * length
        else:
            word = draw.choice(
                (b'"', b"{", b"[", b"\n", b",", b"-", b"9" * 400, b"1e999", b"NaN", b"[" * 5000, b"\xff")
            )
            data[place : place + draw.choice((0, 1))] = word
    return bytes(data)


def spoil_value(value: Any, draw: random.Random) -> Any:
    """Change something somewhere in a JSON value."""
    value = copy.deepcopy(value)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        value = _spoil_once(value, draw)
    return value


def _spoil_once(value: Any, draw: random.Random) -> Any:
    if isinstance(value, dict) and value and draw.random() < 0.95:
        key = draw.choice(list(value))
        kind = draw.random()
        if kind < 0.08:
            del value[key]
        elif kind < 0.14:
            value[draw.choice(("x", "", key + "_", key.upper()))] = value.pop(key)
        else:
            value[key] = _spoil_once(value[key], draw)
        return value
    if isinstance(value, list) and value and draw.random() < 0.7:
        place = draw.randrange(len(value))
        kind = draw.random()
        if kind < 0.15:
            del value[place]
        elif kind < 0.3:
            value.insert(place, value[place])
        elif kind < 0.4:
            draw.shuffle(value)
        else:
            value[place] = _spoil_once(value[place], draw)
        return value
    if isinstance(value, int | float) and draw.random() < 0.4:
        return draw.choice((value + 1, value - 1, -value, value * 2, value * 10**9, str(value)[:400]))
    return copy.deepcopy(draw.choice(NASTY))


def json_text(value: Any, draw: random.Random) -> bytes:
    """As JSON, at times with numbers that JSON does not know."""
    text = json.dumps(value)
    if draw.random() < 0.03:
        text = text.replace("0.", "NaN", 1) if "0." in text else text.replace(":", ': Infinity, "x":', 1)
    return text.encode()


def spoil_tensors(content: bytes, draw: random.Random) -> bytes:
    """Change values, types, shapes or names, or the header alone."""
    if draw.random() < 0.35:
        return _spoil_header(content, draw)
    arrays = dict(load(content))
    for _ in range(draw.choice((1, 1, 2))):
        if not arrays:
            break
        name = draw.choice(list(arrays))
        kind = draw.random()
        if kind < 0.12:
            del arrays[name]
        elif kind < 0.24:
            arrays[draw.choice(("surplus", name + "x", "", "features", "raw.text"))] = arrays[name].copy()
        else:
            arrays[name] = _spoil_array(arrays[name], draw)
    return bytes(save(arrays))


def spoil_npy(content: bytes, draw: random.Random) -> tuple[bytes, np.ndarray]:
    """Another array in a NumPy file, and that array."""
    array = _spoil_array(np.load(io.BytesIO(content)), draw)
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue(), array


def _spoil_array(array: np.ndarray, draw: random.Random) -> np.ndarray:
    """Change the type, the shape or some values."""
    array, kind = array.copy(), draw.randrange(6)
    if kind == 0:
        with np.errstate(invalid="ignore"):  # of infinite values
            array = array.astype(
                draw.choice((np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_))
            )
    elif kind == 1:
        array = draw.choice((array.ravel(), array[None], array[:-1] if array.ndim else array, array.T.copy()))
    elif array.size:
        flat = array.reshape(-1)
        place = draw.randrange(flat.size)
        values = (0, 1, -1, 5, 10**6) if array.dtype.kind in "iu" else (0, 1, -1, 1e30, np.nan, np.inf)
        if array.dtype == np.int64 and draw.random() < 0.4:
            values = (2**63 - 1, -(2**63), 2**31, -2)
        if array.dtype == np.uint8:
            values = (0, 255, 128)
        with np.errstate(all="ignore"):
            flat[place : place + draw.choice((1, 1, 3))] = np.array(draw.choice(values)).astype(array.dtype)
    return np.ascontiguousarray(array)


def _spoil_header(content: bytes, draw: random.Random) -> bytes:
    length = int.from_bytes(content[:8], "little")
    header = json_text(spoil_value(json.loads(content[8 : 8 + length]), draw), draw)
    claimed = draw.choice((len(header),) * 6 + (0, 2**40, 2**63))
    return claimed.to_bytes(8, "little") + header + content[8 + length :]
