"""Where float32 would lose too much, and what is done about it. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

CLOSE = np.float32(1 / 16)  # a squared distance below this share of the squared lengths is computed again
SURE = np.float32(1 / 1024)  # and below this share of that, so are all keys of the local graph
CANCELED = np.float32(16)  # a cosine is computed again where the ends of the edges are so much longer than the edges


def center(h: Tensor) -> Tensor:
    """Where distances are taken from, [D], so that rounding shrinks.

    About the mean, in steps so coarse that it comes off small whole numbers without rounding: ties stay ties.
    """
    if not len(h):
        return h.new_zeros(h.shape[1])
    step = torch.exp2(torch.floor(torch.log2(h.abs().max().clamp_min(torch.finfo(h.dtype).tiny))) - 4)
    # NumPy adds up in the same order for any number of threads
    mean = torch.from_numpy(h.numpy().mean(axis=0)) if h.device.type == "cpu" else h.mean(dim=0)
    return torch.round(mean / step) * step
