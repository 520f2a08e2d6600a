"""A score is the weighted sum of what named neighbors say, and nothing else."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.links import PairExplanation, SEGNNLinkPredictor
from se_gnn.links.model import LinkModel
from se_gnn.links.pairs import Links
from se_gnn.links.scoring import Scorer


def reference(model: LinkModel, u: int, v: int, *, left_out: int | None = None, side: str = "") -> float:
    """The score in loops: similarities by the cosine of weighted attributes; lambda must be 1."""
    links = Links(model.graph, model.types[0])
    unit = model.attributes.unit.toarray()
    total = 0.0
    for name, neighbors, owner, other in (("source", links.ahead, u, v), ("target", links.behind, v, u)):
        voters = []
        for place in range(neighbors.ptr[owner], neighbors.ptr[owner + 1]):
            node = int(neighbors.nodes[place])
            if node != other and not (node == left_out and name == side):
                voters.append(float(unit[node] @ unit[other]) * float(neighbors.shares[place]))
        row = int(model.sides.rows(np.array([len(voters)]))[0])
        nearest = sorted(voters, reverse=True)[: model.settings.num_nearest]
        total += model.sides.neighbor[row] * (sum(nearest) / len(nearest) if nearest else 0)
        total += model.sides.direct[row] * float(unit[u] @ unit[v])
    return total


def probability(model: LinkModel, score: float) -> float:
    return float(model.settings.probabilities(np.array([score]))[0])


def test_score_is_the_weighted_sum_of_neighbors_and_the_pair_itself(predictor: SEGNNLinkPredictor) -> None:
    model, rng = predictor.trained_, np.random.default_rng(0)
    pairs = np.array([rng.choice(120, 2, replace=False) for _ in range(60)])
    expected = [reference(model, u, v) for u, v in pairs.tolist()]
    np.testing.assert_allclose(model.scores(pairs, model.types[0]), expected, atol=1e-5)


def test_contributions_add_up_to_the_log_odds(
    predictor: SEGNNLinkPredictor, structural: SEGNNLinkPredictor, seller: SEGNNLinkPredictor
) -> None:
    cases = ((predictor, (3, 50), None), (structural, (7, 9), None), (seller, ("c3", "p7"), "buys"))
    for fitted, pair, kind in cases:
        why = fitted.explain(*pair, type=kind)
        total = why.base + why.direct + sum(vote.contribution for vote in why.votes)
        assert total == pytest.approx(why.log_odds, abs=1e-9)
        assert why.probability == pytest.approx(1 / (1 + np.exp(-total)), abs=1e-12)
        assert why.probability == fitted.predict_proba([pair], type=kind)[0]


def test_leaving_a_neighbor_out_has_exactly_the_stated_effect(predictor: SEGNNLinkPredictor) -> None:
    model = predictor.trained_
    for pair in ((3, 50), (10, 14), (2, 77)):
        for vote in predictor.explain(*pair).votes:
            score = reference(model, *pair, left_out=vote.node.id, side=vote.neighbor_of)
            assert vote.without == pytest.approx(probability(model, score), abs=1e-5)


def test_a_known_link_is_scored_as_if_nobody_knew_it(
    predictor: SEGNNLinkPredictor, structural: SEGNNLinkPredictor
) -> None:
    for fitted in (predictor, structural):
        model = fitted.trained_
        kind = model.types[0]
        links = Links(model.graph, kind)
        pair = links.pairs[11:12]
        hidden = Scorer(links.without(pair), model.scorer(kind).embeddings, model.settings.node_weight)
        expected = hidden.scores(pair, model.sides, model.settings.num_nearest)
        np.testing.assert_array_equal(model.scores(pair, kind), expected)
        assert fitted.explain(*pair[0].tolist()).query.known


@pytest.mark.usefixtures("all_threads")
def test_score_has_the_same_bits_alone_and_among_others_on_any_number_of_threads(
    structural: SEGNNLinkPredictor,
) -> None:
    pairs = [(i, (7 * i + 3) % 100) for i in range(1, 40) if i != (7 * i + 3) % 100]
    together = structural.predict_proba(pairs)
    alone = np.concatenate([structural.predict_proba([pair]) for pair in pairs])
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        single = structural.predict_proba(pairs)
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, single)


def test_direction_of_a_link_matters(structural: SEGNNLinkPredictor) -> None:
    why = structural.explain(7, 9)
    links = Links(structural.graph_, structural.trained_.types[0])
    for vote in why.votes:
        expected = links.ahead.of_node(7) if vote.neighbor_of == "source" else links.behind.of_node(9)
        assert vote.node.id in expected
    assert structural.predict_proba([(7, 9)])[0] != structural.predict_proba([(9, 7)])[0]


def test_a_neighbor_along_a_lighter_edge_counts_less(structural: SEGNNLinkPredictor) -> None:
    links = Links(structural.graph_, structural.trained_.types[0])
    node = int(np.argmax(links.ahead.counts))
    own = slice(links.ahead.ptr[node], links.ahead.ptr[node + 1])
    assert links.ahead.shares[own].max() == 1
    assert set(np.round(links.ahead.shares[own], 4).tolist()) <= {1.0, 0.5, 0.25}


def test_nodes_of_different_types_are_not_compared_directly(seller: SEGNNLinkPredictor) -> None:
    why = seller.explain("c3", "p7", type="buys")
    assert why.direct_similarity is None
    assert why.direct == 0
    assert {vote.node.name[0] for vote in why.votes if vote.neighbor_of == "source"} <= {"p"}
    assert {vote.node.name[0] for vote in why.votes if vote.neighbor_of == "target"} <= {"c"}


def test_explanation_survives_json(predictor: SEGNNLinkPredictor) -> None:
    why = predictor.explain(3, 50)
    assert PairExplanation.from_dict(why.to_dict()) == why
    assert "chance that 3 is linked with 50" in why.sentence()


def test_pairs_that_make_no_sense_are_refused(predictor: SEGNNLinkPredictor, seller: SEGNNLinkPredictor) -> None:
    with pytest.raises(InputError, match="two different nodes"):
        predictor.predict_proba([(3, 3)])
    with pytest.raises(InputError, match="do not join nodes of types 'product' and 'customer'"):
        seller.predict_proba([("p1", "c1")], type="buys")
    with pytest.raises(InputError, match="type must be given"):
        seller.predict_proba([("c1", "p1")])
    with pytest.raises(InputError, match="type must be one of 'buys', 'likes'"):
        seller.predict_proba([("c1", "p1")], type="sells")


def test_too_few_links_are_refused() -> None:
    graph = Graph.build(features=np.eye(3), edges=[[0, 1], [1, 2]], labels=[0, 1, 0])
    with pytest.raises(InputError, match="at least 20 edges"):
        SEGNNLinkPredictor().fit(graph)
