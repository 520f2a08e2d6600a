"""Proximal operators of the norms that Pro-GNN puts on a graph: argmin over Z of weight * norm(Z) + ||Z - S||^2 / 2."""

from __future__ import annotations

import torch
from torch import Tensor


def shrink(values: Tensor, weight: float) -> Tensor:
    """Proximal operator of the l1 norm: every entry goes towards 0 by ``weight`` and stops there.

    >>> shrink(torch.tensor([-2.0, 0.5, 3.0]), 1.0).tolist()
    [-1.0, 0.0, 2.0]
    """
    return values.sign() * (values.abs() - weight).clamp(min=0)


def shrink_spectrum(matrix: Tensor, weight: float) -> Tensor:
    """Proximal operator of the nuclear norm for a symmetric matrix: its eigenvalues shrink.

    The singular values of a symmetric matrix are the absolute values of its eigenvalues, so this is what shrinking the
    singular values gives, at a fraction of the time that a singular value decomposition takes.

    >>> shrink_spectrum(torch.tensor([[3.0, 0.0], [0.0, -2.0]]), 1.0).tolist()
    [[2.0, 0.0], [0.0, -1.0]]
    """
    values, vectors = torch.linalg.eigh(matrix)
    smaller = shrink(values, weight)
    kept = smaller != 0
    vectors = vectors[:, kept]
    result: Tensor = (vectors * smaller[kept]) @ vectors.T
    return result
