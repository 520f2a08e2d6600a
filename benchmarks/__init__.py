"""Speed and memory of se-gnn, each figure a ratio taken in one run: `python -m benchmarks`."""
