"""sim(a, b), the similarity of two vectors, as an object: all that depends on which one it is.

Shapes: T and L vectors, K key edges, D dimensions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic import linear
from se_gnn.files.npy import forget
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.settings.sections import MeasureName
from se_gnn.similarity.backend import backend_for

EPS = 1e-12  # a shorter vector counts as this long
BLOCK = 4096  # rows that are summed at a time


class Measure(ABC):
    """A similarity of two vectors that falls with the Euclidean distance of two *points* made of them."""

    name: ClassVar[MeasureName]
    words: ClassVar[str]  # what it is, for people
    of_equals: ClassVar[float]  # sim(a, a), the largest there is
    unit: ClassVar[bool]  # lengths do not count: the points are unit vectors

    @abstractmethod
    def aligned(self, a: Tensor, b: Tensor) -> Tensor:
        """sim(a, b) along the last dimension: [..., D] and [..., D] to [...]."""

    def all_pairs(self, a: Tensor, b: Tensor) -> Tensor:
        """sim(a_t, b_l) of every pair, Eq. (2): [T, D] and [L, D] to [T, L].

        From the differences, not from a matrix product: equal vectors have distance 0 exactly, and a pair has the same
        bits alone and among others (a product sums in an order that depends on how many rows it has).
        """
        a, b = self.points(a), self.points(b)
        distances = backend_for(a).distances(a, b)
        if not self.unit:
            return -distances
        lengths = a.square().sum(dim=1)[:, None] + b.square().sum(dim=1)[None, :]  # 2, or less where a vector is 0
        return (lengths - distances.square()) / 2  # a.b

    def listed_pairs(self, a: Tensor, b: Tensor, ptr: IntArray, listed: IntArray) -> Tensor:
        """The same of some pairs, with the same bits: a_t and each b in ``listed[ptr[t]:ptr[t + 1]]``."""
        a, b = self.points(a), self.points(b)
        distances = backend_for(a).listed_distances(a, b, ptr, listed)
        if not self.unit:
            return -distances
        owners = torch.from_numpy(np.repeat(np.arange(len(a)), np.diff(ptr))).to(a.device)
        lengths = a.square().sum(dim=1)[owners] + b.square().sum(dim=1)[torch.from_numpy(listed).to(a.device)]
        return (lengths - distances.square()) / 2

    def learned_pairs(self, a: Tensor, b: Tensor) -> Tensor:
        """As :meth:`all_pairs` but for rounding, with fast gradients: what training compares many pairs by."""
        return self.all_pairs(a, b)

    @abstractmethod
    def points(self, vectors: Tensor) -> Tensor:
        """Where the vectors lie so that only their distance counts, [..., D]."""

    @abstractmethod
    def origin(self, h: Tensor | FloatArray) -> Tensor:
        """The point that vectors are taken from, [D], so that the rounding errors of products are small.

        ``h`` are the embeddings of *all* nodes, [N, D], in memory or mapped: a pair has the same bits whichever of them
        a comparison reads.
        """

    @abstractmethod
    def of_opposite(self, vectors: Tensor) -> Tensor:
        """sim(a, -a), [..., D] to [...]: what an edge has where no edge may match it."""

    @abstractmethod
    def scoring(self, squares: Tensor) -> tuple[Tensor, Tensor]:
        """Scale and offset of keys b by their squared lengths, [K] each.

        Of two keys the one with the larger ``scale * a.b + offset`` is the more similar to a, whatever a is.
        """


class Cosine(Measure):
    """The cosine of the angle between two vectors; 0 where one of them is zero."""

    name = "cosine"
    words = "cosine of the angle"
    of_equals = 1.0
    unit = True

    def aligned(self, a: Tensor, b: Tensor) -> Tensor:
        """sim(a, b) along the last dimension: [..., D] and [..., D] to [...]."""
        cosine: Tensor = torch.nn.functional.cosine_similarity(a, b, dim=-1, eps=EPS)
        return cosine

    def learned_pairs(self, a: Tensor, b: Tensor) -> Tensor:
        """As one matrix product of unit vectors, [T, L]."""
        return linear(self.points(a), self.points(b))

    def points(self, vectors: Tensor) -> Tensor:
        """The vectors, of length 1."""
        return torch.nn.functional.normalize(vectors, dim=-1, eps=EPS)

    def origin(self, h: Tensor | FloatArray) -> Tensor:
        """Zero: directions cannot be taken from anywhere else."""
        return h.new_zeros(h.shape[1]) if isinstance(h, Tensor) else torch.zeros(h.shape[1])

    def of_opposite(self, vectors: Tensor) -> Tensor:
        """-1, the lowest there is."""
        return torch.full_like(vectors[..., 0], -1.0)

    def scoring(self, squares: Tensor) -> tuple[Tensor, Tensor]:
        """a.b / |b|: the length of a changes no order."""
        return 1 / squares.sqrt().clamp_min(EPS), torch.zeros_like(squares)


class Distance(Measure):
    """Minus the Euclidean distance of two vectors."""

    name = "distance"
    words = "minus the distance"
    of_equals = 0.0
    unit = False

    def aligned(self, a: Tensor, b: Tensor) -> Tensor:
        """sim(a, b) along the last dimension: [..., D] and [..., D] to [...]."""
        distance: Tensor = torch.linalg.vector_norm(a - b, dim=-1)
        return -distance

    def learned_pairs(self, a: Tensor, b: Tensor) -> Tensor:
        """From one matrix product, |a|^2 + |b|^2 - 2 a.b, of vectors taken from their mean; [T, L]."""
        center = b.detach().mean(dim=0)
        a, b = a - center, b - center
        squares = a.square().sum(dim=1)[:, None] + b.square().sum(dim=1)[None, :] - 2 * linear(a, b)
        return -squares.clamp_min(EPS).sqrt()

    def points(self, vectors: Tensor) -> Tensor:
        """The vectors themselves."""
        return vectors

    def origin(self, h: Tensor | FloatArray) -> Tensor:
        """About the mean: distances stay, and products of shorter vectors lose fewer digits."""
        return _center(h)

    def of_opposite(self, vectors: Tensor) -> Tensor:
        """Minus twice the length."""
        length: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
        return -2 * length

    def scoring(self, squares: Tensor) -> tuple[Tensor, Tensor]:
        """|a - b|^2 = |a|^2 - 2 (a.b - |b|^2 / 2)."""
        return torch.ones_like(squares), -squares / 2


MEASURES: dict[MeasureName, Measure] = {measure.name: measure for measure in (Cosine(), Distance())}


def measure_named(name: MeasureName) -> Measure:
    """The measure that a setting names.

    >>> float(measure_named("distance").aligned(torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])))
    -5.0
    """
    return MEASURES[name]


def _center(h: Tensor | FloatArray) -> Tensor:
    """The mean of all rows, [D], rounded so coarsely that small whole numbers less it are exact: ties stay ties."""
    if isinstance(h, Tensor) and not len(h):
        return h.new_zeros(h.shape[1])
    if isinstance(h, Tensor) and h.device.type != "cpu":
        largest, mean = h.detach().abs().max(), h.detach().mean(dim=0, dtype=torch.float64).to(h.dtype)
    else:
        largest, mean = _extent(h.detach().numpy() if isinstance(h, Tensor) else h)
    step = torch.exp2(torch.floor(torch.log2(largest.clamp_min(torch.finfo(mean.dtype).tiny))) - 4)
    return torch.round(mean / step) * step


def _extent(h: FloatArray) -> tuple[Tensor, Tensor]:
    """The largest absolute entry, and the mean row, [D], summed in an order that does not depend on the threads."""
    largest, total = np.zeros((), h.dtype), np.zeros(h.shape[1])
    for low in range(0, len(h), BLOCK):
        rows = np.ascontiguousarray(h[low : low + BLOCK])
        largest = np.maximum(largest, np.abs(rows).max())
        total += rows.sum(axis=0)
        forget(h)
    return torch.from_numpy(np.asarray(largest)), torch.from_numpy((total / len(h)).astype(h.dtype))
