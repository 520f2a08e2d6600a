"""Link prediction under the HeaRT protocol, and a generated graph in which it is known why a link is there.

`citeseer` is the published split with the published hard pairs (https://arxiv.org/abs/2306.10453). `cora` and `pubmed`
are split 85 / 5 / 10, and their hard pairs are made by `se_gnn.links.negatives` after the same rules: the file of one
seed is the same everywhere.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lab.datasets.known_arrays import read_known_arrays
from se_gnn.datasets import load_dataset
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.links.negatives import hard_negatives, random_negatives
from se_gnn.links.pairs import Links, link_types

DIGEST = "333403dda539695f7b6a91deaf1320f6158c1e1f633e0a1bf60249b32f7cb054"
HARD = 500  # pairs for each link
SPLIT_SEED = 0
_ORIGIN = "the arrays of https://github.com/Juanhui28/HeaRT for citeseer, in one file (docs/how-to/links.md names them)"
NAMES = ("citeseer", "cora", "pubmed")


@dataclass(frozen=True, slots=True, eq=False)
class LinkTask:
    """A graph of training links, and links to find with the pairs that they are compared with.

    Shapes:
        - **validation**, **test:** :math:`(n, 2)`, **..._hard:** :math:`(n, 500, 2)`, **..._random:** :math:`(n, 2)`
    """

    graph: Graph
    validation: IntArray
    test: IntArray
    validation_hard: IntArray
    test_hard: IntArray
    validation_random: IntArray
    test_random: IntArray


@functools.cache
def load_link_task(name: str, *, data_dir: str | Path | None = None) -> LinkTask:
    """One of :data:`NAMES`."""
    if name == "citeseer":
        return _citeseer(data_dir)
    return split_links(load_dataset(name, data_dir=data_dir), seed=SPLIT_SEED)


def split_links(graph: Graph, *, seed: int, hard: int = HARD) -> LinkTask:
    """Hide 5% of the links to validate and 10% to test; hard pairs of test links leave out validation links as well."""
    generator = np.random.default_rng([seed, 27])
    kind = link_types(graph)[0]
    every = Links(graph, kind)
    order = generator.permutation(len(every.pairs))
    num_validation, num_test = round(0.05 * len(order)), round(0.1 * len(order))
    validation = every.pairs[np.sort(order[:num_validation])]
    test = every.pairs[np.sort(order[num_validation : num_validation + num_test])]
    for_test = every.without(test)  # knows the validation links
    known = for_test.without(validation)
    words = _unit(graph)
    found = [
        hard_negatives(links, pairs, hard, words, generator) for links, pairs in ((known, validation), (for_test, test))
    ]
    drawn = [random_negatives(every, pairs, generator) for pairs in (validation, test)]
    return LinkTask(known.graph, validation, test, *found, *drawn)


def _citeseer(data_dir: str | Path | None) -> LinkTask:
    file = RawFile("citeseer_heart.npz", url=None, sha256=None, origin=_ORIGIN)
    names = [
        "train_pos",
        *(f"{part}_{what}" for part in ("valid", "test") for what in ("pos", "neg", "hard_negatives")),
    ]
    content = read_verified([file], "links", data_dir=data_dir)[file.name]
    arrays = {
        name: array.astype(np.int64)
        for name, array in read_known_arrays(content, names, sha256=DIGEST, where=file.name).items()
    }
    graph = load_dataset("citeseer-planetoid", data_dir=data_dir).with_edges(arrays["train_pos"])
    parts = [arrays[f"{part}_{what}"] for what in ("pos", "hard_negatives", "neg") for part in ("valid", "test")]
    return LinkTask(graph, *parts)


def _unit(graph: Graph) -> sp.csr_array:
    """Attributes of length 1: what HeaRT compares."""
    rows = sp.csr_array(graph.features, dtype=np.float64)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ rows)


@dataclass(frozen=True, slots=True, eq=False)
class PlantedLinks:
    """A graph, hidden links, and for each the neighbors that it is there for."""

    graph: Graph
    hidden: IntArray  # [n, 2], source first
    reasons: tuple[frozenset[int], ...]  # neighbors of the source that are of the target's family


def planted_links(*, families: int = 60, members: int = 8, seed: int = 0) -> PlantedLinks:
    """Nodes of one family share words; u links to v because u already links to another member of v's family.

    Each node has 4 links to random nodes. Then, again and again, a node u, one of its neighbors x and a member v of
    x's family are drawn, and u links to v. A tenth of these links is hidden: their reasons are the neighbors of u in
    v's family.
    """
    rng = np.random.default_rng([seed, 28])
    count = families * members
    family = np.arange(count) % families
    words = np.zeros((count, families * 6), np.float32)
    for node in range(count):
        own = family[node] * 6 + rng.choice(6, 4, replace=False)
        words[node, own] = 1
        words[node, rng.integers(0, words.shape[1], 4)] = 1
    links = {(min(a, b), max(a, b)) for a in range(count) for b in rng.integers(0, count, 2).tolist() if a != b}
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    near = [sorted(one) for one in near]
    planted: list[tuple[int, int]] = []
    while len(planted) < 2 * count:
        u = int(rng.integers(count))
        x = int(rng.choice(near[u])) if near[u] else u
        v = int(rng.choice(np.flatnonzero(family == family[x])))
        if u in (x, v) or x == v or (min(u, v), max(u, v)) in links:
            continue
        links.add((min(u, v), max(u, v)))
        near[u].append(v)
        near[v].append(u)
        planted.append((u, v))
    chosen = sorted(rng.choice(len(planted), len(planted) // 10, replace=False).tolist())
    hidden = np.array([planted[i] for i in chosen])
    taken = {(min(u, v), max(u, v)) for u, v in hidden.tolist()}
    kept = sorted(links - taken)
    graph = Graph.build(features=sp.csr_array(words), edges=kept, labels=family, name="planted-links")
    known = Links(graph, link_types(graph)[0]).ahead
    reasons = [frozenset(x for x in known.of_node(u).tolist() if family[x] == family[v]) for u, v in hidden.tolist()]
    explained = [i for i, one in enumerate(reasons) if one]
    return PlantedLinks(graph, hidden[explained], tuple(reasons[i] for i in explained))
