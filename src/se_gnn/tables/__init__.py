"""Graphs of other libraries in and out: PyTorch Geometric, NetworkX, SciPy and `.npz` files.

A graph that goes out and comes back is the same graph, also after nodes and edges were taken away or put into another
order there: what belongs to a node or an edge travels with it, or is refused.
"""
