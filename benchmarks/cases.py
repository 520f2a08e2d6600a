"""What is measured, as data: each case names its workload, what it is compared with, and what it must show.

Nothing heavy is imported here: a workload is a name, `module:function`, and is imported when its case runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Bound = Literal["at least", "at most"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a case and the bound it must keep."""

    name: str
    unit: str
    bound: Bound
    target: float
    aim: float | None = None

    def keeps(self, value: float, limit: float) -> bool:
        """Whether a value is on the right side of a limit."""
        return value >= limit if self.bound == "at least" else value <= limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that is measured.

    Args:
        name: what selects it on the command line.
        title: what it is, in the table.
        workload: `module:function` that measures it.
        dataset: the graph it runs on.
        preset: settings of the model.
        settings: what is changed in the preset, as `section.key=value`.
        ours: what our side does.
        baseline: what the other side does; None where the limit is a number.
        figures: what comes out.
        rounds: how often both sides are measured, in turn.
    """

    name: str
    title: str
    workload: str
    dataset: str
    preset: str = "best"
    settings: tuple[str, ...] = ()
    ours: str
    baseline: str | None = None
    figures: tuple[Figure, ...]
    rounds: int = 5

    def load_workload(self) -> Callable[..., Any]:
        """The function that measures this case."""
        module, _, function = self.workload.partition(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
        return loaded


def _speedup(target: float, aim: float | None = None) -> Figure:
    return Figure(name="speedup", unit="x faster", bound="at least", target=target, aim=aim)


def _of_its_time(target: float, aim: float) -> Figure:
    return Figure(name="time", unit="x its time", bound="at most", target=target, aim=aim)


def _limits(seconds: float, gigabytes: float) -> tuple[Figure, Figure]:
    return (
        Figure(name="time", unit="s", bound="at most", target=seconds),
        Figure(name="peak memory", unit="GB", bound="at most", target=gigabytes),
    )


def _whole_run(name: str, title: str, dataset: str, seconds: float, gigabytes: float, **more: Any) -> Case:
    return Case(
        name=name,
        title=title,
        workload="benchmarks.workloads.scale:everything",
        dataset=dataset,
        ours="load, train, predict and explain every node, in a process of its own",
        figures=_limits(seconds, gigabytes),
        rounds=1,
        **more,
    )


def _serving(milliseconds: float) -> tuple[Figure, ...]:
    return (
        Figure(name="explanation, 95th percentile", unit="ms", bound="at most", target=milliseconds),
        Figure(name="start-up", unit="s", bound="at most", target=5),
        Figure(name="answered of 50 readers at once", unit="%", bound="at least", target=100),
        Figure(name="memory after 10,000 requests", unit="x", bound="at most", target=1.1),
    )


# dense graphs: a training step looks at some edges of a local graph, inference at all
_LARGE = ("max_local_edges=64", "epochs=60", "patience=20")

CASES: tuple[Case, ...] = (
    Case(
        name="cora-epoch",
        title="Cora, training epoch with validation, against the dense formulation",
        workload="benchmarks.workloads.training:against_dense",
        dataset="cora",
        preset="authors",
        ours="one epoch: encoder, labeled x labeled similarities, losses, backward, Adam, validation",
        baseline="the same epoch with dense distance matrices and scatter-max, validation in batches of 16",
        figures=(_speedup(60, aim=100),),
        rounds=3,
    ),
    Case(
        name="cora-score",
        title="Cora, scoring all 1,000 test nodes including local graphs, against the dense formulation node by node",
        workload="benchmarks.workloads.scoring:against_dense",
        dataset="cora",
        preset="authors",
        ours="embeddings, local graphs of the test nodes, similarities, vote",
        baseline="the same with k_hop_subgraph and a dense distance matrix for each test node",
        figures=(_speedup(150, aim=300),),
        rounds=3,
    ),
    Case(
        name="cora-explain",
        title="Cora, full explanation of a node, amortized over all nodes, against GNNExplainer",
        workload="benchmarks.workloads.explaining:against_gnn_explainer",
        dataset="cora",
        ours="K neighbors, matched edges and edge importance of every node; seconds per node",
        baseline="PyG's GNNExplainer, 200 epochs on a trained 2-layer GCN; seconds per node",
        figures=(_speedup(20_000),),
    ),
    Case(
        name="cora-gcn",
        title="Cora, training epoch with validation, against a PyG GCN epoch",
        workload="benchmarks.workloads.training:against_gcn",
        dataset="cora",
        ours="one epoch: encoder, labeled x labeled similarities, losses, backward, Adam, validation",
        baseline="one epoch of PyG's 2-layer GCN (64 hidden, dropout 0.5, normalized edges cached) with validation",
        figures=(_of_its_time(12, aim=6),),
        rounds=9,
    ),
    Case(
        name="cora-roofline",
        title="Cora, matching all edges in all labeled local graphs, against one product of the distinct edge pairs",
        workload="benchmarks.workloads.matching:against_product",
        dataset="cora",
        ours="best match and its similarity of every edge in the local graph of every labeled node, one direction",
        baseline="one float32 matrix product, all edges x distinct labeled edges, the faster of NumPy and PyTorch",
        figures=(_of_its_time(2, aim=1),),
        rounds=9,
    ),
    Case(
        name="cora-product",
        title="Cora, matching all edges in all labeled local graphs, with its parts in LLVM vectors and without",
        workload="benchmarks.workloads.product:against_blas",
        dataset="cora",
        preset="authors",
        ours="the product of nodes and the maxima over local graphs in LLVM vectors, `similarity/cpu/lanes.py`",
        baseline="the product by NumPy's BLAS on blocks of 192 x 512, one thread each; the maxima by plain numba loops",
        figures=(
            Figure(name="product", unit="x faster than BLAS", bound="at least", target=1.3),
            Figure(name="matching, product", unit="x faster than with BLAS", bound="at least", target=1.3),
            Figure(name="matching, maxima", unit="x faster than with plain loops", bound="at least", target=1.3),
        ),
        rounds=7,
    ),
    _whole_run(
        "pubmed",
        "PubMed: train 200 epochs with validation, predict and explain every node",
        "pubmed",
        180,
        4,
        settings=("epochs=200", "patience=none"),
    ),
    _whole_run(
        "amazon-photo",
        "Amazon-Photo, 20 labeled per class: train, predict and explain every node, exact inference",
        "amazon-photo",
        20 * 60,
        8,
        preset="paper",
        settings=_LARGE,
    ),
    _whole_run(
        "coauthor-physics",
        "Coauthor-Physics, 20 labeled per class: train, predict and explain every node, exact inference",
        "coauthor-physics",
        30 * 60,
        12,
        preset="paper",
        settings=_LARGE,
    ),
    _whole_run(
        "default-cora", "Cora with the default: train to the end, predict and explain every node", "cora", 60, 4
    ),
    _whole_run(
        "default-photo",
        "Amazon-Photo with the default: train to the end, predict and explain every node",
        "amazon-photo",
        10 * 60,
        4,
    ),
    _whole_run(
        "default-hubs",
        "25,000 nodes, 175,000 edges, power-law degrees, with the default: train, predict and explain every node",
        "hubs",
        10 * 60,
        4,
    ),
    Case(
        name="doubling",
        title="Doubling nodes and edges at fixed degree and labeled set: scoring every node",
        workload="benchmarks.workloads.scale:doubling",
        dataset="generated",
        ours="embeddings, local graphs, similarities and vote of all nodes of a graph with 2N nodes",
        baseline="the same with N nodes; memory is what is taken beyond imports and compiled kernels",
        figures=(
            Figure(name="time", unit="x", bound="at most", target=2.2),
            Figure(name="memory", unit="x", bound="at most", target=2.2),
        ),
        rounds=9,
    ),
    Case(
        name="many-labeled",
        title="8,000 labeled of 20,000 nodes, a trained model: every node scored exactly, against comparing all pairs",
        workload="benchmarks.workloads.searching:trained",
        dataset="generated",
        settings=("portfolio=false",),
        ours="similarities and vote of all nodes; labeled nodes that are proved to be farther are not compared",
        baseline="the same with every labeled node compared; all bits of both are the same",
        figures=(_speedup(3, aim=10),),
        rounds=3,
    ),
    Case(
        name="many-labeled-random",
        title="8,000 labeled of 20,000 nodes, random vectors, where bounds are of no help",
        workload="benchmarks.workloads.searching:random_vectors",
        dataset="generated",
        ours="similarities and vote of all nodes; a few targets tell that comparing all is the better way",
        baseline="the same with every labeled node compared; all bits of both are the same",
        figures=(Figure(name="time", unit="x its time", bound="at most", target=1.1),),
        rounds=3,
    ),
    Case(
        name="start-up",
        title="PubMed, `se-gnn explain` of one node of a saved model, from the shell to the answer",
        workload="benchmarks.workloads.starting:explaining",
        dataset="pubmed",
        ours="a process that loads the model, embeds the graph, explains the node and prints it",
        figures=(Figure(name="time", unit="s", bound="at most", target=3, aim=1.5),),
    ),
    Case(
        name="first-run",
        title="Cora, the first epoch on a machine where nothing is compiled yet",
        workload="benchmarks.workloads.starting:compiling",
        dataset="cora",
        ours="seconds that training is prepared and its first epoch runs, less what the same takes again",
        figures=(Figure(name="wait", unit="s", bound="at most", target=5, aim=0),),
        rounds=3,
    ),
    Case(
        name="table-import",
        title="Two CSV files, 1,000,000 nodes and 10,000,000 edges named by text: read, understand, encode, write",
        workload="benchmarks.workloads.tables:importing",
        dataset="generated",
        ours="both tables read, six columns fitted and encoded, edges merged, graph and node table written",
        figures=_limits(120, 8),
        rounds=1,
    ),
    Case(
        name="new-nodes",
        title="PubMed, 1,000 nodes that arrive after training, with their edges",
        workload="benchmarks.workloads.new_nodes:arriving",
        dataset="pubmed",
        ours="the graph grows; embeddings, local graphs and votes of all nodes before and after; whose class changes",
        figures=(Figure(name="time", unit="s", bound="at most", target=10),),
        rounds=3,
    ),
    Case(
        name="serve-cora",
        title="Cora, the service on loopback",
        workload="benchmarks.workloads.serving:load",
        dataset="cora",
        preset="best",
        ours="`se-gnn serve` in a process of its own; explanations with matched edges of 5 neighbors, one by one",
        figures=_serving(50),
        rounds=1,
    ),
    Case(
        name="serve-pubmed",
        title="PubMed, the service on loopback",
        workload="benchmarks.workloads.serving:load",
        dataset="pubmed",
        preset="best",
        ours="`se-gnn serve` in a process of its own; explanations with matched edges of 5 neighbors, one by one",
        figures=_serving(200),
        rounds=1,
    ),
    Case(
        name="slider",
        title="Cora, the slider K of the explorer in chromium, from its event until the changed page is drawn",
        workload="benchmarks.workloads.exploring:slider",
        dataset="cora",
        ours="`se-gnn serve` in a process of its own; four nodes at random and the four with the most edges",
        figures=(Figure(name="slider", unit="ms", bound="at most", target=100),),
        rounds=1,
    ),
    Case(
        name="new-rows",
        title="3,000 accounts, 100 of them new rows with their edges, one request to the service on loopback",
        workload="benchmarks.workloads.exploring:batch",
        dataset="accounts of examples/fraud.py",
        ours="`se-gnn serve` in a process of its own; explanations with matched edges of 5 neighbors",
        figures=tuple(Figure(name=name, unit="s", bound="at most", target=1) for name in ("predict", "explain")),
    ),
    Case(
        name="two-ranks",
        title="10,000 nodes, 50,000 edges, 420 labeled nodes: predictions of all nodes into a folder of shards",
        workload="benchmarks.workloads.ranks:prediction",
        dataset="generated",
        ours="two processes started by torchrun, of one thread each; embedding is done by both",
        baseline="one process of one thread, started in the same way; the same bytes",
        figures=(_speedup(1.7, 1.9),),
        rounds=3,
    ),
    Case(
        name="mapped-graph",
        title="1,000,000 nodes, 10,000,000 edges from Parquet, within 500 MB: import, embed, predict 10,000 nodes",
        workload="benchmarks.workloads.mapped:sample_of_million",
        dataset="generated",
        ours="streamed into a mapped graph, embedded in blocks; weights as training starts from",
        figures=_limits(10 * 60, 2),
        rounds=1,
    ),
    Case(
        name="mapped-graph-large",
        title="10,000,000 nodes, 100,000,000 edges from Parquet, within 4 GB: import, embed, predict 100,000 nodes",
        workload="benchmarks.workloads.mapped:sample_of_ten_million",
        dataset="generated",
        ours="streamed into a mapped graph, embedded in blocks; weights as training starts from",
        figures=_limits(30 * 60, 12),
        rounds=1,
    ),
    Case(
        name="mapped-report",
        title="10,000,000 nodes, 100,000,000 edges: explanation, report and server, once embeddings are stored",
        workload="benchmarks.workloads.mapped:explaining",
        dataset="generated",
        ours="trained on a part, imported with --like; explanations in an open process; the commands report and serve",
        figures=(
            Figure(name="explanation", unit="s", bound="at most", target=1),
            Figure(name="report", unit="s", bound="at most", target=60),
            Figure(name="server ready", unit="s", bound="at most", target=60),
            Figure(name="explanation by the server", unit="s", bound="at most", target=1),
        ),
        rounds=1,
    ),
)
