"""The columns of the matrix: small graphs of every kind, imported from tables, each with a model trained on it."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from commands import Run
from se_gnn.graph import Graph
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.model import Model
from se_gnn.model.folder import load_model, save_model

NODES, TRAIN, VALIDATION, TEST = 48, 18, 30, 40  # where the parts of the split end
QUICK = {"epochs": 1, "hidden_size": 4, "members": 1, "portfolio": False, "num_nearest": 5, "max_edges": 8}


class RefusedError(Exception):
    """The product refused in one line."""


@dataclass(frozen=True, eq=False)
class World:
    """A model in a folder, perhaps on another graph, and tables of two nodes that arrive later.

    Attributes:
        run: runs a command.
        place: a folder of its own.
        folder: the model.
        tables: how tables of this kind are imported.
        sources: folders of tables, of known nodes and of those that have arrived.
        graph: the graph for ``--graph``; None: the model's own.
        data: the graph that training would start from.
        new: options of `predict` for the new nodes and their edges.
        device: where to compute.
        train: options of `train`.
        foreign: the explainer of a network that was trained elsewhere; None: the model is ours.
        limits: constants of the product that have another value meanwhile.
    """

    run: Run
    place: Path
    folder: Path
    tables: Tables
    sources: tuple[Path, ...]
    graph: Path | None = None
    data: Path | None = None
    new: dict[str, list[str]] = field(default_factory=dict)
    device: str = "cpu"
    train: tuple[str, ...] = ()
    foreign: Any = None
    limits: dict[str, int] = field(default_factory=dict)

    def call(self, *arguments: Any) -> str:
        """What a command prints; one that refuses raises the line it says."""
        result = self.run(*arguments)
        if result.exit_code == 2:
            assert len(result.stderr.strip().splitlines()) == 1, result.stderr
            raise RefusedError(result.stderr)
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return " ".join(result.stdout.split())

    def on(self, command: str, *arguments: Any, device: bool = False) -> str:
        """The same for a command on the model: ``--graph`` and ``--device`` are given where they are needed."""
        more = [] if self.graph is None else ["--graph", self.graph]
        more += ["--device", self.device] if device else []
        return self.call(*command.split(), self.folder, *arguments, *more)

    @cached_property
    def model(self) -> Model:
        """The model as the product reads it."""
        return load_model(self.folder, self.graph)

    @cached_property
    def truth(self) -> Model:
        """The same encoder on the same graph in memory."""
        return Model(self.model.encoder, in_memory(self.model.graph), self.model.settings, self.model.facts)

    @property
    def queries(self) -> np.ndarray:
        """Nodes that are predicted unless others are asked for."""
        return self.truth.graph.candidates

    def with_all(self, folder: Path) -> Graph:
        """The graph with its new nodes, from tables that held them from the start."""
        return self.tables.with_all(self.sources, folder, self.folder)

    def another(self, folder: Path) -> Path:
        """Another graph of the same kind."""
        self.tables.write(folder, seed=11, prefix="k")
        return self.tables.imported(folder, self.folder)

    @cached_property
    def own(self) -> Path:
        """A model folder whose own graph is the one that is looked at, which may be edited."""
        folder = self.place / "own"
        if self.graph is None:
            return Path(shutil.copytree(self.folder, folder))
        save_model(self.model, folder)
        return folder


def in_memory(graph: Graph) -> Graph:
    """The same graph with all its parts in memory, checked anew."""
    if graph.fits_memory:
        return graph
    nodes, values = graph.nodes, graph.edge_values
    every = np.arange(graph.num_edges)
    target = {"values": graph.values} if graph.predicts_numbers else {"class_names": graph.class_names}
    target |= {} if graph.predicts_numbers else {"labels": graph.labels}
    return Graph.build(
        name=graph.name, features=nodes.features.take(np.arange(graph.num_nodes)), edges=graph.edges.pairs.take(every),
        edge_values=None if values is None else values.take(every), node_names=list(nodes.names),
        feature_names=nodes.feature_names, columns=nodes.columns, captions=None if nodes.captions is None else
        list(nodes.captions), **dict(graph.split.items()), **target,
    )  # fmt: skip


def assignments(values: dict[str, Any]) -> list[str]:
    """Settings as options."""
    return [text for name, value in values.items() for text in ("--set", f"{name}={str(value).lower()}")]


PAIRS = {"nodes": "new", "edges": "new_edges", "authors": "new_authors", "writes": "new_writes"}


@dataclass(frozen=True, eq=False)
class Tables:
    """How tables of one kind are written and imported.

    Attributes:
        run: runs a command.
        options: of `import`.
        edge: what edges carry, a column with its possible values.
        number: whether a number is predicted.
        typed: whether there are authors beside the papers.
    """

    run: Run
    options: tuple[str, ...] = ()
    edge: dict[str, Any] = field(default_factory=dict)
    number: bool = False
    typed: bool = False

    def write(self, folder: Path, *, seed: int = 0, prefix: str = "n") -> None:
        """Nodes and edges, and nodes that arrive later with their edges."""
        draw = np.random.default_rng(seed)
        folder.mkdir(parents=True, exist_ok=True)
        classes = np.arange(NODES) % 3
        names = np.array([f"{prefix}{i}" for i in range(NODES)])
        known = np.arange(NODES) < TEST
        price = [f"{10 * c + more:.2f}" for c, more in zip(classes, draw.random(NODES))]
        ends = np.array([(i, j) for i in range(NODES - 1) for j in draw.choice(NODES - 1, 2, replace=False) if i != j])
        tables = {
            "nodes": {
                "id": names,
                "amount": (classes + draw.normal(scale=0.6, size=NODES)).round(3),
                "rate": (classes % 2 + draw.normal(scale=0.6, size=NODES)).round(3),
                "part": np.repeat(["train", "val", "test", ""], np.diff([0, TRAIN, VALIDATION, TEST, NODES])),
                "class": np.where(known, np.array(["red", "green", "blue"])[classes], ""),
                "price": np.where(known, price, ""),
            },
            "edges": {"source": names[ends[:, 0]], "target": names[ends[:, 1]]},
            "new": {"id": ["x1", "x2"], "amount": [1.5, 0.1], "rate": [0.2, 0.9]},
            "new_edges": {"source": ["x1", "x1", "x2"], "target": [names[20], "x2", names[3]]},
        }
        for table in (tables["edges"], tables["new_edges"]):
            table |= {name: draw.choice(values, len(table["source"])) for name, values in self.edge.items()}
        if self.typed:
            writers = [f"{prefix}a{i}" for i in range(12)]
            pairs = pd.DataFrame({"source": draw.choice(writers, 90), "target": np.resize(names[:-1], 90)})
            ages, works = draw.integers(20, 70, 12), draw.integers(1, 9, 12)
            tables["authors"] = {"id": writers, "age": ages, "works": works}
            tables["writes"] = dict(pairs.drop_duplicates())
            tables["new_authors"] = {"id": ["y1"], "age": [33], "works": [2]}
            tables["new_writes"] = {"source": ["y1", writers[3]], "target": ["x1", "x2"]}
        for name, table in tables.items():
            pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)

    def imported(self, folder: Path, like: Path | None = None) -> Path:
        """The tables in a folder as a graph."""
        wanted, other = ("--label", "class"), "price"
        if self.number:
            wanted, other = ("--target-number", "price"), "class"
        nodes, edges = {"": "nodes"}, {"": "edges"}
        if self.typed:
            nodes = {"paper=": "nodes", "author=": "authors"}
            edges = {"cites:paper-paper=": "edges", "writes:author-paper=": "writes"}
        files = [text for kind, name in nodes.items() for text in ("--nodes", f"{kind}{folder / name}.csv")]
        files += [text for kind, name in edges.items() for text in ("--edges", f"{kind}{folder / name}.csv")]
        result = self.run(
            "import", *files, "--id", "id", *wanted, "--column", "part=split", "--column", f"{other}=ignore",
            *self.options, "--out", folder / "graph", *(() if like is None else ("--like", like)),
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        return folder / "graph"

    def new(self, folder: Path) -> dict[str, list[str]]:
        """The options that name the tables of new nodes."""
        if not self.typed:
            return {"--new-nodes": [f"{folder / 'new.csv'}"], "--new-edges": [f"{folder / 'new_edges.csv'}"]}
        return {
            "--new-nodes": [f"paper={folder / 'new.csv'}", f"author={folder / 'new_authors.csv'}"],
            "--new-edges": [
                f"cites:paper-paper={folder / 'new_edges.csv'}", f"writes:author-paper={folder / 'new_writes.csv'}",
            ],
        }  # fmt: skip

    def with_all(self, sources: tuple[Path, ...], folder: Path, like: Path) -> Graph:
        """A graph of tables that hold the new rows of some folders from the start; the first has the known ones."""
        for known, later in PAIRS.items():
            files = [sources[0] / f"{known}.csv", *(source / f"{later}.csv" for source in sources)]
            if files[0].exists():
                whole = pd.concat([pd.read_csv(file) for file in files if file.exists()])
                whole.to_csv(folder / f"{known}.csv", index=False)
        return load_graph(self.imported(folder, like))


def trained(run: Run, graph: Path, folder: Path, *options: Any, **given: Any) -> Path:
    """A model of a graph."""
    settings = {**QUICK, **given}
    result = run("train", graph, "--out", folder, "--device", "cpu", "--quiet", *assignments(settings), *options)
    assert result.exit_code == 0, result.output
    return folder


def _of_tables(run: Run, place: Path, tables: Tables, **given: Any) -> World:
    tables.write(place)
    data = tables.imported(place)
    folder = trained(run, data, place / "model", **given)
    train = tuple(assignments({**QUICK, **given}))
    return World(run, place, folder, tables, (place,), data=data, new=tables.new(place), train=train)


def plain(run: Run, place: Path) -> World:
    """Nodes with columns, edges without any."""
    return _of_tables(run, place, Tables(run))


def directed(run: Run, place: Path) -> World:
    """Edges that lead from their source to their target."""
    return _of_tables(run, place, Tables(run, ("--directed",)), match_direction=True)


def weighted(run: Run, place: Path) -> World:
    """Edges with weights."""
    tables = Tables(run, ("--edge-column", "share=weight"), {"share": [0.5, 1, 2, 3]})
    return _of_tables(run, place, tables, weighted_mean=True, weighted_steps=True)


def typed(run: Run, place: Path) -> World:
    """Edges of two types."""
    tables = Tables(run, ("--edge-column", "kind=type"), {"kind": ["pays", "knows"]})
    return _of_tables(run, place, tables, match_types="own")


def node_types(run: Run, place: Path) -> World:
    """Papers, which have classes, and authors, which have none; each with columns of their own."""
    return _of_tables(run, place, Tables(run, typed=True), match_types="own")


def mapped(run: Run, place: Path, base: World) -> World:
    """A graph that stays in its files."""
    model = base.model
    save_graph(model.graph, place / "graph", mapped=True)
    save_model(dataclasses.replace(model, graph=load_graph(place / "graph"), stored=None), place / "model")
    return dataclasses.replace(base, place=place, folder=place / "model", data=place / "graph")


def large(run: Run, place: Path, base: World) -> World:
    """A mapped graph of which pages list some nodes, and whose attributes are not smoothed."""
    spread, few = "se_gnn.graph.spread.", {"MOST_ROWS": 40, "FEWEST_ROWS": 16, "MOST_PAIRS": 1}
    limits = {**{spread + name: count for name, count in few.items()}, "se_gnn.labels.smoothing.MOST_SMOOTHED": 0}
    return dataclasses.replace(mapped(run, place, base), limits=limits)


def another_graph(run: Run, place: Path, base: World) -> World:
    """Another month: tables that were imported with the encoding of the first."""
    base.tables.write(place, seed=7, prefix="m")
    graph = base.tables.imported(place, like=base.folder)
    return dataclasses.replace(base, place=place, graph=graph, sources=(place,), data=graph, new=base.tables.new(place))


def with_new_nodes(run: Run, place: Path, base: World) -> World:
    """The graph of the model with two nodes more, as `predict --set keep_graph` stores it."""
    options = [text for name, files in base.new.items() for file in files for text in (name, file)]
    base.call("predict", base.folder, *options, "--out", place / "p.csv", "--set", f"keep_graph={place / 'graph'}")
    for name in ("new", "new_edges"):
        later = pd.read_csv(base.place / f"{name}.csv").replace({"x1": "z1", "x2": "z2"})
        later.to_csv(place / f"{name}.csv", index=False)
    new, graph = base.tables.new(place), place / "graph"
    return dataclasses.replace(base, place=place, graph=graph, sources=(base.place, place), data=graph, new=new)


def after_edits(run: Run, place: Path, base: World) -> World:
    """A model whose labels were edited: two added, one removed, one changed."""
    folder = Path(shutil.copytree(base.folder, place / "model"))
    base.call("labels", "edit", folder, "add", "n31=red", "n44=blue")
    base.call("labels", "edit", folder, "remove", "n2")
    base.call("labels", "edit", folder, "relabel", "n4=red")
    return dataclasses.replace(base, place=place, folder=folder, data=folder)


def calibrated(run: Run, place: Path, base: World) -> World:
    """A model that kept half of the validation nodes aside."""
    folder = trained(run, base.data, place / "model", "--calibration", "0.5")
    return dataclasses.replace(base, place=place, folder=folder, train=(*base.train, "--calibration", "0.5"))


def on_gpu(run: Run, place: Path, base: World) -> World:
    """The same model on a GPU."""
    return dataclasses.replace(base, place=place, device="cuda")


def numbers(run: Run, place: Path) -> World:
    """A number is predicted, not a class."""
    return _of_tables(run, place, Tables(run, number=True), read_values=False, measure="cosine")


def links(run: Run, place: Path) -> World:
    """Edges are predicted."""
    tables = Tables(run)
    tables.write(place)
    data, settings = tables.imported(place), ("--set", "num_nearest=3", "--set", "node_weight=0.5")
    train = ("--task", "links", *settings)
    result = run("train", data, "--out", place / "model", "--quiet", *train)
    assert result.exit_code == 0, result.output
    return World(run, place, place / "model", tables, (place,), data=data, new=tables.new(place), train=train)


def foreign(run: Run, place: Path) -> World:
    """Cases for a network that was trained elsewhere."""
    import torch
    from torch_geometric.nn import GCN

    from se_gnn import CaseExplainer
    from se_gnn.tables.pyg import to_pyg

    tables = Tables(run)
    tables.write(place)
    graph = load_graph(tables.imported(place))
    torch.manual_seed(0)
    network, data = GCN(graph.num_features, 8, 2, 3), to_pyg(graph)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        rows = data.train_mask
        torch.nn.functional.cross_entropy(network(data.x, data.edge_index)[rows], data.y[rows]).backward()
        optimizer.step()
    explainer = CaseExplainer(network.eval(), graph, settings={"num_nearest": 5, "max_edges": 8})
    explainer.save(place / "model")
    new, data = tables.new(place), place / "graph"
    return World(run, place, place / "model", tables, (place,), data=data, new=new, foreign=explainer)


MAKERS: dict[str, Callable[..., World]] = {
    "plain": plain, "directed": directed, "weighted": weighted, "typed": typed, "node types": node_types,
    "mapped": mapped, "large": large, "another graph": another_graph, "new nodes": with_new_nodes,
    "edited": after_edits, "calibrated": calibrated, "gpu": on_gpu, "numbers": numbers, "links": links,
    "foreign": foreign,
}  # fmt: skip
FROM_PLAIN = ("mapped", "large", "another graph", "new nodes", "edited", "calibrated", "gpu")
