"""Explanations of many nodes as a file of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from se_gnn.errors import InputError
from se_gnn.files import replacing, writing_to

if TYPE_CHECKING:
    from se_gnn.explain.bulk import Explanations


def write_json_lines(
    explanations: Explanations, path: str | Path, *, overwrite: bool = False, progress: bool = False
) -> None:
    """One explanation per line, as ``Explanation.to_json`` writes it; the file appears when it is complete."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already: overwrite=True replaces it")
    with writing_to(target.parent), replacing(target) as file:
        for explanation in tqdm(explanations, desc="explaining", unit="node", disable=not progress):
            file.write(f"{explanation.to_json(indent=None)}\n".encode("utf-8", "backslashreplace"))
