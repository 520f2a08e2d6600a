"""Some labeled nodes of each target with their similarities. Shapes: T targets."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Some labeled nodes of each target, by position, with their similarities: [T, m], or in CSR rows."""

    positions: Tensor
    overall: Tensor
    node: Tensor
    structure: Tensor  # -inf where one of the two nodes has no edges
