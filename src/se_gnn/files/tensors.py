"""Tensors in the safetensors format: the header is checked before anything is allocated, and every value is finite.

The format is 8 bytes with the length of a JSON header, the header (dtype, shape and place of each tensor), the numbers.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safetensors import SafetensorError

from se_gnn.errors import InputError
from se_gnn.files.json_text import parse_json
from se_gnn.files.reading import SMALL, sha256

if TYPE_CHECKING:
    from torch import Tensor

BYTES = {"F64": 8, "F32": 4, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_SEAL = "sha256"


class TensorInfo(NamedTuple):
    """What the header says about a tensor."""

    dtype: str
    shape: tuple[int, ...]


class Header(NamedTuple):
    """The header of a file, and where its numbers begin."""

    tensors: dict[str, TensorInfo]
    about: dict[str, str]
    start: int


def read_header(content: bytes, path: Path) -> Header:
    """Names, types and shapes; a header that does not fit the length of the file is refused."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, SMALL):
        raise InputError(f"{path} cannot be read: it is truncated or not a safetensors file")
    entries = parse_json(content[8 : 8 + length], path)
    about = entries.pop("__metadata__", {})
    if not isinstance(about, dict) or not all(isinstance(value, str) for value in about.values()):
        raise InputError(f"{path} cannot be read: its metadata must be texts")
    tensors, places = {}, []
    for name, entry in entries.items():
        tensors[name], place = _entry(name, entry, path)
        places.append(place)
    position = 0
    for begin, end in sorted(places):
        if begin != position:
            raise InputError(f"{path} cannot be read: its tensors must lie one after the other")
        position = end
    if position != len(content) - 8 - length:
        raise InputError(f"{path} cannot be read: it is truncated, or longer than its header says")
    return Header(tensors, about, 8 + length)


def load_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """The tensors of a file as PyTorch tensors."""
    from safetensors.torch import load

    read_header(content, path)
    try:
        tensors: dict[str, Tensor] = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(
                f"{path} holds numbers that are not finite (NaN or infinite) in {name!r}; it cannot be used"
            )
    return tensors


def sealed_tensors(tensors: dict[str, Tensor], about: dict[str, str]) -> bytes:
    """The content of a file that holds a digest of itself, besides tensors and texts."""
    from safetensors.torch import save

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(plain, metadata=about)
    return bytes(save(plain, metadata={**about, _SEAL: _digest(content, Path())}))


def load_sealed(content: bytes, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and texts that :func:`sealed_tensors` wrote; one changed byte is an error."""
    about = dict(read_header(content, path).about)
    if about.pop(_SEAL, None) != _digest(content, path):
        raise InputError(f"{path} cannot be read: it is truncated or was changed, it does not have its digest")
    return load_tensors(content, path), about


def _digest(content: bytes, path: Path) -> str:
    header = read_header(content, path)
    about = {name: text for name, text in header.about.items() if name != _SEAL}
    parts = json.dumps([sorted(header.tensors.items()), sorted(about.items())])
    return sha256(parts.encode() + content[header.start :])


def _entry(name: str, entry: Any, path: Path) -> tuple[TensorInfo, tuple[int, int]]:
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = (*shape, begin, end)
        fits = all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)
        if not fits or dtype not in BYTES or end - begin != math.prod(shape) * BYTES[dtype]:
            raise ValueError("type, shape and place must fit")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} cannot be read: tensor {name[:60]!r} is not described right ({error})") from error
    return TensorInfo(dtype, tuple(shape)), (begin, end)
