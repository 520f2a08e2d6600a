"""New nodes on a graph: how long until they, and all known nodes, are predicted."""

from __future__ import annotations

import time

import numpy as np

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import load_graph
from benchmarks.measure import Outcome, RunSettings, Spread
from se_gnn.graph import Graph
from se_gnn.graph.extend import NewNodes
from se_gnn.graph.split import PARTS
from se_gnn.labels.extension import extend

NUM_NEW = 1000


def arriving(case: Case, run: RunSettings) -> Outcome:
    """Take nodes out of the graph, and add them again; weights are random, which changes no time."""
    known, new = parted(load_graph(case.dataset, seed=run.seed), 20 if run.quick else NUM_NEW, seed=run.seed)
    trained = ours.untrained_model(known, ours.settings_for(known, preset=case.preset, settings=case.settings), seed=0)
    extend(trained, new)  # compiles
    seconds = []
    for _ in range(run.rounds(case.rounds)):
        fresh = ours.untrained_model(known, trained.settings, seed=0)  # nothing is kept from the round before
        start = time.perf_counter()
        extension = extend(fresh, new)
        seconds.append(time.perf_counter() - start)
    return Outcome(
        figures={"time": Spread.of(seconds)},
        samples={"ours": seconds},
        details={"new nodes": len(extension.new), "new edges": len(new.pairs), "known nodes": known.num_nodes},
    )


def parted(graph: Graph, count: int, *, seed: int) -> tuple[Graph, NewNodes]:
    """The graph without some nodes that are in no part of its split, and these nodes with all their edges."""
    free = np.setdiff1d(np.arange(graph.num_nodes), np.concatenate([getattr(graph, part) for part in PARTS]))
    late = np.sort(np.random.default_rng(seed).choice(free, min(count, len(free)), replace=False))
    early = np.setdiff1d(np.arange(graph.num_nodes), late)
    place = np.empty(graph.num_nodes, np.int64)
    place[np.concatenate([early, late])] = np.arange(graph.num_nodes)
    arrives = np.isin(graph.edges.ends, late).any(axis=1)
    known = Graph.build(
        name=graph.name,
        features=graph.features[early],
        edges=place[graph.edges.ends[~arrives]],
        labels=graph.labels[early],
        class_names=graph.class_names,
        node_names=[graph.node_names[node] for node in early],
        **{part: place[getattr(graph, part)] for part in ("train", "validation", "test")},
        dataset=graph.dataset,
    )
    names = tuple(graph.node_names[node] for node in late)
    return known, NewNodes(names=names, features=graph.features[late], pairs=place[graph.edges.ends[arrives]])
