"""`syn-cora`: copies of small pieces of Cora, so that the labeled nodes and edges an explanation has to find are known.

Written from the description in "Towards Self-Explainable Graph Neural Network", section 5.1:

- a motif is the 2-hop local graph of a paper of Cora; three motifs per class, no paper in two of them;
- every motif is planted several times, its words and edges disturbed more or less; copies of one paper have one node
  role, copies of one citation one edge role, and 0 is the role of everything else;
- the basis is the part of Cora among some of the other papers, without those that then stand alone;
- every copy is linked to the basis by three random edges.

The words of a disturbed paper: a share of its words is taken away and as many words that it did not have are put in
their place. Disturbed edges: random pairs of the motif are joined that were not.

The paper leaves open how many copies there are and how strong the noise is; the published generator answers that, and
its numbers are the defaults here: one clean copy to test, three copies to train with 20, 30 and 40% of the words
replaced, three to validate with 20%. A test node so has exactly three labeled nodes of its role. (The paper's text says
that 30% of the nodes of motifs and basis train, drawn at random; then some test nodes would have none.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from lab.truth import GroundTruth
from se_gnn.datasets import public
from se_gnn.errors import InputError
from se_gnn.graph import Graph, local_graphs, sample_non_edges
from se_gnn.graph.arrays import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MotifCopy:
    """One planting of every motif."""

    part: Literal["train", "val", "test"]
    word_noise: float = 0.0  # share of the words of each node that are replaced
    extra_edges: int = 0  # random pairs of nodes of the motif that are joined

    def __post_init__(self) -> None:
        if self.part not in ("train", "val", "test"):
            raise InputError(f"part must be train, val or test, got {self.part!r}")
        if not 0 <= self.word_noise <= 1:
            raise InputError(f"word_noise must be between 0 and 1, got {self.word_noise!r}")
        if self.extra_edges < 0:
            raise InputError(f"extra_edges must be at least 0, got {self.extra_edges!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SynCoraConfig:
    """What a Syn-Cora graph is made of."""

    motifs_per_class: int = 3
    hops: int = 2  # radius of the local graph that a motif is
    smallest: int = 5  # nodes of a motif, at least
    largest: int = 20  # and at most
    copies: tuple[MotifCopy, ...] = (
        MotifCopy(part="test"),
        MotifCopy(part="train", word_noise=0.2),
        MotifCopy(part="train", word_noise=0.3),
        MotifCopy(part="train", word_noise=0.4, extra_edges=1),
        *(MotifCopy(part="val", word_noise=0.2, extra_edges=1),) * 3,
    )
    links: int = 3  # edges from a copy to the basis
    basis_sample: int = 600  # papers that the basis is drawn from; those without a citation among them are left out
    basis_train_share: float = 0.2  # share of the basis that is labeled; the rest has no part in the split

    def __post_init__(self) -> None:
        for name in ("motifs_per_class", "hops", "links", "basis_sample"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        if not self.links <= self.smallest <= self.largest:
            raise InputError(
                f"smallest must be between links and largest ({self.links} to {self.largest}), got {self.smallest}"
            )
        if not 0 <= self.basis_train_share <= 1:
            raise InputError(f"basis_train_share must be between 0 and 1, got {self.basis_train_share!r}")


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Some papers of Cora, [n], and the citations among them by position, canonical, [e, 2]."""

    papers: IntArray
    edges: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Planted:
    """What one planting adds to the graph; nodes are numbered in it from 0, the ends of its links in the basis too."""

    words: sp.csr_array
    edges: IntArray  # citations of the motif, then extra edges
    links: IntArray  # [links, 2]: a node of the basis, a node of the planting


def load(name: str = "syn-cora", *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """Syn-Cora with the default parameters, made of Cora from ``data_dir``; ``seed`` draws everything."""
    return load_with_truth(name, seed=seed, data_dir=data_dir)[0]


def load_with_truth(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> tuple[Graph, GroundTruth]:
    """The graph, and the roles of its nodes and edges."""
    cora = public.load("cora", data_dir=data_dir)
    return syn_cora(cora, generator=np.random.default_rng(seed), name=name)


def syn_cora(
    cora: Graph,
    config: SynCoraConfig | None = None,
    *,
    generator: np.random.Generator,
    name: str = "syn-cora",
) -> tuple[Graph, GroundTruth]:
    """Plant disturbed copies of pieces of a graph whose features are words, 0 or 1; roles say what is a copy of what.

    The basis comes first, then motif by motif its copies in the order of ``config.copies``, the nodes of each in the
    order of the papers.

    Args:
        cora: the graph that motifs and basis are taken from.
        config: how many of what; the defaults where it is missing.
        generator: source of randomness.
        name: name of the result.
    """
    config = config or SynCoraConfig()
    all_words = sp.csr_array(cora.features)
    if (all_words.data != 1).any():
        raise InputError(f"features must be words, 0 or 1, got {all_words.data[all_words.data != 1][0]:g}")
    motifs = list(_choose_motifs(cora, config, generator))
    basis = _choose_basis(cora, np.concatenate([motif.papers for motif in motifs]), config, generator)
    num_basis = len(basis.papers)
    labeled = generator.choice(num_basis, round(config.basis_train_share * num_basis), replace=False)

    papers, words, edges = [basis.papers], [all_words[basis.papers]], [basis.edges]
    node_roles, edge_roles = [np.zeros(num_basis, np.int64)], [np.zeros(len(basis.edges), np.int64)]
    names = [f"basis-{paper}" for paper in basis.papers]
    split = {"train": [labeled], "val": [], "test": []}
    first, node_role, edge_role = num_basis, 1, 1  # next free id and roles
    for number, motif in enumerate(motifs):
        size, num_edges = len(motif.papers), len(motif.edges)
        for index, copy in enumerate(config.copies):
            planted = _plant(motif, all_words[motif.papers], copy, num_basis, config.links, generator)
            num_others = len(planted.edges) - num_edges + len(planted.links)
            papers.append(motif.papers)
            words.append(planted.words)
            edges += [first + planted.edges, planted.links + np.array([0, first])]
            node_roles.append(node_role + np.arange(size))
            edge_roles += [edge_role + np.arange(num_edges), np.zeros(num_others, np.int64)]
            names += [f"motif-{number:02d}-{copy.part}-{index}-{paper}" for paper in motif.papers]
            split[copy.part].append(first + np.arange(size))
            first += size
        node_role += size
        edge_role += num_edges
    pairs = np.concatenate(edges)
    graph = Graph.build(
        name=name,
        features=sp.vstack(words, format="csr"),
        feature_names=cora.feature_names,
        edges=pairs,
        labels=cora.labels[np.concatenate(papers)],
        class_names=cora.class_names,
        node_names=names,
        train=_joined(split["train"]),
        validation=_joined(split["val"]),
        test=_joined(split["test"]),
    )
    return graph, GroundTruth.of_roles(graph, np.concatenate(node_roles), pairs, np.concatenate(edge_roles))


def _plant(
    motif: _Piece,
    words: sp.csr_array,
    copy: MotifCopy,
    num_basis: int,
    num_links: int,
    generator: np.random.Generator,
) -> _Planted:
    """Disturb a motif and draw what links it to the basis; a complete motif has no room for extra edges."""
    size = len(motif.papers)
    noisy = replace_words(words, copy.word_noise, generator=generator)
    free = size * (size - 1) // 2 - len(motif.edges)
    extra = sample_non_edges(motif.edges, size, min(copy.extra_edges, free), generator=generator)
    ends = (generator.choice(count, num_links, replace=False) for count in (num_basis, size))
    return _Planted(noisy, np.concatenate([motif.edges, extra]), np.stack(list(ends), axis=1))


def replace_words(words: sp.csr_array, share: float, *, generator: np.random.Generator) -> sp.csr_array:
    """Replace, in each row, a share of the ones (rounded down) by as many ones where there were zeros.

    >>> noisy = replace_words(sp.csr_array([[1, 1, 0, 0]]), 0.5, generator=np.random.default_rng(0)).toarray()
    >>> noisy[:, :2].sum(axis=1).tolist(), noisy[:, 2:].sum(axis=1).tolist()
    ([1.0], [1.0])
    """
    rows = []
    for row in range(words.shape[0]):
        present = words.indices[words.indptr[row] : words.indptr[row + 1]]
        absent = np.setdiff1d(np.arange(words.shape[1]), present)
        count = min(int(share * len(present)), len(absent))
        kept = generator.choice(present, len(present) - count, replace=False)
        rows.append(np.sort(np.concatenate([kept, generator.choice(absent, count, replace=False)])))
    indices, sizes = np.concatenate(rows), [len(row) for row in rows]
    return sp.csr_array((np.ones(len(indices), np.float32), indices, np.cumsum([0, *sizes])), shape=words.shape)


def _choose_motifs(cora: Graph, config: SynCoraConfig, generator: np.random.Generator) -> Iterator[_Piece]:
    """Local graphs of random papers of each class in turn, of a size that is allowed, no two with a paper in common."""
    taken = np.zeros(cora.num_nodes, dtype=bool)
    local = local_graphs(cora, np.arange(cora.num_nodes), config.hops)
    for label, class_name in enumerate(cora.class_names):
        found = 0
        for center in generator.permutation(np.flatnonzero(cora.labels == label)):
            edges = cora.edges.ends[local.row(center)]
            papers = np.unique(edges)
            if config.smallest <= len(papers) <= config.largest and not taken[papers].any():
                taken[papers] = True
                yield _Piece(papers, np.searchsorted(papers, edges))
                found += 1
            if found == config.motifs_per_class:
                break
        else:
            raise InputError(
                f"motifs_per_class must be at most {found}: {cora.name} has no more local graphs of "
                f"{config.smallest} to {config.largest} nodes apart from each other in class {class_name!r}"
            )


def _choose_basis(cora: Graph, taken: IntArray, config: SynCoraConfig, generator: np.random.Generator) -> _Piece:
    """Random papers that no motif holds, and the citations among them; papers without one are left out."""
    others = np.setdiff1d(np.arange(cora.num_nodes), taken)
    if len(others) < config.basis_sample:
        raise InputError(
            f"basis_sample must be at most the {len(others)} nodes outside the motifs, got {config.basis_sample}"
        )
    sample = generator.choice(others, config.basis_sample, replace=False)
    edges = cora.edges.ends[np.isin(cora.edges.ends, sample).all(axis=1)]
    papers = np.unique(edges)
    return _Piece(papers, np.searchsorted(papers, edges))


def _joined(parts: list[IntArray]) -> IntArray | None:
    return np.concatenate(parts) if parts else None
