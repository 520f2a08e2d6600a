"""Learning from links: deterministic, better than chance, and honest about what is hidden."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.links import SEGNNLinkPredictor
from se_gnn.links.negatives import hard_negatives, random_negatives
from se_gnn.links.pairs import Links, link_types
from se_gnn.links.scoring import Attributes, SideWeights, ranking_metrics
from se_gnn.links.training import _hardest, learn, make_contest


def test_links_are_found_and_settings_are_chosen_with_a_reason(plain: Graph) -> None:
    fitted = SEGNNLinkPredictor().fit(plain)
    figures = fitted.trained_.facts["validation"]
    assert figures["roc_auc"] > 0.65
    tried = fitted.trained_.facts["decisions"]["tried"]
    assert len(tried) == 9
    chosen = fitted.trained_.settings
    assert (chosen.num_nearest, chosen.node_weight) in {(one["num_nearest"], one["node_weight"]) for one in tried}


def test_the_same_seed_gives_the_same_bits(plain: Graph, predictor: SEGNNLinkPredictor) -> None:
    again = SEGNNLinkPredictor(num_nearest=2, node_weight=1.0).fit(plain)
    np.testing.assert_array_equal(again.trained_.attributes.weights, predictor.trained_.attributes.weights)
    assert again.trained_.settings == predictor.trained_.settings


def test_given_validation_links_are_hidden_while_learning(plain: Graph) -> None:
    links = Links(plain, link_types(plain)[0])
    held = links.pairs[::15]
    inside = SEGNNLinkPredictor(num_nearest=1, node_weight=1.0).fit(plain, validation=held)
    outside = SEGNNLinkPredictor(num_nearest=1, node_weight=1.0).fit(links.without(held).graph, validation=held)
    np.testing.assert_array_equal(inside.trained_.attributes.weights, outside.trained_.attributes.weights)
    assert inside.trained_.facts["validation"] == outside.trained_.facts["validation"]
    assert inside.graph_.num_edges == plain.num_edges


def test_learning_lowers_the_loss_of_hidden_links_among_their_hardest_pairs(plain: Graph) -> None:
    links, attributes, sides = [Links(plain, link_types(plain)[0])], Attributes.of(plain), SideWeights.initial()
    loss = _hardest(make_contest(links, attributes, seed=0), attributes, torch.ones(2, 5))

    def at(attributes: Attributes, sides: SideWeights) -> float:
        table = np.log(np.maximum([sides.neighbor, sides.direct], 1e-6))
        return float(loss(torch.from_numpy(np.log(attributes.weights)).float(), torch.from_numpy(table).float()))

    unit, (u, v) = attributes.unit.toarray(), loss.pairs.numpy().T
    similar = (unit[u] * unit[v]).sum(axis=1)[loss.place.numpy()] * loss.shares.numpy()
    source, target = np.moveaxis(loss.rows.numpy(), -1, 0)
    scores = similar[..., 0] * (sides.direct[source] + sides.direct[target])
    scores += similar[..., 1] * sides.neighbor[source] + similar[..., 2] * sides.neighbor[target]
    assert at(attributes, sides) == pytest.approx((logsumexp(scores, axis=1) - scores[:, 0]).mean(), rel=1e-4)
    assert at(*learn(links, attributes, seed=0)) < 0.9 * at(attributes, sides)


def test_model_survives_a_folder_and_a_damaged_file_is_named(predictor: SEGNNLinkPredictor, tmp_path: Path) -> None:
    predictor.save(tmp_path / "model")
    loaded = SEGNNLinkPredictor.load(tmp_path / "model")
    pairs = [(3, 50), (1, 2), (9, 80)]
    np.testing.assert_array_equal(loaded.predict_proba(pairs), predictor.predict_proba(pairs))
    assert loaded.get_params() == predictor.get_params()
    path = tmp_path / "model" / "links.json"
    path.write_bytes(path.read_bytes().replace(b"num_nearest", b"num_nearesT"))
    with pytest.raises(InputError, match=r"links\.json is truncated or was changed"):
        SEGNNLinkPredictor.load(tmp_path / "model")
    with pytest.raises(InputError, match="does not hold a model of links"):
        SEGNNLinkPredictor.load(tmp_path)


def test_hard_pairs_share_an_end_and_are_no_links(plain: Graph, shop: Graph) -> None:
    for graph in (plain, shop):
        kind = link_types(graph)[0]
        links = Links(graph, kind)
        hidden = links.pairs[::9]
        known = links.without(hidden)
        found = hard_negatives(known, hidden, 20, Attributes.of(graph).unit, np.random.default_rng(0))
        assert found.shape == (len(hidden), 20, 2)
        assert (found[:, :10, 0] == hidden[:, None, 0]).all()
        assert (found[:, 10:, 1] == hidden[:, None, 1]).all()
        flat = found.reshape(-1, 2)
        assert not known.exist(flat).any()
        assert (flat[:, 0] != flat[:, 1]).all()
        if graph.node_types is not None:
            assert (graph.node_types[flat] == [0, 1]).all()
        drawn = random_negatives(known, hidden, np.random.default_rng(0))
        assert not known.exist(drawn).any()


def test_the_node_with_the_most_common_neighbors_is_a_hard_pair() -> None:
    star = [(0, i) for i in range(2, 8)] + [(1, i) for i in range(2, 8)] + [(8, i) for i in range(9, 30)] + [(0, 30)]
    graph = Graph.build(features=np.random.default_rng(0).random((31, 4)), edges=star, labels=np.zeros(31, int))
    links = Links(graph, link_types(graph)[0])
    hidden = np.array([[0, 30]])
    found = hard_negatives(links.without(hidden), hidden, 4, Attributes.of(graph).unit, np.random.default_rng(0))
    assert [0, 1] in found[0, :2].tolist()


def test_ties_count_half() -> None:
    assert ranking_metrics(np.array([1.0]), np.ones((1, 3)))["mrr"] == 1 / 2.5


def test_evaluation_takes_given_pairs_or_makes_them(predictor: SEGNNLinkPredictor) -> None:
    links = Links(predictor.graph_, predictor.trained_.types[0]).pairs[:8]
    figures = predictor.evaluate(links)
    assert {"mrr", "hits@10", "roc_auc", "average_precision"} <= figures.keys()
    hard = np.stack([links[:, None, 0].repeat(3, 1), (links[:, None, 1] + [1, 2, 3]) % 120], axis=-1)
    assert predictor.evaluate(links, hard=hard, random=hard[:, 0]) != figures
