"""Links to find, and links whose reasons are known."""

from __future__ import annotations

import numpy as np

from lab.datasets.links import planted_links, split_links
from se_gnn.links.pairs import Links, link_types


def test_hidden_links_are_unknown_and_hard_pairs_are_no_links() -> None:
    graph = planted_links(families=12, seed=3).graph
    task = split_links(graph, seed=0, hard=20)
    every, known = (Links(one, link_types(graph)[0]) for one in (graph, task.graph))
    assert len(known.pairs) + len(task.validation) + len(task.test) == len(every.pairs)
    for links, hard in ((task.validation, task.validation_hard), (task.test, task.test_hard)):
        assert not known.exist(links).any()
        assert every.exist(links).all()
        assert not known.exist(hard.reshape(-1, 2)).any()
        assert ((hard == links[:, None]).sum(axis=-1) == 1).all()
    again = split_links(graph, seed=0, hard=20)
    np.testing.assert_array_equal(again.test_hard, task.test_hard)


def test_every_reason_is_a_neighbor_of_the_source_in_the_family_of_the_target() -> None:
    planted = planted_links(families=20, seed=1)
    known = Links(planted.graph, link_types(planted.graph)[0])
    family = planted.graph.labels
    assert len(planted.hidden) > 10
    for (u, v), why in zip(planted.hidden.tolist(), planted.reasons):
        assert why
        assert why <= set(known.ahead.of_node(u).tolist())
        assert {int(family[x]) for x in why} == {int(family[v])}
        assert not known.exist(np.array([[u, v]])).any()
