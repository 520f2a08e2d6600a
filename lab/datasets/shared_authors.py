"""`shared-authors`: papers, authors and venues, drawn at random, in which whom a paper shares its authors with decides.

An author works on one topic and writes most papers about it. Nothing else tells much: papers have a year and a number
of pages, authors a country, and a venue takes papers of all topics. Only papers have labels. A plain vote of the
labeled papers that share an author is right on most papers; an encoder that cannot tell authors apart is not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from se_gnn.graph import UNKNOWN, Classes, Edges, EdgeValues, Graph, Split
from se_gnn.graph.arrays import IntArray
from se_gnn.tables.node_types import NodesOfType, join_types

PAPERS, AUTHORS, VENUES, TOPICS = 1500, 600, 20, 4
FAITHFUL = 0.9  # share of an author's papers that are about the author's topic
TRAIN, VALIDATION = 0.4, 0.2  # of the papers
COUNTRIES = ("DE", "FR", "JP", "KE", "US")


def load(name: str = "shared-authors", *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """A draw of the graph; ``data_dir`` is not looked at.

    >>> graph = load()
    >>> graph.node_type_names, len(graph.train)
    (('paper', 'author', 'venue'), 600)
    """
    draw = np.random.default_rng([seed, 25])
    topic, specialty = draw.integers(0, TOPICS, PAPERS), draw.integers(0, TOPICS, AUTHORS)
    written, published = _authorship(draw, topic, specialty), draw.integers(0, VENUES, PAPERS)
    year, pages = draw.integers(1990, 2024, PAPERS), draw.poisson(9, PAPERS)
    country = np.eye(len(COUNTRIES), dtype=np.float32)[draw.integers(0, len(COUNTRIES), AUTHORS)]
    columns = np.stack([(year - 2007) / 10, (pages - 9) / 3], axis=1).astype(np.float32)
    authors = [f"author {i}" for i in range(AUTHORS)]  # known by their names, too: two papers share an author
    nodes = join_types(
        {
            "paper": NodesOfType(
                names=[f"paper {i}" for i in range(PAPERS)], features=columns, feature_names=["year", "pages"]
            ),
            "author": NodesOfType(
                names=authors,
                features=np.hstack([country, np.eye(AUTHORS, dtype=np.float32)]),
                feature_names=[*(f"country = {one}" for one in COUNTRIES), *(f"name = {one}" for one in authors)],
            ),
            "venue": NodesOfType(names=[f"venue {i}" for i in range(VENUES)]),
        }
    )
    labels = np.full(len(nodes), UNKNOWN, np.int64)
    labels[:PAPERS] = topic
    pairs = np.concatenate(
        [
            np.stack([written[:, 0], nodes.of_type("author")[written[:, 1]]], axis=1),
            np.stack([np.arange(PAPERS), nodes.of_type("venue")[published]], axis=1),
        ]
    )
    values = EdgeValues(
        type=np.repeat([0, 1], [len(written), PAPERS]).astype(np.int32), type_names=("is written by", "appears at")
    )
    split = np.split(draw.permutation(PAPERS), np.cumsum([round(TRAIN * PAPERS), round(VALIDATION * PAPERS)]))
    return Graph(
        nodes=nodes,
        edges=Edges.build(pairs, len(nodes), values),
        target=Classes.build(labels, [f"topic {i}" for i in range(TOPICS)], num_nodes=len(nodes)),
        split=Split(*split),
        name=name,
    )


def _authorship(draw: np.random.Generator, topic: IntArray, specialty: IntArray) -> IntArray:
    """Pairs of a paper and an author: two to four authors of each paper, [., 2]."""
    pairs = []
    for paper, about in enumerate(topic.tolist()):
        own = specialty == about
        fits = np.where(own, FAITHFUL / own.sum(), (1 - FAITHFUL) / (~own).sum())
        chosen = draw.choice(len(specialty), draw.integers(2, 5), replace=False, p=fits)
        pairs += [(paper, author) for author in chosen.tolist()]
    return np.array(pairs, np.int64)


def shared_author_vote(graph: Graph, nodes: IntArray) -> IntArray:
    """The class of most labeled papers that share an author with each of some papers, [T]; the first class if none."""
    u, v = graph.edges.ends.T
    ones = np.ones(graph.num_edges)
    adjacency = sp.csr_array((ones, (u, v)), shape=(graph.num_nodes, graph.num_nodes))
    with_authors = (adjacency + adjacency.T).tocsr()[:, graph.node_types == graph.node_type_names.index("author")]
    known = np.zeros((graph.num_nodes, graph.num_classes))
    known[graph.train, graph.labels[graph.train]] = 1
    votes = with_authors @ (with_authors.T @ known)
    return np.asarray(votes[nodes].argmax(axis=1), np.int64)
