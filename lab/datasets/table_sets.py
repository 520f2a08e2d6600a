"""Ten sets of tables as people have them, drawn at random, with a known truth: dates, gaps, categories, amounts.

Each set has a size, classes, columns and a seed of its own. The sets differ in where the class can be seen: in a node's
own columns, in the data of its edges (amount, type, weight, direction), in the classes of its neighbors (equal or
different ones), or only through nodes of another type. Some labels can be flipped; the tables do not say which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.tables import EdgeTable, ImportSettings, read_tables

FIRST = ["Änne", "Bjørn", "Chloé", "Dörte", "Emre", "Fatma", "Gül", "Håkon", "Inès", "Jürgen", "Łukasz", "Zoë"]
LAST = ["Müller", "Øst", "Petit", "Quist", "Groß", "Sørensen", "Çelik", "Ünal", "Vogt", "Weiß", "Żak", "Adler"]
PLACES = ("Köln", "Malmö", "Nîmes", "Łódź", "Gent", "Porto", "Brno", "Turku")
EDGE_TYPES = ("transfer", "card", "cash", "loan", "refund")
FIRST_DAY = np.datetime64("2019-03-01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where the class of a node can be seen, and what the tables look like."""

    about: str
    nodes: int
    classes: Mapping[str, float]  # with the share of nodes of each
    columns: float = 0.0  # distance between the classes in the numbers of a node, in standard deviations
    edge_data: float = 0.0  # the same in the amount of an edge; also how much its type depends on the class
    follow: float = 0.0  # share of the edges that lead to the class that the pattern names
    shift: int = 0  # that class: 0, its own; 1, the next one
    degree: float = 3.5  # edges per node
    known: float = 0.9  # share of the nodes with a label
    directed: bool = True
    has_edge_data: bool = True
    through: str = ""  # node type that joins the nodes, in place of edges between them


PLANS: dict[str, Plan] = {
    "accounts": Plan(
        about="bank accounts; columns, payments and partners each say something",
        nodes=1600, classes={"ok": 0.7, "fraud": 0.3}, columns=2.0, edge_data=1.0, follow=0.75,
    ),
    "patients": Plan(
        about="only the columns of a node matter",
        nodes=900, classes={"A": 0.35, "B": 0.35, "C": 0.3}, columns=5.5, known=0.8,
    ),
    "machines": Plan(
        about="6% are faulty; columns and neighbors",
        nodes=2000, classes={"fine": 0.94, "faulty": 0.06}, columns=4.5, follow=0.7, has_edge_data=False,
    ),
    "traders": Plan(
        about="each class deals with another one; weak columns",
        nodes=1200, classes={"buyer": 0.4, "broker": 0.3, "seller": 0.3}, columns=2.0, follow=0.9, shift=1, degree=5,
    ),
    "parcels": Plan(
        about="amounts and types of edges decide",
        nodes=1400, classes={"box": 0.3, "letter": 0.4, "pallet": 0.3}, columns=1.0, edge_data=3.0, degree=8,
    ),
    "members": Plan(
        about="few nodes, undirected edges without data, close groups",
        nodes=600, classes={"left": 0.5, "right": 0.5}, columns=2.0, follow=0.9, degree=5, directed=False,
        has_edge_data=False,
    ),
    "shops": Plan(
        about="five classes, few edges",
        nodes=1500, classes={"food": 0.3, "books": 0.25, "toys": 0.2, "tools": 0.15, "art": 0.1},
        columns=4.0, edge_data=1.0, follow=0.7, degree=3, known=0.95,
    ),
    "devices": Plan(
        about="three classes of 80%, 14% and 6%; neighbors of the same class, edge data",
        nodes=1800, classes={"idle": 0.8, "busy": 0.14, "broken": 0.06}, columns=3.5, edge_data=1.5, follow=0.8,
    ),
    "papers": Plan(
        about="papers and authors; who wrote a paper decides",
        nodes=1000, classes={"biology": 0.3, "physics": 0.4, "law": 0.3}, columns=0.5, through="author", follow=0.95,
    ),
    "orders": Plan(
        about="orders and products; what was bought and the columns of an order decide",
        nodes=1300, classes={"kept": 0.75, "returned": 0.25}, columns=3.0, through="product", follow=0.85,
    ),
}  # fmt: skip
NAMES = tuple(PLANS)


@dataclass(frozen=True, slots=True, eq=False)
class TableSet:
    """Tables as `read_tables` takes them, the settings to import them with, and the classes of all nodes by id."""

    nodes: pd.DataFrame | dict[str, pd.DataFrame]
    edges: pd.DataFrame | list[EdgeTable]
    settings: ImportSettings
    classes: pd.DataFrame  # columns "truth" and "given": without and with flipped labels, also of nodes without a label

    def graph(self) -> Graph:
        """The tables, imported."""
        return read_tables(self.nodes, self.edges, self.settings).graph

    def labels(self, graph: Graph, column: str) -> IntArray:
        """One column of ``classes`` in the order of the imported graph, [N]; nodes of other types are unknown."""
        numbers = {name: i for i, name in enumerate(graph.class_names)}
        found = self.classes[column].map(numbers).reindex(list(graph.node_names)).fillna(UNKNOWN)
        return np.asarray(found, np.int64)


def table_set(name: str, *, flipped: float = 0.0, seed: int = 0) -> TableSet:
    """One of the sets.

    Args:
        name: one of :data:`NAMES`.
        flipped: share of the labels that are replaced by another class.
        seed: draws other tables of the same plan; the same seed gives the same tables, flipped or not.

    >>> tables = table_set("members", flipped=0.08)
    >>> len(tables.nodes), (tables.classes["truth"] != tables.classes["given"]).sum()
    (600, np.int64(48))
    """
    if name not in PLANS:
        raise InputError(f"the table set must be one of {', '.join(NAMES)}, got {name!r}")
    plan, (draw, flip) = PLANS[name], np.random.default_rng([NAMES.index(name), seed, 2026]).spawn(2)
    names = np.array(list(plan.classes))
    truth = draw.choice(len(names), plan.nodes, p=list(plan.classes.values()))
    table = _node_table(draw, truth, len(names), plan, name[0].upper())
    ids = table["id"].to_numpy()
    known = draw.random(plan.nodes) < plan.known
    nodes: pd.DataFrame | dict[str, pd.DataFrame] = table
    edges: pd.DataFrame | list[EdgeTable]
    if plan.through:
        others, joined = _through(draw, truth, len(names), plan, ids)
        nodes, edges = {name: table, plan.through: others}, [EdgeTable(type=f"has {plan.through}", table=joined)]
    else:
        edges = _edge_table(draw, truth, len(names), plan, ids)
    given, wrong = truth.copy(), flip.permutation(plan.nodes)[: round(flipped * plan.nodes)]
    given[wrong] = (truth[wrong] + flip.integers(1, len(names), len(wrong))) % len(names)
    table["class"] = pd.Series(names[given]).where(known)
    data: dict[str, Any] = {"edge_weight": "count", "edge_type": "means", "edge_time": "last"}
    settings = ImportSettings(
        id="id",
        label="class",
        source="from",
        target="to",
        caption="name",
        name=name,
        seed=seed,
        directed=plan.directed and not plan.through,
        **(data if plan.has_edge_data and not plan.through else {}),
    )
    return TableSet(nodes, edges, settings, pd.DataFrame({"truth": names[truth], "given": names[given]}, index=ids))


def _node_table(draw: np.random.Generator, truth: IntArray, num_classes: int, plan: Plan, letter: str) -> pd.DataFrame:
    n = len(truth)
    numbers = _apart(draw, num_classes, 5, plan.columns)[truth] + draw.normal(size=(n, 5))
    habits = draw.dirichlet(np.full(len(PLACES), 2.0), num_classes) * 0.5 + 0.5 / len(PLACES)
    table = pd.DataFrame(
        {
            "id": [f"{letter}{i:05d}" for i in draw.permutation(n)],
            "name": [f"{draw.choice(FIRST)} {draw.choice(LAST)}" for _ in range(n)],
            "amount": np.exp(6 + numbers[:, 0]).round(2),
            "score": (50 + 10 * numbers[:, 1]).round(1),
            "visits": np.maximum(0, np.round(20 + 5 * numbers[:, 2])),
            "since": FIRST_DAY + (900 + 150 * numbers[:, 3]).astype("timedelta64[D]"),
            "age": np.clip(45 + 15 * draw.normal(size=n), 18, 95).round(),
            "place": [draw.choice(PLACES, p=habits[label]) for label in truth],
            "level": np.array(["low", "middle", "high"])[np.digitize(numbers[:, 4], [-0.5, 0.5])],
            "checked": draw.random(n) < 0.8,
        }
    )
    for column, gaps in (("amount", 0.05), ("place", 0.05), ("age", 0.1), ("since", 0.03)):
        table.loc[draw.random(n) < gaps, column] = None
    return table


def _apart(draw: np.random.Generator, num_classes: int, width: int, distance: float) -> np.ndarray[Any, Any]:
    """A center for each class, each as far from the others, in random directions, [C, width]."""
    directions = np.linalg.qr(draw.normal(size=(width, width)))[0][:num_classes]
    return np.asarray(directions * distance / np.sqrt(2))


def _partners(draw: np.random.Generator, truth: IntArray, target: IntArray, num_classes: int, plan: Plan) -> IntArray:
    """For each of some nodes, one of the class that the pattern names, or any, [M]."""
    members = [np.flatnonzero(target == label) for label in range(num_classes)]
    chosen = draw.integers(0, len(target), len(truth))
    for i in np.flatnonzero(draw.random(len(truth)) < plan.follow):
        chosen[i] = draw.choice(members[(truth[i] + plan.shift) % num_classes])
    return chosen


def _edge_table(
    draw: np.random.Generator, truth: IntArray, num_classes: int, plan: Plan, ids: IntArray
) -> pd.DataFrame:
    source = draw.integers(0, len(truth), int(plan.degree * len(truth)))
    target = _partners(draw, truth[source], truth, num_classes, plan)
    source, target = source[source != target], target[source != target]
    m, label = len(source), truth[source]
    table = pd.DataFrame({"from": ids[source], "to": ids[target]})
    if not plan.has_edge_data:
        return table
    size = draw.permutation(num_classes) * plan.edge_data
    habits = draw.dirichlet(np.full(len(EDGE_TYPES), 1.0), num_classes)
    mixed = min(1.0, plan.edge_data / 3)
    habits = mixed * habits + (1 - mixed) / len(EDGE_TYPES)
    table["amount"] = np.exp(4 + size[label] + draw.normal(size=m)).round(2)
    table["count"] = 1 + draw.poisson(1.5, m)
    table["means"] = [draw.choice(EDGE_TYPES, p=habits[i]) for i in label]
    table["last"] = FIRST_DAY + draw.integers(0, 1800, m).astype("timedelta64[D]")
    return table


def _through(
    draw: np.random.Generator, truth: IntArray, num_classes: int, plan: Plan, ids: IntArray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Nodes of another type, each mostly joined to nodes of one class; and the edges to them, three per node."""
    count = len(truth) // 4
    specialty = np.arange(count) % num_classes
    source = np.repeat(np.arange(len(truth)), 3)
    names = np.array([f"{plan.through} {i}" for i in draw.permutation(count)])
    others = pd.DataFrame(
        {"id": names, "country": draw.choice(PLACES, count), "founded": draw.integers(1960, 2020, count)}
    )
    chosen = _partners(draw, truth[source], specialty, num_classes, plan)
    return others, pd.DataFrame({"from": ids[source], "to": names[chosen]}).drop_duplicates()
