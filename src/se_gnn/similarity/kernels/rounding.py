"""Where float32 would lose too much: bounds that all CPU kernels share."""

from __future__ import annotations

import numpy as np

TINY = np.float32(1e-12)  # a shorter vector counts as this long
CLOSE = np.float32(1 / 16)  # a squared distance below this share of the squared lengths is computed again
SURE = np.float32(1 / 1024)  # and below this share of that, so are all keys of the local graph
