"""What needs a CUDA device: `python -m benchmarks.gpu OUT.json`, with `--case` for single cases.

Ratios are against a baseline in the same run.

The generated graph has one million nodes, ten million edges and 10,000 labeled nodes; all nodes are scored exactly,
2-hop local graphs, one direction. A sample is scored again by plain float32 PyTorch, one labeled node after the other.
With 100,000 labeled nodes the graph has five million edges, and the embeddings are those of a trained model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from benchmarks.baselines import atomics
from benchmarks.baselines.atomics import in_no_fixed_order
from benchmarks.baselines.dense import DenseTraining
from benchmarks.graphs import generated_graph
from benchmarks.machine import describe_commit
from se_gnn.datasets import load_dataset
from se_gnn.graph import Graph, LocalGraphs, local_graphs
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Prediction
from se_gnn.ranking import Cases, Ranker
from se_gnn.settings import Resolved, Settings
from se_gnn.similarity import Items, Similarity, combine, top
from se_gnn.similarity.backend import Points
from se_gnn.similarity.cpu.backend import CPU
from se_gnn.similarity.cuda import backend, search
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import Way
from se_gnn.similarity.measure import MEASURES, Distance, Measure
from se_gnn.training import TrainingRun, fit

CUDA = torch.device("cuda")
WIDTH = 64  # D


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases and write the results after each; those of other cases in the file stay, with their commit."""
    cases = {case.__name__: case for case in (agreement, roofline, cora_epoch, same_bits, million, many_labeled)}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--case", action="append", choices=list(cases), help="may be given again; none: all")
    parser.add_argument("--commit", default=describe_commit(), help="of the source, where it is not a repository")
    args = parser.parse_args(arguments)
    torch.backends.cuda.matmul.allow_tf32 = False  # the roofline is a float32 product
    results: dict[str, Any] = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    results.update(device=torch.cuda.get_device_name(), torch=torch.__version__, command="python -m benchmarks.gpu")
    for name in args.case or cases:
        start = time.perf_counter()
        results[name] = {**cases[name](), "commit": args.commit}
        print(name, json.dumps(results[name]), f"{time.perf_counter() - start:.0f} s", flush=True)
        args.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def random_graph(num_nodes: int, num_edges: int, seed: int = 0) -> Graph:
    """Uniform random edges; the labels are never read."""
    edges = np.random.default_rng(seed).integers(0, num_nodes, (num_edges, 2))
    return Graph.build(features=np.ones((num_nodes, 1), np.float32), edges=edges, labels=np.arange(num_nodes) % 2)


def way_of(graph: Graph, queries: IntArray, labeled: IntArray) -> Way:
    """Some edges that are matched in the local graphs of some nodes."""
    ptr, one = np.array([0, len(queries)]), np.zeros(1, np.int64)
    asking = LocalGraphs(one, ptr, queries.astype(np.int32), graph.num_edges)
    return Items(graph.edges.ends, asking).ways(Items(graph.edges.ends, local_graphs(graph, labeled, 2)))[0]


def points_of(h: Tensor, measure: Measure) -> Points:
    """Vectors of nodes that edges are made of."""
    return Points(h, measure.origin(h), measure)


def agreement() -> dict[str, Any]:
    """The kernel of the device against the kernel of the CPU: values, winners, gradients."""
    compared: dict[str, Any] = {}
    # with few labeled nodes an edge lies in few local graphs, with many in many: the kernel treats them differently
    for measure, labeled_nodes in itertools.product(MEASURES.values(), (143, 1_000)):
        graph = random_graph(2_000, 5_000)
        way = way_of(graph, np.arange(graph.num_edges), np.arange(0, 2_000, 2_000 // labeled_nodes))
        h = torch.randn(2_000, 128, generator=torch.Generator().manual_seed(0))
        points, there = points_of(h, measure), points_of(h.cuda(), measure)
        best, winners = CPU.match(points, *way)
        values, positions = backend.CUDA.match(there, *way)
        known = torch.isfinite(best)
        grad = torch.randn(best.shape, generator=torch.Generator().manual_seed(1)).masked_fill(~known, 0)
        ours = backend.CUDA.pull_back(there, *way, values, winners.cuda(), grad.cuda()).cpu()
        theirs = CPU.pull_back(points, *way, best, winners, grad)
        compared[f"{measure.name}, {way.keys.num_local} labeled"] = {
            "largest_difference": float((best[known] - values.cpu()[known]).abs().max()),
            "same_winner": float((winners == positions.cpu()).float().mean()),
            "gradient_difference": float((ours - theirs).norm() / theirs.norm()),
        }
    return {"compared": compared}


def roofline() -> dict[str, Any]:
    """Edge matching of a large case against one float32 product of the same distinct edge pairs."""
    graph = random_graph(200_000, 2_000_000)
    queries = np.arange(0, graph.num_edges, 10)
    way = way_of(graph, queries, np.arange(0, 200_000, 400))
    h = torch.randn(200_000, WIDTH, device=CUDA)
    ours = milliseconds(lambda: backend.CUDA.match(points_of(h, Distance()), *way))
    a, b = torch.randn(len(queries), WIDTH, device=CUDA), torch.randn(WIDTH, 20_000, device=CUDA)
    room = torch.empty(len(queries), 20_000, device=CUDA)
    parts = len(way.keys) / 20_000  # the whole product does not fit: the same part, as often as it takes
    product = milliseconds(lambda: torch.mm(a, b, out=room)) * parts
    return {"ours_ms": ours, "product_ms": product, "share_of_roofline": product / ours,
            "queries": len(queries), "distinct_keys": len(way.keys), "memberships": len(way.keys.columns)}  # fmt: skip


def cora_epoch() -> dict[str, Any]:
    """A training epoch with validation against the dense formulation on the same device."""
    graph = load_dataset("cora")
    settings = Settings.of("authors").resolve(graph)
    ours = TrainingRun(graph, settings, seed=0, device=CUDA, folder=None)
    dense = DenseTraining(graph, settings, seed=0, device=CUDA)
    mine, theirs = milliseconds(ours.step, repeats=30), milliseconds(dense.step, repeats=7)
    return {"ours_ms": mine, "dense_ms": theirs, "ratio": theirs / mine}


def same_bits() -> dict[str, Any]:
    """Whether a seed gives the same bits twice, and what that costs against atomics and cuSPARSE."""
    graph = generated_graph(20_000, seed=0, labeled_a_class=50)
    compared: dict[str, Any] = {}
    for preset, given in (("best", {"portfolio": False, "members": 1}), ("authors", {}), ("paper", {})):
        settings = Settings.of(preset, **given).resolve(graph)
        fixed, again, free = (TrainingRun(graph, settings, seed=0, device=CUDA, folder=None) for _ in range(3))
        mine = milliseconds(fixed.step, repeats=20)
        with in_no_fixed_order():
            theirs = milliseconds(free.step, repeats=20)
        for _ in range(fixed.epoch):
            again.step()
        pairs = zip(fixed.model.state_dict().values(), again.model.state_dict().values(), strict=True)
        compared[f"{preset}, epoch"] = {
            "ours_ms": mine, "atomics_ms": theirs, "ratio": mine / theirs,
            "same_bits": all(bool(torch.equal(one, other)) for one, other in pairs),
        }  # fmt: skip
    for measure in MEASURES.values():
        compared[f"{measure.name}, gradient of edge matching"] = _gradient_cost(graph, measure)
    return {"compared": compared}


def _gradient_cost(graph: Graph, measure: Measure) -> dict[str, Any]:
    """The gradient alone: edges around the labeled nodes, matched in the local graphs of all of them."""
    items = Items(graph.edges.ends, local_graphs(graph, graph.train, 2))
    (way,), h = items.ways(items), torch.randn(graph.num_nodes, WIDTH, device=CUDA)
    points = points_of(h, measure)
    best, winners = backend.CUDA.match(points, *way)
    grad = torch.randn(best.shape, device=CUDA).masked_fill_(winners < 0, 0)
    runs = [backend.CUDA.pull_back(points, *way, best, winners, grad) for _ in range(3)]
    mine = milliseconds(lambda: backend.CUDA.pull_back(points, *way, best, winners, grad))
    theirs = milliseconds(lambda: atomics.pull_back(points, *way, best, winners, grad))
    same = all(bool(torch.equal(runs[0], run)) for run in runs)
    return {"ours_ms": mine, "atomics_ms": theirs, "ratio": mine / theirs, "same_bits": same, "pairs": best.numel()}


def million() -> dict[str, Any]:
    """One million nodes, ten million edges, 10,000 labeled nodes: all nodes scored exactly."""
    graph = random_graph(1_000_000, 10_000_000)
    generator = np.random.default_rng(0)
    graph = graph.with_split(train=np.sort(generator.choice(graph.num_nodes, 10_000, replace=False)))
    settings = Settings.of("paper", measure="distance", num_nearest=20).resolve(graph)
    h = torch.randn(graph.num_nodes, WIDTH, generator=torch.Generator().manual_seed(0))
    start = time.perf_counter()
    ranker = Ranker(Similarity(graph, h.to(CUDA), settings.similarity), Cases.of(graph, settings), settings.vote)
    queries = ranker.similarity.items(np.arange(graph.num_nodes))
    planned = time.perf_counter()
    prediction = Prediction.of([ranker.rank(queries, depth=settings.vote.num_nearest)])
    torch.cuda.synchronize()
    end = time.perf_counter()
    found = {
        "edges": graph.num_edges, "local_graphs_seconds": planned - start, "scoring_seconds": end - planned,
        "total_seconds": end - start, "gpu_peak_gib": torch.cuda.max_memory_allocated() / 2**30,
        "mean_local_edges": float(queries.sizes.mean()),
    }  # fmt: skip
    print(json.dumps(found), flush=True)
    sample = np.sort(generator.choice(graph.num_nodes, 1_000, replace=False))
    values, positions = plain_nearest(h.to(CUDA), ranker.similarity.items(sample), ranker.cases.items, settings)
    exact, found_here = graph.train[positions.cpu().numpy()], prediction.cases[sample]
    return {
        **found,
        "sample": len(sample),
        "same_nearest_in_order": int((exact == found_here).all(axis=1).sum()),
        "same_nearest_as_sets": int((np.sort(exact) == np.sort(found_here)).all(axis=1).sum()),
        "largest_similarity_difference": float(np.abs(values.cpu().numpy() - prediction.overall[sample]).max()),
    }


def many_labeled() -> dict[str, Any]:
    """One million nodes, 100,000 of them labeled, a trained model: the search, against comparing all pairs."""
    graph = generated_graph(1_000_000, seed=0)
    asked = Settings.of("best", portfolio=False, epochs=10)
    trained = fit(graph, asked, seed=0, device="cuda")
    h = trained.embeddings.to(CUDA)
    chosen = np.sort(np.random.default_rng(0).permutation(graph.num_nodes)[:100_000])
    labeled = graph.with_split(train=chosen)
    settings = trained.settings
    ranker = Ranker(Similarity(labeled, h, settings.similarity), Cases.of(labeled, settings), settings.vote)
    queries = ranker.similarity.items(np.arange(graph.num_nodes))
    samples: dict[str, list[float]] = {"search": [], "full": []}
    predictions = {}
    for turn, name in enumerate(("search", "full", "search", "full", "search")):
        asked = ranker.similarity.items(np.arange(4_000)) if turn < 2 else queries  # the first two compile
        with mock.patch.object(search, "FEWEST_CASES", 1 << 60 if name == "full" else 1):
            torch.cuda.synchronize()
            start = time.perf_counter()
            predictions[name] = Prediction.of([ranker.rank(asked, depth=settings.vote.num_nearest)])
            torch.cuda.synchronize()
        if turn >= 2:
            samples[name].append(time.perf_counter() - start)
        print(name, time.perf_counter() - start, flush=True)
    ours, wanted = predictions["search"], predictions["full"]
    same = (np.sort(ours.cases) == np.sort(wanted.cases)).all(axis=1)
    return {
        "nodes": graph.num_nodes, "edges": graph.num_edges, "labeled": len(chosen), "dimensions": h.shape[1],
        "mean_local_edges": float(queries.sizes.mean()),
        "search_seconds": median(samples["search"]), "full_seconds": median(samples["full"]),
        "ratio": median(samples["full"]) / median(samples["search"]),
        "same_nearest_as_sets": int(same.sum()),
        "largest_similarity_difference": float(np.abs(ours.overall - wanted.overall).max()),
    }  # fmt: skip


@torch.no_grad()
def plain_nearest(h: Tensor, asking: Items, cases: Items, settings: Resolved) -> tuple[Tensor, Tensor]:
    """The K nearest cases by float32 products, a labeled node at a time: similarities, positions."""
    index, rows = cases.keys.rows(CUDA), asking.queries.rows(CUDA)
    queries, keys = (edge_vectors(h, side.ends_on(CUDA)) for side in (asking.queries, cases.keys))
    ptr, columns = rows.ptr.long(), rows.columns
    owner = torch.repeat_interleave(torch.arange(len(ptr) - 1, device=CUDA), ptr.diff())
    sizes = ptr.diff().clamp_min(1)
    structure = torch.empty(len(ptr) - 1, len(cases), device=CUDA)
    for t in range(len(cases)):
        own = keys[index.columns[index.ptr[t] : index.ptr[t + 1]].long()]
        best = (queries @ own.T - own.square().sum(dim=1) / 2).argmax(dim=1)
        value = -torch.linalg.vector_norm(queries - own[best], dim=1)  # [Q]
        sums = torch.zeros(len(sizes), device=CUDA, dtype=torch.float64)
        sums.index_add_(0, owner, value[columns.long()].double())
        structure[:, t] = (sums / sizes).float()
    targets, labeled, measure = asking.nodes_on(CUDA), cases.nodes_on(CUDA), MEASURES[settings.similarity.measure]
    overall = combine(measure.all_pairs(h[targets], h[labeled]), structure, settings.similarity.node_weight)
    overall.masked_fill_(targets[:, None] == labeled[None, :], -torch.inf)
    positions = top(overall, settings.vote.num_nearest)
    return overall.gather(1, positions), positions


def milliseconds(run: Callable[[], Any], repeats: int = 9) -> float:
    """Median time of a call after two warm ones, the device waited for."""
    times = []
    for turn in range(repeats + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        if turn >= 2:
            times.append(1e3 * (time.perf_counter() - start))
    return median(times)


if __name__ == "__main__":
    main()
