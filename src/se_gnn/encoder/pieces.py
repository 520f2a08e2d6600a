r"""Numbers read piece by piece, so that a layer can tell below a threshold from above it.

A number x becomes P numbers: how far it goes through each of P pieces of equal width,

.. math:: z_k = \min(\max((x - a_k) s_k, 0), 1) - m_k

from the 0.5% to the 99.5% quantile of its column over all nodes, less the mean :math:`m_k` over all nodes
("On Embeddings for Numerical Features in Tabular Deep Learning", https://arxiv.org/abs/2203.05556). A column of two
values has one piece. Pieces are fitted once and are part of the model. Shapes: N nodes, F features, P pieces.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features
from se_gnn.graph.sparse import SparseMatrix

PIECES = 8
TAIL = 0.005  # share of the nodes at each end of a column that lie beyond its pieces
SPARSE = "attribute_scaling = pieces is for numbers in columns, got sparse attributes: use unit"


class Pieces(nn.Module):
    """Features [N, F] to pieces [N, F P], column by column.

    >>> pieces = Pieces(1)
    >>> pieces.fit(np.array([[0.0], [8.0], [4.0]], np.float32))
    >>> (pieces(torch.tensor([[2.0]])) + pieces.mean.ravel()).round(decimals=1).tolist()
    [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """

    low: Tensor
    slope: Tensor
    mean: Tensor

    def __init__(self, num_features: int) -> None:
        super().__init__()
        for name in ("low", "slope", "mean"):
            self.register_buffer(name, torch.zeros(num_features, PIECES))

    @torch.no_grad()
    def fit(self, features: Features) -> None:
        """Find the pieces of each column; one with a single value has none."""
        if not isinstance(features, np.ndarray):
            raise InputError(SPARSE)
        self.mean.zero_()
        for i in range(features.shape[1]):
            column = features[:, i].astype(np.float64)
            distinct = np.unique(column)
            low, high = np.quantile(column, [TAIL, 1 - TAIL])
            if low == high:
                low, high = distinct[0], distinct[-1]
            count = 0 if len(distinct) < 2 else 1 if len(distinct) == 2 else PIECES
            if count:
                width = (high - low) / count
                self.low[i, :count] = torch.from_numpy(low + width * np.arange(count)).float()
                self.slope[i, :count] = 1 / width
            through = self._through(torch.from_numpy(features[:, [i]]).to(self.low.device), torch.tensor([i]))
            self.mean[i] = torch.from_numpy(through.cpu().numpy().mean(axis=(0, 1), dtype=np.float64)).float()

    def forward(self, features: Tensor | SparseMatrix) -> Tensor:
        """All columns of some nodes, [..., F] to [..., F P]."""
        if isinstance(features, SparseMatrix):
            raise InputError(SPARSE)
        return self.of(features).flatten(-2)

    def of(self, features: Tensor, columns: Tensor | None = None) -> Tensor:
        """Some columns (None: all) of some nodes, [..., f] to [..., f, P]."""
        mean = self.mean if columns is None else self.mean[columns]
        return self._through(features, columns) - mean

    def _through(self, features: Tensor, columns: Tensor | None = None) -> Tensor:
        low, slope = (part if columns is None else part[columns] for part in (self.low, self.slope))
        return ((features[..., None] - low) * slope).clamp(0, 1)
