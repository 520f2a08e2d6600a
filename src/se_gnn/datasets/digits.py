"""`digits`: the handwritten digits that come with scikit-learn, as a nearest-neighbor graph.

A node is a picture of 8 x 8 pixels. Each is joined to the 5 pictures nearest to it by Euclidean distance of the pixels,
of equally distant ones to those that come first.
With 5 neighbors 97 of 100 edges join two pictures of the same digit, and a 2-hop local graph stays small enough
to be looked at.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.split import split_by_class

NUM_NEIGHBORS = 5
TRAIN_PER_CLASS = 10
VAL_PER_CLASS = 20
LARGEST_PIXEL = 16.0


def load(name: str = "digits", *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The 1,797 digits; 10 per class are labeled, 20 per class validate, the others test, drawn by ``seed``.

    ``data_dir`` is not looked at: the pictures come with scikit-learn.
    """
    bunch = load_digits()
    pixels = (bunch.data / LARGEST_PIXEL).astype(np.float32)  # [N, 64] in [0, 1]
    generator = np.random.default_rng(seed)
    split = split_by_class(bunch.target, train=TRAIN_PER_CLASS, validation=VAL_PER_CLASS, generator=generator)
    return Graph.build(
        name=name,
        features=pixels,
        edges=_nearest_pairs(bunch.data),
        labels=bunch.target,
        class_names=[str(digit) for digit in range(10)],
        node_names=[f"digit-{i:04d}" for i in range(len(pixels))],
        feature_names=tuple(f"row {row}, column {column}" for row in range(8) for column in range(8)),
        image_shape=(8, 8),
        train=split.train,
        validation=split.validation,
        test=split.test,
    )


def _nearest_pairs(pixels: npt.NDArray[np.float64]) -> IntArray:
    """Each picture with its nearest ones, [5 N, 2]; whole numbers have exact distances: ties break alike anywhere."""
    lengths = np.square(pixels).sum(axis=1)
    squared = lengths[:, None] + lengths[None, :] - 2 * pixels @ pixels.T  # [N, N]
    np.fill_diagonal(squared, np.inf)  # nobody is their own neighbor
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :NUM_NEIGHBORS]
    return np.stack([np.repeat(np.arange(len(pixels)), NUM_NEIGHBORS), nearest.ravel()], axis=1)
