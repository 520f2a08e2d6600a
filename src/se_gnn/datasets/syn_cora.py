"""`syn-cora`: copies of small pieces of Cora, so that the labeled nodes and edges an explanation has to find are known.

Written from the description in "Towards Self-Explainable Graph Neural Network", section 5.1:

- a motif is the 2-hop local graph of a paper of Cora; three motifs a class, no paper in two of them;
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

from se_gnn.datasets import planetoid
from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph, local_graphs, sample_non_edges
from se_gnn.graph.attributed import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MotifCopy:
    """One planting of every motif."""

    part: Literal["train", "val", "test"]
    word_noise: float = 0.0  # share of the words of each node that are replaced
    extra_edges: int = 0  # random pairs of nodes of the motif that are joined


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


@dataclass(frozen=True, slots=True, eq=False)
class _Motif:
    """Papers of Cora and the citations among them, by position: [n] and [e, 2], canonical."""

    papers: IntArray
    edges: IntArray


def load(name: str = "syn-cora", *, seed: int = 0, data_dir: str | Path | None = None) -> AttributedGraph:
    """Syn-Cora with the default parameters, made of Cora from ``data_dir``; ``seed`` draws everything."""
    cora = planetoid.load("cora", data_dir=data_dir)
    return syn_cora(cora, generator=np.random.default_rng(seed), name=name)


def syn_cora(
    cora: AttributedGraph,
    config: SynCoraConfig | None = None,
    *,
    generator: np.random.Generator,
    name: str = "syn-cora",
) -> AttributedGraph:
    """Plant disturbed copies of pieces of a graph whose features are words, 0 or 1.

    Args:
        cora: the graph that motifs and basis are taken from.
        config: how many of what; the defaults where it is missing.
        generator: source of randomness.
        name: name of the result.
    """
    config = config or SynCoraConfig()
    words = sp.csr_array(cora.features)
    motifs = list(_choose_motifs(cora, config, generator))
    basis = _choose_basis(cora, np.concatenate([motif.papers for motif in motifs]), config, generator)
    num_basis = len(basis.papers)

    features, edges = [words[basis.papers]], [basis.edges]
    labels, names = [cora.labels[basis.papers]], [f"basis-{paper}" for paper in basis.papers]
    node_roles, edge_roles = [np.zeros(num_basis, np.int64)], [np.zeros(len(basis.edges), np.int64)]
    labeled = generator.choice(num_basis, round(config.basis_train_share * num_basis), replace=False)
    split = {"train": [labeled], "val": [], "test": []}
    first_node, first_node_role, first_edge_role = num_basis, 1, 1
    for number, motif in enumerate(motifs):
        nodes = np.arange(len(motif.papers))
        for index, copy in enumerate(config.copies):
            features.append(replace_words(words[motif.papers], copy.word_noise, generator=generator))
            free = len(nodes) * (len(nodes) - 1) // 2 - len(motif.edges)
            extra = sample_non_edges(motif.edges, len(nodes), min(copy.extra_edges, free), generator=generator)
            links = np.stack(
                [
                    generator.choice(num_basis, config.links, replace=False),
                    first_node + generator.choice(nodes, config.links, replace=False),
                ],
                axis=1,
            )
            edges += [first_node + motif.edges, first_node + extra, links]
            edge_roles += [first_edge_role + np.arange(len(motif.edges)), np.zeros(len(extra) + len(links), np.int64)]
            node_roles.append(first_node_role + nodes)
            labels.append(cora.labels[motif.papers])
            names += [f"motif-{number:02d}-{copy.part}-{index}-{paper}" for paper in motif.papers]
            split[copy.part].append(first_node + nodes)
            first_node += len(nodes)
        first_node_role += len(nodes)
        first_edge_role += len(motif.edges)
    roles = np.concatenate(edge_roles)
    return AttributedGraph.build(
        name=name,
        features=sp.vstack(features, format="csr"),
        feature_names=cora.feature_names,
        edges=np.concatenate(edges),
        motif_edges=roles > 0,
        node_roles=np.concatenate(node_roles),
        edge_roles=roles,
        labels=np.concatenate(labels),
        class_names=cora.class_names,
        node_names=names,
        **{part: np.concatenate(nodes) if nodes else None for part, nodes in split.items()},
    )


def replace_words(words: sp.csr_array, share: float, *, generator: np.random.Generator) -> sp.csr_array:
    """Replace, in each row, a share of the ones (rounded down) by as many ones where there were zeros."""
    rows = []
    for row in range(words.shape[0]):
        present = words.indices[words.indptr[row] : words.indptr[row + 1]]
        absent = np.setdiff1d(np.arange(words.shape[1]), present)
        count = min(int(share * len(present)), len(absent))
        kept = generator.choice(present, len(present) - count, replace=False)
        rows.append(np.sort(np.concatenate([kept, generator.choice(absent, count, replace=False)])))
    indices, sizes = np.concatenate(rows), [len(row) for row in rows]
    return sp.csr_array((np.ones(len(indices), np.float32), indices, np.cumsum([0, *sizes])), shape=words.shape)


def _choose_motifs(cora: AttributedGraph, config: SynCoraConfig, generator: np.random.Generator) -> Iterator[_Motif]:
    """Local graphs of random papers of each class in turn, of a size that is allowed, no two with a paper in common."""
    taken = np.zeros(cora.num_nodes, dtype=bool)
    local = local_graphs(cora, np.arange(cora.num_nodes), config.hops)
    for label, class_name in enumerate(cora.class_names):
        found = 0
        for center in generator.permutation(np.flatnonzero(cora.labels == label)):
            edges = cora.edges[local.row(center)]
            papers = np.unique(edges)
            if config.smallest <= len(papers) <= config.largest and not taken[papers].any():
                taken[papers] = True
                yield _Motif(papers, np.searchsorted(papers, edges))
                found += 1
            if found == config.motifs_per_class:
                break
        else:
            raise InputError(
                f"motifs_per_class must be at most {found}: {cora.name} has no more local graphs of "
                f"{config.smallest} to {config.largest} nodes apart from each other in class {class_name!r}"
            )


def _choose_basis(
    cora: AttributedGraph, taken: IntArray, config: SynCoraConfig, generator: np.random.Generator
) -> _Motif:
    """Random papers that no motif holds, and the citations among them; papers without one are left out."""
    others = np.setdiff1d(np.arange(cora.num_nodes), taken)
    if len(others) < config.basis_sample:
        raise InputError(
            f"basis_sample must be at most the {len(others)} nodes outside the motifs, got {config.basis_sample}"
        )
    sample = generator.choice(others, config.basis_sample, replace=False)
    edges = cora.edges[np.isin(cora.edges, sample).all(axis=1)]
    papers = np.unique(edges)
    return _Motif(papers, np.searchsorted(papers, edges))
