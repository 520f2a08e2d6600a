r"""The likelihood ratio test of Nettack: whether the degrees before and after still pass for one power law.

:math:`\Lambda = -2\,\ell(D_{before} \cup D_{after}) + 2\,(\ell(D_{before}) + \ell(D_{after}))` over the degrees of at
least 2; a flip is allowed while :math:`\Lambda < 0.004` (Zügner, Akbarnejad and Günnemann, KDD 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.graph.arrays import BoolArray, IntArray

SMALLEST = 2  # degrees below do not follow the law
CUTOFF = 0.004

Numbers = npt.NDArray[np.float64]


class DegreeTest:
    """The test against the degrees of the clean graph.

    Args:
        degrees: of the clean graph, [N].
    """

    def __init__(self, degrees: IntArray) -> None:
        self.count, self.logs = _moments(degrees)

    def ratio(self, count: Any, logs: Any) -> Numbers:
        """Lambda of degree sequences given by how many are at least 2 and the sum of their logarithms."""
        both = _log_likelihood(self.count + count, self.logs + logs)
        one_each = _log_likelihood(self.count, self.logs) + _log_likelihood(count, logs)
        return np.asarray(-2 * both + 2 * one_each)

    def allowed(self, degrees: IntArray, change: int) -> BoolArray:
        """Whether two nodes may change their degrees by 1 or -1, by those degrees, a square table.

        >>> degrees = np.array([1, 2, 2, 3, 3, 4, 8])
        >>> DegreeTest(degrees).allowed(degrees, 1).shape
        (9, 9)
        """
        count, logs = _moments(degrees)
        known = np.arange(degrees.max(initial=0) + 1)
        more, further = (after - before for before, after in zip(_terms(known), _terms(known + change)))
        table = self.ratio(count + more[:, None] + more[None, :], logs + further[:, None] + further[None, :])
        return np.asarray(table < CUTOFF)


def _terms(degrees: IntArray) -> tuple[Numbers, Numbers]:
    """What each degree adds to the count and to the sum of logarithms."""
    counted = degrees >= SMALLEST
    return counted.astype(np.float64), np.where(counted, np.log(np.maximum(degrees, 1)), 0.0)


def _moments(degrees: IntArray) -> tuple[float, float]:
    count, logs = _terms(degrees)
    return float(count.sum()), float(logs.sum())


def _log_likelihood(count: Any, logs: Any) -> Any:
    """Log-likelihood of the best power law for this number of degrees with this sum of logarithms."""
    exponent = 1 + count / np.maximum(logs - count * np.log(SMALLEST - 0.5), 1e-12)
    return count * np.log(exponent) + count * exponent * np.log(SMALLEST) - (exponent + 1) * logs
