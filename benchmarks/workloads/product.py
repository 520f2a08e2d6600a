"""The two hand-written parts of edge matching: the product of nodes against a BLAS, the maxima against plain loops.

A BLAS sums in an order that depends on the shape it is given and on its threads. In blocks of one shape, each on one
thread, the bits do not depend on the batch: that is what ours is measured against. Shapes: U, P nodes, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numba
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from benchmarks import ours
from benchmarks.baselines.plain_maxima import segment_argmax
from benchmarks.cases import Case
from benchmarks.graphs import load_graph
from benchmarks.measure import Disagreement, Outcome, RunSettings, Side, alternate, round_ratios
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.similarity.comparison import match_edges
from se_gnn.similarity.cpu import matching

TRAINING_EPOCHS = 20
AGREEMENT = 0.999  # share of the winners: sums in another order may break a tie another way
ROWS, COLUMNS = 192, 512  # of a block: the fastest of some that were tried


class BlockedBlas:
    """`matching.multiplied` by NumPy's BLAS: blocks of one shape, each on one thread, some at a time."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(numba.get_num_threads())
        self.gram = np.empty((0, 0), np.float32)

    def __call__(self, h: FloatArray, nodes: IntArray, right: FloatArray) -> FloatArray:
        """[U, D] rows of h times ``right``, packed [blocks, D, 64]: [U, P] or more, as ours."""
        width = right.shape[0] * right.shape[2]
        flat = np.zeros((-(-width // COLUMNS), h.shape[1], COLUMNS), np.float32)
        every = right.shape[2]
        for block in range(len(right)):
            column = block * every
            flat[column // COLUMNS, :, column % COLUMNS : column % COLUMNS + every] = right[block]
        left = np.zeros((-(-len(nodes) // ROWS) * ROWS, h.shape[1]), np.float32)
        left[: len(nodes)] = h[nodes]
        shape = (len(left), len(flat) * COLUMNS)
        if self.gram.shape != shape:
            self.gram = np.empty(shape, np.float32)

        def block(place: tuple[int, int]) -> None:
            row, column = place[0] * ROWS, place[1] * COLUMNS
            out = self.gram[row : row + ROWS, column : column + COLUMNS]
            np.matmul(left[row : row + ROWS], flat[place[1]], out=out)

        places = [(i, j) for j in range(len(flat)) for i in range(len(left) // ROWS)]
        list(self.pool.map(block, places))
        return self.gram


def against_blas(case: Case, run: RunSettings) -> Outcome:
    """The product of nodes alone, and the matching of all edges with one part replaced at a time."""
    graph = load_graph(case.dataset, seed=run.seed)
    settings = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    trained = ours.trained_model(graph, settings, seed=run.seed, num_epochs=1 if run.quick else TRAINING_EPOCHS)
    h, similarity = trained.embeddings, trained.similarity
    comparison = similarity.comparison(similarity.items(np.arange(graph.num_nodes)), trained.cases.items)
    (way,), vectors, blas = comparison.there(), h.numpy(), BlockedBlas()
    nodes, right = way.queries.distinct_ends[0], matching.packed(vectors, way.keys.distinct_ends[0])

    def match() -> IntArray:
        with torch.no_grad():
            return match_edges(comparison.points, way)[1].numpy()

    def match_with(name: str, replacement: object) -> Callable[[], IntArray]:
        def call() -> IntArray:
            with mock.patch.object(matching, name, replacement):
                return match()

        return call

    calls: dict[str, Callable[[], IntArray]] = {
        "matching": match,
        "matching, product by BLAS": match_with("multiplied", blas),
        "matching, maxima by plain loops": match_with("segment_argmax", segment_argmax),
    }
    with threadpool_limits(1, user_api="blas"):
        results = [call() for call in calls.values()]
        agreement = min(float((other == results[0]).mean()) for other in results[1:])
        if agreement < AGREEMENT:
            raise Disagreement(f"only {agreement:.2%} of the winners are the same")
        sides = {
            "product": Side(lambda: matching.multiplied(vectors, nodes, right)),
            "product by BLAS": Side(lambda: blas(vectors, nodes, right)),
            **{name: Side(call) for name, call in calls.items()},
        }
        samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    return Outcome(
        figures={
            "product": round_ratios(samples["product by BLAS"], samples["product"]),
            "matching, product": round_ratios(samples["matching, product by BLAS"], samples["matching"]),
            "matching, maxima": round_ratios(samples["matching, maxima by plain loops"], samples["matching"]),
        },
        samples=samples,
        details={
            "nodes of the queries": len(nodes),
            "nodes of the keys": len(way.keys.distinct_ends[0]),
            "dimensions": h.shape[1],
            "share of equal winners": agreement,
        },
    )
