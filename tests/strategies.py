"""Small random graphs, embeddings and models for tests: by seed, or by hypothesis.

The models are not trained: a claim about predictions and explanations has to hold for any parameters.
"""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from se_gnn.graph import EdgeValues, Graph, LocalGraphs, RawTable, local_graphs
from se_gnn.graph.columns import NumberColumn
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.graph.nodes import composed
from se_gnn.graph.rows import Rows, Texts
from se_gnn.graph.split import PARTS
from se_gnn.model import SEGNN, Model
from se_gnn.ranking import Cases, ClassAnswers, Ranking
from se_gnn.settings import Resolved, Settings, SimilaritySettings, VoteSettings
from se_gnn.similarity import Items, Nearest, Similarities, Similarity, items_of
from se_gnn.similarity.comparison import Comparison
from se_gnn.similarity.edges import Terms
from se_gnn.similarity.items import LocalEdges, Way

seeds = st.integers(0, 2**31 - 1)
measures = st.sampled_from(["cosine", "distance"])


def random_graph(
    seed: int = 0,
    *,
    num_nodes: int = 16,
    num_edges: int = 26,
    num_labeled: int = 6,
    num_classes: int = 2,
    num_features: int = 5,
    isolated: tuple[int, ...] = (),
    **details: Any,
) -> Graph:
    """A graph whose first nodes are labeled, the next ones for validation, the rest for the test."""
    generator = np.random.default_rng(seed)
    joined = np.setdiff1d(np.arange(num_nodes), isolated)
    num_val = (num_nodes - num_labeled) // 2
    labels = np.arange(num_nodes) % num_classes
    values = {
        "features": generator.normal(size=(num_nodes, num_features)) + labels[:, None],
        "edges": generator.choice(joined, (num_edges, 2)),
        "labels": labels,
        "train": np.arange(num_labeled),
        "validation": np.arange(num_labeled, num_labeled + num_val),
        "test": np.arange(num_labeled + num_val, num_nodes),
    }
    return Graph.build(**{**values, **details})


def rich_graph(seed: int = 0, *, num_nodes: int = 7, num_edges: int = 11, **details: Any) -> Graph:
    """A random graph whose edges carry everything; some have no direction, some are parallel."""
    generator = np.random.default_rng(seed)
    values = EdgeValues(
        direction=generator.integers(-1, 2, num_edges).astype(np.int8),
        weight=generator.uniform(0.2, 3, num_edges).astype(np.float32),
        type=generator.integers(0, 2, num_edges).astype(np.int32),
        type_names=("pays", "knows"),
        attributes=generator.normal(size=(num_edges, 2)).astype(np.float32),
    )
    pairs = generator.integers(0, num_nodes, (num_edges, 2))
    pairs[1] = pairs[0]
    given = {"num_nodes": num_nodes, "num_edges": num_edges, "num_labeled": 3, "edges": pairs, "edge_values": values}
    return random_graph(seed, **{**given, **details})


HUB, LABELED, UNLABELED, ISOLATED = 0, 5, 45, 58  # of the hub graph


_PARTS = {
    "nodes": {
        "features": "features", "feature_names": "feature_names", "columns": "columns", "node_names": "names",
        "captions": "captions", "raw": "raw", "image_shape": "image_shape", "node_types": "types",
        "node_type_names": "type_names",
    },
    "edges": {"edge_values": "values", "merged": "merged"},
    "target": {"labels": "labels", "class_names": "names"},
    "split": {part: part for part in PARTS},
}  # fmt: skip


def changed(graph: Graph, **fields: Any) -> Graph:
    """A graph with other fields, each of which is one of a part."""
    parts = {}
    for part, names in _PARTS.items():
        own = {names[field]: value for field, value in fields.items() if field in names}
        if own:
            parts[part] = dataclasses.replace(getattr(graph, part), **own)
    assert sum(field in names for field in fields for names in _PARTS.values()) == len(fields), fields
    return dataclasses.replace(graph, **parts)


def hub_graph(hostile_names: tuple[str, ...], **values: Any) -> Graph:
    """60 nodes: a hub of degree 40 with hostile names around it, some classes unknown, two nodes without edges."""
    generator = np.random.default_rng(0)
    nodes = 60
    classes = np.arange(nodes) % 3
    spokes = [(HUB, other) for other in range(1, 41)]
    others = generator.integers(1, 57, size=(50, 2)).tolist()
    few = [(UNLABELED, 46), (UNLABELED, 47), (46, 47), (47, 48), (UNLABELED, 50), (50, 51)]
    names = [f"n{i}" for i in range(nodes)]
    names[1 : 1 + len(hostile_names)] = hostile_names
    usual = {
        "features": np.eye(3)[classes] + 0.3 * generator.normal(size=(nodes, 3)),
        "edges": spokes + others + few,
        "labels": np.where(np.isin(np.arange(nodes), np.arange(41, 50)), -1, classes),
        "node_names": names,
        "train": [*range(1, 30), 59],
        "validation": np.arange(30, 36),
        "test": np.arange(36, 40),
    }
    return Graph.build(**{**usual, **values})


CONTRAST = {"node_batch": 8, "edge_batch": 8, "node_negatives": 5, "edge_negatives": 5}
REFERENCES = {"num_negatives": 3, "support_size": 4}


def small_settings(preset: str = "paper", **given: Any) -> Settings:
    """Settings that fit a graph of a dozen nodes: those of the paper, compared by cosine."""
    small = {"measure": "cosine", "hidden_size": 6, "num_nearest": 3, "epochs": 5}
    if given.get("objective", "paper") == "paper":
        contrast = {} if given.get("node_loss_weight") == given.get("edge_loss_weight") == 0 else CONTRAST
        small |= contrast | REFERENCES
        if given.get("references") == "nearest":
            del small["support_size"]
    return Settings.of(preset, **{**small, **given})


def untrained(graph: Graph, settings: Settings | Resolved, seed: int = 0) -> Model:
    """A model with random parameters, biases included."""
    resolved = settings.resolve() if isinstance(settings, Settings) else settings
    model = SEGNN.for_graph(graph, resolved, generator=torch.Generator().manual_seed(seed)).eval()
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
    return Model(model, graph, model.settings)


@st.composite
def graphs(draw: st.DrawFn, *, min_nodes: int = 3, max_nodes: int = 12) -> Graph:
    """Graphs with 2 or 3 classes, often with isolated nodes, sometimes without any edge; at least two nodes vote."""
    num_nodes = draw(st.integers(min_nodes, max_nodes))
    node = st.integers(0, num_nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=2 * num_nodes))
    num_labeled = draw(st.integers(2, num_nodes - 1))
    labeled = np.array(draw(st.permutations(range(num_nodes))))[:num_labeled]
    labels = np.arange(num_nodes) % draw(st.integers(2, 3))
    labels[labeled[:2]] = [0, 1]
    return Graph.build(
        features=np.random.default_rng(draw(seeds)).normal(size=(num_nodes, 4)),
        edges=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        labels=labels,
        train=labeled,
    )


@st.composite
def similarity_settings(draw: st.DrawFn, num_labeled: int) -> dict[str, Any]:
    """Settings of similarity and vote for a graph with so many labeled nodes."""
    return {
        "num_nearest": draw(st.integers(1, num_labeled)),
        "node_weight": draw(st.sampled_from([0.1, 0.5, 1.0])),
        "temperature": draw(st.sampled_from([0.2, 1.0])),
        "hops": draw(st.integers(1, 3)),
        "measure": draw(measures),
        "directions": draw(st.sampled_from(["one", "both"])),
    }


@st.composite
def models(draw: st.DrawFn, *, min_nodes: int = 3, max_nodes: int = 12) -> Model:
    """Untrained models on small graphs, with any similarity settings."""
    graph = draw(graphs(min_nodes=min_nodes, max_nodes=max_nodes))
    aggregation = draw(st.sampled_from(["gcn", "mean"]))
    similarity = draw(similarity_settings(len(graph.train)))
    factors = draw(st.sampled_from(["none", [0.4, 1.5, 3.0][: graph.num_classes]]))
    settings = Settings.of("paper", hidden_size=5, aggregation=aggregation, class_factors=factors, **similarity)
    return untrained(graph, settings, seed=draw(st.integers(0, 1000)))


@dataclasses.dataclass(frozen=True)
class Sides:
    """Nodes of a graph that are compared with others, under any embeddings."""

    graph: Graph
    settings: SimilaritySettings
    queries: Items
    cases: Items
    terms: Terms | None = None

    @classmethod
    def of(cls, graph: Graph, settings: SimilaritySettings, nodes: Any = None, terms: Terms | None = None) -> Sides:
        """Some nodes, or all, with the labeled ones."""
        asked = np.arange(graph.num_nodes) if nodes is None else np.asarray(nodes, np.int64)
        return cls(graph, settings, *(items_of(graph, some, settings) for some in (asked, graph.train)), terms)

    def at(self, h: torch.Tensor) -> Similarity:
        """What compares nodes under some embeddings."""
        return Similarity(self.graph, h, self.settings, terms=self.terms)

    def compare(self, h: torch.Tensor) -> Similarities:
        """All pairs."""
        return self.at(h).compare(self.queries, self.cases)

    def structure(self, h: torch.Tensor, **options: Any) -> torch.Tensor:
        """Structure similarity of all pairs."""
        return self.comparison(h).structure(None, **options)

    def comparison(self, h: torch.Tensor) -> Comparison:
        """What backends read."""
        return self.at(h).comparison(self.queries, self.cases)


def ranking_of(overall: Any, labels: Any, settings: VoteSettings, num_classes: int) -> Ranking:
    """A complete ranking of L cases for each of T queries; both are [T, L], so every query has cases of its own.

    Case j of query i has the id i L + j.
    """
    given, classes = torch.as_tensor(np.asarray(overall, np.float32)), np.asarray(labels).ravel()
    nodes, count = np.arange(len(classes)), given.shape[1]
    nowhere = LocalGraphs(nodes, np.zeros(len(nodes) + 1, np.int64), np.empty(0, np.int32), 0)
    answers = ClassAnswers.of(classes, num_classes, settings.class_factors)
    cases = Cases(Items(np.empty((0, 2), np.int64), nowhere), answers)
    positions = torch.from_numpy(nodes).view(-1, count)
    queries = len(nodes) + np.arange(len(given))
    return Ranking(queries, Nearest(positions, given, given, given).cut(count), cases, settings, count)


def way_of(graph: Graph, queries: Any, local: LocalGraphs) -> Way:
    """Some edges of a graph, by their ids, that are matched in some local graphs."""
    ids = np.asarray(queries, dtype=np.int64)
    ptr, columns = np.array([0, len(ids)]), np.arange(len(ids), dtype=np.int32)
    return Way(LocalEdges(ids, graph.edges.ends[ids], ptr, columns), LocalEdges.of(graph.edges.ends, local))


@st.composite
def ways(draw: st.DrawFn) -> tuple[Graph, Way]:
    """What edge matching runs over: no, one or many queries; local graphs of 1 to 3 hops, some of them empty."""
    graph = draw(graphs())
    asked = draw(st.lists(st.integers(0, max(0, graph.num_edges - 1)), unique=True, max_size=graph.num_edges))
    return graph, way_of(graph, sorted(asked), local_graphs(graph, graph.train, draw(st.integers(1, 3))))


def whole_numbers(seed: int, num_nodes: int, size: int) -> torch.Tensor:
    """Embeddings whose edge distances float32 knows exactly, with many ties among them."""
    return torch.from_numpy(np.random.default_rng(seed).integers(-3, 4, (num_nodes, size)).astype(np.float32))


def continuous(seed: int, num_nodes: int, size: int) -> torch.Tensor:
    """Embeddings without ties."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(num_nodes, size)).astype(np.float32))


@st.composite
def edge_values(draw: st.DrawFn, num_edges: int) -> EdgeValues:
    """What so many edges carry: any of its parts, at least one."""
    generator = np.random.default_rng(draw(seeds))
    kept = draw(st.lists(st.sampled_from(["direction", "weight", "type", "attributes", "time", "raw"]), min_size=1))
    parts: dict[str, Any] = {
        "direction": generator.integers(-1, 2, num_edges).astype(np.int8),
        "weight": generator.choice([0.5, 1, 2], num_edges).astype(np.float32),
        "type": generator.integers(0, 2, num_edges).astype(np.int32),
        "attributes": generator.integers(0, 2, (num_edges, 2)).astype(np.float32),
        "time": generator.choice([NO_TIME, -5, 0, 1_300_000_000], num_edges).astype(np.int64),
        "raw": RawTable.from_columns({"note": [["a", None, "b"][i] for i in generator.integers(0, 3, num_edges)]}),
    }
    chosen = {name: array for name, array in parts.items() if name in kept}
    if "type" in chosen:
        chosen |= {"type_names": ("owns", "pays"), "type_verbs": draw(st.sampled_from([None, ("owns", "sends to")]))}
    if "attributes" in chosen:
        chosen["attribute_names"] = ("amount", "fee")
        if draw(st.booleans()):
            chosen["columns"] = tuple(
                NumberColumn(name=name, first=i, size=1, offset=1.0, scale=2.0) for i, name in enumerate("ab")
            )
    return EdgeValues(**chosen, names=draw(st.sampled_from([(), (("weight", "eur"),)])))


@st.composite
def graphs_with_names(draw: st.DrawFn) -> Graph:
    """Graphs with everything that can be in one: columns, splits, classes or numbers, dense or sparse features."""
    num_nodes, num_numbers = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    dense = draw(arrays.arrays(np.float32, (num_nodes, num_numbers), elements=st.floats(-1e6, 1e6, width=32)))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=20))
    words = st.text(max_size=5)
    class_names = draw(st.lists(words, min_size=2, max_size=4, unique=True))
    labels = np.array(draw(st.lists(st.integers(-1, len(class_names) - 1), min_size=num_nodes, max_size=num_nodes)))
    part = np.array(draw(st.lists(st.integers(0, 4), min_size=num_nodes, max_size=num_nodes)))
    details: dict[str, Any] = {}
    if draw(st.booleans()):
        details["feature_names"] = tuple(draw(st.lists(words, min_size=num_numbers, max_size=num_numbers)))
    if draw(st.booleans()):
        details["columns"] = tuple(
            NumberColumn(name=draw(words), first=i, size=1, offset=draw(st.floats(-9, 9)), scale=2.0)
            for i in range(num_numbers)
        )
    if draw(st.booleans()):
        details["captions"] = draw(st.lists(words, min_size=num_nodes, max_size=num_nodes))
        cells = draw(st.lists(st.none() | words, min_size=num_nodes, max_size=num_nodes))
        details["raw"] = RawTable.from_columns({"note": cells})
    if draw(st.booleans()):
        details["image_shape"] = (1, num_numbers)
    if draw(st.booleans()):
        details["edge_values"] = draw(edge_values(len(edges)))
    if draw(st.booleans()):
        types = np.array(draw(st.lists(st.integers(0, 1), min_size=num_nodes, max_size=num_nodes)))
        details |= {"node_types": types, "node_type_names": ("person", "firm")}
        labels = np.where(types == types[0], labels, -1)  # one type is predicted
        details["target_type"] = draw(st.sampled_from([None, ("person", "firm")[types[0]]]))
    if draw(st.booleans()):
        details |= {"labels": labels, "class_names": class_names}
    else:
        details |= {"values": np.where(labels < 0, np.nan, labels / 3), "value_name": "income", "unit": draw(words)}
    return Graph.build(
        features=sp.csr_array(dense) if draw(st.booleans()) else dense,
        edges=edges,
        node_names=draw(st.lists(words.map(composed), min_size=num_nodes, max_size=num_nodes, unique=True)),
        **{name: (labels >= 0) & (part == i) for i, name in enumerate(PARTS)},
        name=draw(words),
        dataset=draw(st.none() | words),
        roles=draw(st.sampled_from([(), (("id", "account"), ("source", "from"))])),
        **details,
    )


def assert_same_graph(one: Graph, other: Graph, *, but: tuple[str, ...] = ()) -> None:
    """Every field of every part is the same, but for the report of what was merged on the way."""
    assert (one.name, one.dataset) == (other.name, other.dataset)
    for part in ("nodes", "edges", "target", "split"):
        first, second = getattr(one, part), getattr(other, part)
        assert type(first) is type(second), part
        for field in dataclasses.fields(first):
            if field.name not in ("merged", "csr", *but):
                assert_same(getattr(first, field.name), getattr(second, field.name), f"{part}.{field.name}")


def assert_same(one: Any, other: Any, what: str = "") -> None:
    """Two fields of a part are the same, in memory or mapped."""
    a, b = _in_memory(one), _in_memory(other)
    assert type(a) is type(b), what
    if isinstance(a, EdgeValues | RawTable):
        for field in dataclasses.fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name), f"{what}.{field.name}")
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, what
        np.testing.assert_array_equal(a, b, err_msg=what)
    else:
        assert (a != b).nnz == 0 if sp.issparse(a) else a == b, what


def _in_memory(value: Any) -> Any:
    if isinstance(value, Rows):
        return value.read()
    if isinstance(value, EdgeValues | RawTable):
        return value.take(np.arange(len(value)))
    return tuple(value) if isinstance(value, Texts | list) else value


@st.composite
def edge_lists(draw: st.DrawFn, max_nodes: int = 9) -> tuple[np.ndarray, int]:
    """Canonical edges of small graphs, from empty to complete."""
    num_nodes = draw(st.integers(0, max_nodes))
    pairs = list(combinations(range(num_nodes), 2))
    keep = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    edges = [pair for pair, kept in zip(pairs, keep) if kept]
    return np.array(edges, dtype=np.int64).reshape(-1, 2), num_nodes
