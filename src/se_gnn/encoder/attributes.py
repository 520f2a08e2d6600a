"""The attributes as they are, in few dimensions; nothing of it depends on a seed. Shapes: N nodes, F features."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.deterministic import linear, one_thread
from se_gnn.graph.arrays import Features, Float64Array
from se_gnn.settings import EncoderSettings

WIDTH = 64  # directions that are kept; of fewer features all are
ITERATIONS = 8


def attribute_encoder_settings(num_features: int, settings: EncoderSettings) -> EncoderSettings:
    """One layer, the principal directions; propagated as the learned encoders begin to do it."""
    return dataclasses.replace(
        settings,
        num_layers=1,
        output_size=min(num_features, WIDTH),
        aggregation="own" if settings.aggregation == "own" else "pagerank",
        attribute_scaling="raw" if settings.attribute_scaling == "pieces" else settings.attribute_scaling,
        members=1,
        attribute_share=0.0,
    )


def principal_layer(features: Features) -> tuple[Tensor, Tensor]:
    r"""Weight and bias of the layer :math:`x \mapsto V (x - \mu)` of attributes X with mean :math:`\mu`.

    The rows of V are the first principal directions, by subspace iteration from a fixed start; with no more features
    than directions V is the identity. Sums run in a fixed order: the same bits on any number of threads.

    Shapes:
        - **features:** :math:`(N, F)`
        - **weight:** :math:`(D, F)`, **bias:** :math:`(D,)`
    """
    matrix: Any = features.astype(np.float64)
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    num_features = matrix.shape[1]
    if num_features <= WIDTH:
        directions = np.eye(num_features)
    else:
        directions = np.random.default_rng(0).standard_normal((num_features, WIDTH))
        for _ in range(ITERATIONS):
            scores = _product(matrix, directions) - mean @ directions
            directions = _orthonormal(_product(matrix.T, scores) - np.outer(mean, scores.sum(axis=0)))
    weight = torch.from_numpy(directions.T.astype(np.float32))
    return weight, torch.from_numpy((-mean @ directions).astype(np.float32))


def _product(matrix: Any, other: Float64Array) -> Float64Array:
    if sp.issparse(matrix):
        return np.asarray(matrix @ other)  # row by row, on one thread
    return linear(torch.from_numpy(np.ascontiguousarray(matrix)), torch.from_numpy(other.T.copy())).numpy()


@one_thread()
def _orthonormal(columns: Float64Array) -> Float64Array:
    basis: Float64Array = torch.linalg.qr(torch.from_numpy(columns)).Q.numpy()
    return basis
