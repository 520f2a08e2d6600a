"""The K nearest labeled nodes and their vote, Eq. (8)-(9). Shapes: T targets, L labeled nodes, C classes."""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic.threads import map_parts
from se_gnn.graph.arrays import FloatArray, IntArray

FEW = 64  # so many are found faster one by one than by sorting all
SHARE = 16  # and so is one in so many
MANY = 2**16  # similarities that are worth a thread


def nearest_labeled(overall: Tensor, num_nearest: int) -> Tensor:
    """Positions of the K most similar labeled nodes, most similar first, [T, K].

    Tie rule: of equally similar labeled nodes the one that comes first (the lowest node id) is nearer.

    >>> nearest_labeled(torch.tensor([[0.5, 0.9, 0.9, 0.1]]), 3).tolist()
    [[1, 2, 0]]
    """
    few = num_nearest <= max(FEW, overall.shape[1] // SHARE)
    if few and overall.device.type == "cpu" and overall.dtype == torch.float32:
        return torch.from_numpy(_few(overall.detach().contiguous().numpy(), min(num_nearest, overall.shape[1])))
    if few and overall.device.type != "cpu" and overall.dtype == torch.float32:
        return largest_by_keys(overall, num_nearest)
    order = torch.sort(overall, dim=1, descending=True, stable=True).indices
    return order[:, :num_nearest]


def largest_by_keys(overall: Tensor, count: int) -> Tensor:
    """Positions of each row's ``count`` largest, largest first, without sorting the row; of equals the first is first.

    A key is one whole number, the similarity above the position: no two are equal, so that their order is one.
    """
    width = overall.shape[1]
    bits = (overall + 0.0).view(torch.int32)  # -0.0 becomes 0.0
    ascending = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    places = torch.arange(width - 1, -1, -1, device=overall.device)
    keys = (ascending << 32) | places
    return width - 1 - (keys.topk(min(count, width), dim=1).values & 0xFFFFFFFF)


def _few(overall: FloatArray, count: int) -> IntArray:
    order = np.empty((len(overall), count), np.int64)

    def find(part: slice) -> None:
        _first_few(overall[part], np.empty(count, np.float32), order[part])

    map_parts(find, len(overall), fewest=max(1, MANY // max(1, overall.shape[1])))
    return order


@numba.njit(cache=True, nogil=True)
def _first_few(overall: FloatArray, held: FloatArray, order: IntArray) -> None:
    """Each row's largest, largest first, by insertion; of equals the first comes first."""
    count = len(held)
    for t in range(len(overall)):
        kept = 0
        for i in range(overall.shape[1]):
            value = overall[t, i]
            if kept == count and not value > held[count - 1]:
                continue
            slot = kept if kept < count else count - 1
            while slot > 0 and value > held[slot - 1]:
                held[slot] = held[slot - 1]
                order[t, slot] = order[t, slot - 1]
                slot -= 1
            held[slot] = value
            order[t, slot] = i
            if kept < count:
                kept += 1


def vote_weights(overall: Tensor, nearest: Tensor, temperature: float) -> Tensor:
    """Weight of each of the K nearest, a softmax of similarity / tau, Eq. (8), [T, K]."""
    return torch.softmax(overall.gather(1, nearest) / temperature, dim=1)


def vote(weights: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """Class probabilities: the weights of the nearest labeled nodes added up by class, Eq. (9).

    Shapes:
        - **weights**, **labels** of the K nearest: :math:`(T, K)`
        - **output:** :math:`(T, C)`

    >>> vote(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[1, 0, 1]]), 2).tolist()
    [[0.25, 0.75]]
    """
    probabilities = torch.zeros(len(weights), num_classes, dtype=weights.dtype, device=weights.device)
    return probabilities.scatter_add_(1, labels, weights)
