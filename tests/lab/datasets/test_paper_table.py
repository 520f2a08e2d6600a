"""Table 1 of the paper, data set by data set; every difference is explained, and the explanation is checked."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from lab.datasets import load_dataset
from lab.datasets.syn_cora import syn_cora
from se_gnn.datasets import public
from se_gnn.datasets.raw_files import read_verified


@dataclass(frozen=True)
class Counts:
    nodes: int
    edges: int
    features: int | None
    classes: int


PAPER = {
    "cora": Counts(2708, 5429, 1433, 7),
    "citeseer": Counts(2110, 3668, 3703, 6),
    "pubmed": Counts(19171, 44338, 500, 3),
    "syn-cora": Counts(1677, 4610, 1433, 7),
    "ba-shapes": Counts(700, 4421, None, 4),
}

OURS = {
    "cora": Counts(2708, 5278, 1433, 7),
    "citeseer": Counts(2110, 3668, 3703, 6),
    "pubmed": Counts(19717, 44324, 500, 3),
    "syn-cora": Counts(1893, 2736, 1433, 7),
    "ba-shapes": Counts(700, 2105, 2, 4),
}

# the tests below check what can be checked of this
WHY_DIFFERENT = {
    "cora": {"edges": "the file lists 5,429 links, 151 of them twice; every undirected edge counts once here"},
    "pubmed": {
        "nodes": "two digits changed places: the file has 19,717 papers",
        "edges": "the file lists 44,338 links, some of them twice or from a paper to itself; 44,324 edges are left",
    },
    "syn-cora": {
        "nodes": "another draw: sizes change with the seed, and the authors' released graph has 1,895 nodes",
        "edges": "another draw, and 4,610 looks like a count of both directions: 2,305 edges for 1,677 nodes",
    },
    "ba-shapes": {
        "edges": "not explained: the published draw has 2,055 edges, 4,110 in both directions, and 4,421 is odd",
        "features": "degree and triangles, as the paper's section on settings says",
    },
}


@pytest.mark.parametrize("name", list(PAPER))
def test_counts_are_those_of_the_paper_or_the_difference_is_explained(name, data_dir):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    graph = load_dataset(name, data_dir=data_dir)
    found = Counts(graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes)
    assert found == OURS[name]
    different = {field for field in vars(found) if getattr(found, field) != getattr(PAPER[name], field)}
    assert different == set(WHY_DIFFERENT.get(name, {}))


@pytest.mark.parametrize(("name", "repeated", "self_loops"), [("cora", 151, 0), ("pubmed", 11, 3)])
def test_the_paper_counts_the_links_that_the_citation_files_list(name, repeated, self_loops, data_dir):
    """Each link stands in the lists of both its ends: half of the entries is the paper's number."""
    folder = {"cora": "Planetoid/Cora/raw", "pubmed": "Planetoid/PubMed/raw"}[name]
    contents = read_verified(public.raw_files(name), folder, data_dir=data_dir)
    neighbors = pickle.loads(contents[f"ind.{name}.graph"], encoding="latin1")
    links = Counter(tuple(sorted((u, v))) for u, entries in neighbors.items() for v in entries)
    assert sum(links.values()) == 2 * PAPER[name].edges
    assert len({node for link in links for node in link}) <= OURS[name].nodes == len(neighbors)
    assert len(links) - sum(u == v for u, v in links) == OURS[name].edges
    assert sum(u == v for u, v in links) == self_loops
    assert PAPER[name].edges - OURS[name].edges == repeated + self_loops


def test_syn_cora_varies_around_the_papers_size_with_the_seed(data_dir):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    cora = load_dataset("cora", data_dir=data_dir)
    graphs = [syn_cora(cora, generator=np.random.default_rng(seed))[0] for seed in range(10)]
    sizes = np.array([(graph.num_nodes, graph.num_edges) for graph in graphs])
    assert sizes.min(axis=0).tolist() == [1706, 2601]  # the ranges that docs/reference/datasets.md names
    assert sizes.max(axis=0).tolist() == [2009, 3125]
    edges_a_node = sizes[:, 1] / sizes[:, 0]
    assert (abs(edges_a_node - PAPER["syn-cora"].edges / 2 / PAPER["syn-cora"].nodes) < 0.35).all()


def test_no_graph_has_an_odd_number_of_edge_directions(data_dir):
    """The paper's 4,421 edges of BA-Shapes are neither the edges of the published draw nor their directions."""
    published = load_dataset("ba-shapes-pgexplainer", data_dir=data_dir)
    assert PAPER["ba-shapes"].edges not in (published.num_edges, 2 * published.num_edges)
    assert PAPER["ba-shapes"].edges % 2 == 1
