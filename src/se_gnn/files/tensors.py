"""Tensors in the safetensors format, which holds no code; every value is finite.

Reading takes no more memory than the file has bytes, whatever its header says: safetensors checks that types, shapes
and places of all tensors fill the file exactly.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from se_gnn.errors import InputError
from se_gnn.files.json_text import json_bytes, parse_json

if TYPE_CHECKING:
    from torch import Tensor

_SEAL = "sha256"


def load_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """The tensors of a file as PyTorch tensors; ``path`` is where it came from."""
    from safetensors.torch import load

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
    return bytes(save(plain, metadata={**about, _SEAL: _digest(plain, about)}))


def load_sealed(content: bytes, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and texts that :func:`sealed_tensors` wrote; one changed byte is an error."""
    tensors = load_tensors(content, path)
    header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")], path)  # tensors, and texts beside them
    about: dict[str, str] = header.get("__metadata__", {})
    if about.pop(_SEAL, None) != _digest(tensors, about):
        raise InputError(f"{path} cannot be read: it was changed, it does not have its digest")
    return tensors, about


def _digest(tensors: dict[str, Tensor], about: dict[str, str]) -> str:
    described = {name: [str(one.dtype), *one.shape] for name, one in tensors.items()}
    digest = hashlib.sha256(json_bytes([sorted(about.items()), sorted(described.items())]))
    for name in sorted(tensors):
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
