"""Where float32 would lose too much, and what is done about it. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import numpy as np

CLOSE = np.float32(1 / 16)  # a squared distance below this share of the squared lengths is computed again
SURE = np.float32(1 / 1024)  # and below this share of that, so are all keys of the local graph
CANCELED = np.float32(16)  # a cosine is computed again where the ends of the edges are so much longer than the edges
