"""Golden files: for each answer its shape, a digest of all of its numbers, and the first of them to look at.

A digest is compared only where the same bits can be expected: on the same kind of processor, with the same versions.
Elsewhere, and for answers whose name says "rounded", the first numbers are compared with a tolerance.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch

FOLDER = Path(__file__).parent
SHOWN = 6  # numbers of each answer that a file shows; all of a rounded one up to so many
ROUNDED = 60
TOLERANCE, ELSEWHERE = 1e-6, 1e-3


def made_with() -> dict[str, str]:
    """All that the bits of an answer depend on besides our own code."""
    versions = {package.__name__: str(package.__version__) for package in (numba, np, torch)}
    return {"machine": platform.machine(), "vectors": torch.backends.cpu.get_cpu_capability(), **versions}


def summary(name: str, values: Any) -> dict[str, Any]:
    """What a file keeps of one answer; numbers of any width count as the same if they are equal."""
    array = np.asarray(values)
    shape = list(array.shape)
    if array.dtype.kind in "US":
        content, shown = "\n".join(array.ravel().tolist()).encode(), array.ravel()[:SHOWN].tolist()
    else:
        whole = array.dtype.kind in "biu"
        flat = array.ravel().astype(np.int64 if whole else np.float64) + 0  # -0.0 becomes 0.0
        content = flat.tobytes()
        some = flat[: ROUNDED if "rounded" in name else SHOWN]
        shown = some.tolist() if whole else [_shown(one) for one in some.tolist()]
    kept: dict[str, Any] = {"shape": shape, "first": shown}
    if "rounded" not in name:
        kept["sha256"] = hashlib.sha256(content).hexdigest()[:24]
    return kept


def _shown(number: float) -> float | str:
    return float(f"{number:.9g}") if np.isfinite(number) else str(number)


def path_of(dataset: str, preset: str) -> Path:
    """Where the answers of one model are kept."""
    return FOLDER / f"{dataset}-{preset}.json"


def write(path: Path, answers: Iterable[tuple[str, Any]]) -> None:
    """Keep the answers of one model."""
    entries = {name: summary(name, values) for name, values in answers}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    path.write_text(f'{{\n "made with": {json.dumps(made_with())},\n "answers": {{\n{lines}\n }}\n}}\n')


def differences(path: Path, answers: Iterable[tuple[str, Any]]) -> list[str]:
    """How some answers differ from those that are kept, one line for each."""
    kept = json.loads(path.read_text())
    exact = kept["made with"] == made_with()
    now = {name: summary(name, values) for name, values in answers}
    found = [f"{name}: no longer answered" for name in kept["answers"] if name not in now]
    for name, entry in now.items():
        before = kept["answers"].get(name)
        if before is None:
            found.append(f"{name}: not in the file")
        elif not _agree(
            before, entry, exact=exact and "rounded" not in name, tolerance=TOLERANCE if exact else ELSEWHERE
        ):
            found.append(f"{name}: {before['shape']} {before['first']} became {entry['shape']} {entry['first']}")
    return found


def _agree(before: dict[str, Any], entry: dict[str, Any], *, exact: bool, tolerance: float) -> bool:
    if exact or before["shape"] != entry["shape"]:
        return before == entry
    if any(isinstance(one, str) and not _is_number(one) for one in before["first"]):
        return before["first"] == entry["first"]
    one, other = (np.array([float(number) for number in some["first"]]) for some in (before, entry))
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))


def _is_number(text: str) -> bool:
    return text in ("nan", "inf", "-inf")
