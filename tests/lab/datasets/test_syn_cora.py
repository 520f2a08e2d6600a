"""`syn-cora` and `syn-cora-authors`: motifs, their disturbed copies, roles, links and split."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lab.datasets import load_dataset, load_with_truth
from lab.datasets.syn_cora import MotifCopy, SynCoraConfig, replace_words, syn_cora
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from strategies import assert_same_graph, changed

COPIES = ["test-0", "train-1", "train-2", "train-3", "val-4", "val-5", "val-6"]


@pytest.fixture(scope="module")
def cora(data_dir):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    return load_dataset("cora", data_dir=data_dir)


@pytest.fixture(scope="module", params=[0, 1])
def made(request, cora):
    return syn_cora(cora, generator=np.random.default_rng(request.param))


@pytest.fixture(scope="module")
def graph(made):
    return made[0]


@pytest.fixture(scope="module")
def truth(made):
    return made[1]


def paper_of(graph):
    """The paper of Cora that each node is a copy of, as its name says."""
    return np.array([int(name.rsplit("-", 1)[1]) for name in graph.node_names])


def copy_of(graph):
    """`basis`, or motif and copy, of each node."""
    return np.array([name.rsplit("-", 1)[0] for name in graph.node_names])


def citations(cora):
    return set(map(tuple, cora.edges.ends.tolist()))


def test_three_motifs_a_class_are_local_graphs_of_cora_without_a_paper_in_common(graph, cora):
    papers, copies = paper_of(graph), copy_of(graph)
    motifs = [papers[copies == f"motif-{number:02d}-test-0"] for number in range(21)]
    assert not (copies == "motif-21-test-0").any()
    together = np.concatenate(motifs)
    assert len(np.unique(together)) == len(together)
    for number, motif in enumerate(motifs):
        assert 5 <= len(motif) <= 20
        of_class = motif[cora.labels[motif] == number // 3]
        assert any(set(two_hops(cora, center)) == set(motif) for center in of_class)


def two_hops(cora, center):
    near = np.unique([center, *cora.edges.ends[(cora.edges.ends == center).any(axis=1)].ravel()])
    return np.unique([*near, *cora.edges.ends[np.isin(cora.edges.ends, near).any(axis=1)].ravel()])


def test_copies_of_a_paper_have_its_role_and_its_class(graph, truth, cora):
    papers, inside = paper_of(graph), truth.node_roles > 0
    np.testing.assert_array_equal(graph.labels, cora.labels[papers])
    roles = truth.node_roles[inside]
    assert np.unique(roles).tolist() == list(range(1, roles.max() + 1))
    assert (np.bincount(roles)[1:] == len(COPIES)).all()
    of_role = {role: set(papers[truth.node_roles == role]) for role in np.unique(roles)}
    assert all(len(same) == 1 for same in of_role.values())


def test_copies_of_a_citation_have_its_role_and_nothing_else_has_one(graph, truth, cora):
    papers, copies = paper_of(graph), copy_of(graph)
    u, v = graph.edges.ends.T
    inside = truth.edge_roles > 0
    np.testing.assert_array_equal(truth.motif_edges, inside)
    assert (copies[u[inside]] == copies[v[inside]]).all()
    assert (np.bincount(truth.edge_roles[inside])[1:] == len(COPIES)).all()
    pairs = {}
    for edge in np.flatnonzero(inside):
        pairs.setdefault(truth.edge_roles[edge], set()).add(tuple(sorted(papers[graph.edges.ends[edge]].tolist())))
    assert all(len(same) == 1 for same in pairs.values())
    planted = set().union(*pairs.values())
    assert len(planted) == len(pairs)
    assert planted <= citations(cora)


def test_every_copy_has_three_links_to_the_basis_and_the_extra_edges_of_its_level(graph, truth):
    copies, other = copy_of(graph), graph.edges.ends[truth.edge_roles == 0]
    ends = copies[other]
    in_basis = ends == "basis"
    links = other[in_basis.sum(axis=1) == 1]
    assert (links[:, 0] < links[:, 1]).all()  # the basis has the first ids
    planted = np.unique(copies[copies != "basis"])
    assert {copy: (copies[links[:, 1]] == copy).sum() for copy in planted} == dict.fromkeys(planted, 3)
    for copy in planted:
        of_copy = links[copies[links[:, 1]] == copy]
        assert len(np.unique(of_copy[:, 0])) == len(np.unique(of_copy[:, 1])) == 3
    extra = ends[~in_basis.any(axis=1)]
    assert (extra[:, 0] == extra[:, 1]).all()
    for level, count in zip(COPIES, [0, 0, 0, 1, 1, 1, 1]):
        assert sum(copy.endswith(level) for copy in extra[:, 0]) == 21 * count


def test_the_basis_is_a_part_of_cora_apart_from_the_motifs_and_nobody_in_it_is_alone(graph, truth, cora):
    papers, basis = paper_of(graph), truth.node_roles == 0
    assert not set(papers[basis]) & set(papers[~basis])
    inner = graph.edges.ends[basis[graph.edges.ends].all(axis=1)]
    np.testing.assert_array_equal(papers[inner], cora.edges.ends[np.isin(cora.edges.ends, papers[basis]).all(axis=1)])
    assert set(inner.ravel()) == set(np.flatnonzero(basis))


@pytest.mark.parametrize(("copy", "share"), list(zip(COPIES, [0, 0.2, 0.3, 0.4, 0.2, 0.2, 0.2])))
def test_a_copy_has_the_share_of_its_words_replaced(graph, cora, copy, share):
    papers = paper_of(graph)
    nodes = np.flatnonzero([name.endswith(copy) for name in copy_of(graph)])
    original, noisy = cora.features[papers[nodes]], graph.features[nodes]
    counts = original.sum(axis=1)
    np.testing.assert_array_equal(noisy.sum(axis=1), counts)
    np.testing.assert_array_equal(original.multiply(noisy).sum(axis=1), counts - np.floor(share * counts))
    assert set(noisy.data) == {1}


def test_whole_copies_train_validate_and_test_with_a_fifth_of_the_basis(graph, truth):
    copies, basis = copy_of(graph), truth.node_roles == 0
    for part, nodes in (("train", graph.train), ("val", graph.validation), ("test", graph.test)):
        planted = np.array([f"-{part}-" in copy for copy in copies])
        np.testing.assert_array_equal(np.sort(nodes[~basis[nodes]]), np.flatnonzero(planted))
    assert basis[graph.train].sum() == round(0.2 * basis.sum())
    assert not basis[np.concatenate([graph.validation, graph.test])].any()
    labeled = np.bincount(truth.node_roles[graph.train])
    assert (labeled[truth.node_roles[graph.test]] == 3).all()


def test_the_seed_decides_everything(cora):
    made = [syn_cora(cora, generator=np.random.default_rng(seed)) for seed in (5, 5, 6)]
    one, two, other = (graph for graph, _ in made)
    assert_same_graph(one, two)
    for field in ("node_roles", "edge_roles"):
        np.testing.assert_array_equal(getattr(made[0][1], field), getattr(made[1][1], field))
    assert one.node_names != other.node_names


def test_parameters_are_followed(cora):
    config = SynCoraConfig(
        motifs_per_class=1, smallest=4, largest=8, links=2, basis_sample=200, basis_train_share=0.5,
        copies=(MotifCopy(part="train", word_noise=1.0), MotifCopy(part="test", extra_edges=2)),
    )  # fmt: skip
    graph, truth = syn_cora(cora, config, generator=np.random.default_rng(0), name="small")
    assert graph.name == "small"
    assert len(graph.validation) == 0
    assert set(copy_of(graph)) == {"basis"} | {f"motif-{m:02d}-{c}" for m in range(7) for c in ("train-0", "test-1")}
    assert len(graph.train) == len(graph.test) + round(0.5 * (truth.node_roles == 0).sum())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"links": 6}, "smallest must be between links and largest (6 to 20), got 5"),
        ({"smallest": 21}, "smallest must be between links and largest (3 to 20), got 21"),
        ({"motifs_per_class": 0}, "motifs_per_class must be at least 1, got 0"),
        ({"basis_train_share": 1.5}, "basis_train_share must be between 0 and 1, got 1.5"),
        ({"motifs_per_class": 2}, "motifs_per_class must be at most 1: graph has no more local graphs"),
        ({"motifs_per_class": 1}, "basis_sample must be at most the 1 nodes outside the motifs, got 600"),
    ],
)
def test_parameters_that_cannot_be_followed_are_refused(changes, text):
    path = Graph.build(features=np.eye(6), edges=[[0, 1], [1, 2], [2, 3], [3, 4]], labels=np.zeros(6, int))
    with pytest.raises(InputError, match=re.escape(text)):
        syn_cora(path, SynCoraConfig(**changes), generator=np.random.default_rng(0))


def test_features_that_are_not_words_are_refused(cora):
    halves = changed(cora, features=cora.features / 2)
    with pytest.raises(InputError, match=re.escape("features must be words, 0 or 1, got 0.5")):
        syn_cora(halves, generator=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"part": "valid"}, "part must be train, val or test, got 'valid'"),
        ({"word_noise": -0.1}, "word_noise must be between 0 and 1, got -0.1"),
        ({"extra_edges": -1}, "extra_edges must be at least 0, got -1"),
    ],
)
def test_a_copy_that_cannot_be_made_is_refused(changes, text):
    with pytest.raises(InputError, match=re.escape(text)):
        MotifCopy(**{"part": "train", **changes})


@given(
    rows=st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=1, max_size=5),
    share=st.floats(0, 1),
    seed=st.integers(0, 100),
)
def test_replaced_words_are_as_many_as_before_and_were_not_there(rows, share, seed):
    words = sp.csr_array(np.array(rows, dtype=np.float32))
    noisy = replace_words(words, share, generator=np.random.default_rng(seed)).toarray()
    for before, after in zip(np.array(rows), noisy.astype(bool)):
        assert after.sum() == before.sum()
        assert (before & ~after).sum() == min(int(share * before.sum()), (~before).sum())


def test_the_graph_of_the_authors_has_their_counts_and_only_its_self_loops_are_left_out(data_dir):
    graph, truth = load_with_truth("syn-cora-authors", data_dir=data_dir)
    assert (graph.num_nodes, graph.merged.given, graph.num_features, graph.num_classes) == (1895, 2769, 1433, 7)
    assert (graph.num_edges, graph.merged.self_loops) == (2757, 12)
    assert (len(graph.train), len(graph.validation), len(graph.test)) == (747, 690, 230)
    assert (truth.node_roles.max(), (truth.node_roles == 0).sum()) == (230, 285)
    np.testing.assert_array_equal(truth.motif_edges, truth.edge_roles > 0)
    assert (np.bincount(truth.node_roles[truth.node_roles > 0])[1:] == 7).all()
    inside = graph.edges.ends[truth.edge_roles > 0]
    assert (truth.node_roles[inside] > 0).all()
