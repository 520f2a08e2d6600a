import itertools

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.config import SimilarityConfig
from se_gnn.explain import Explainer
from se_gnn.report.what_if import smallest_removal
from se_gnn.similarity import compare, nearest_labeled, vote, vote_weights
from strategies import models


def counted(overall, labels, num_classes, settings, removed=()):
    """The vote without some labeled nodes, by taking them out of the arrays."""
    keep = [i for i in range(len(overall)) if i not in removed and overall[i].isfinite()]
    rest, kinds = overall[keep][None], torch.tensor(labels)[keep]
    nearest = nearest_labeled(rest, settings.num_nearest)
    return vote(vote_weights(rest, nearest, settings.temperature), kinds[nearest], num_classes)[0]


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=7),
    st.integers(1, 7),
    st.sampled_from([0.2, 1.0, 5.0]),
    st.integers(0, 10_000),
)
def test_no_smaller_set_changes_the_prediction_and_this_one_does(labels, num_nearest, temperature, seed):
    overall = torch.from_numpy(np.random.default_rng(seed).normal(size=len(labels)).astype(np.float32))
    settings = SimilarityConfig(num_nearest=num_nearest, temperature=temperature)
    labels = np.array(labels)
    predicted = int(counted(overall, labels, 3, settings).argmax())

    def changes(removed):
        return len(removed) < len(labels) and int(counted(overall, labels, 3, settings, removed).argmax()) != predicted

    everyone = range(len(labels))
    smallest = next(
        (size for size in everyone if any(changes(set(some)) for some in itertools.combinations(everyone, size))), None
    )
    found = smallest_removal(overall, labels, 3, settings)
    if smallest is None:
        assert found is None
        return
    assert len(found.positions) == smallest
    assert changes(set(found.positions.tolist()))
    expected = counted(overall, labels, 3, settings, set(found.positions.tolist()))
    np.testing.assert_allclose(found.probabilities, expected.numpy(), atol=1e-6)


def test_nobody_of_another_class_can_vote():
    settings = SimilarityConfig(num_nearest=2)
    assert smallest_removal(torch.tensor([1.0, 2.0]), np.array([1, 1]), 2, settings) is None
    alone = torch.tensor([1.0, -torch.inf])
    assert smallest_removal(alone, np.array([1, 0]), 2, settings) is None


@given(models(min_nodes=4))
def test_one_node_suffices_exactly_where_the_explanation_says_so(trained):
    graph, settings = trained.graph, trained.config.similarity
    node = int(np.setdiff1d(np.arange(graph.num_nodes), graph.train)[0])
    explanation = Explainer(trained).explain(node)
    overall = compare(trained.embeddings, trained.voter.plan(np.array([node])), settings).overall[0].detach()
    found = smallest_removal(overall, trained.voter.labels, graph.num_classes, settings)
    decisive = [
        one for one in explanation.neighbors if any(one.without) and np.argmax(one.without) != explanation.predicted
    ]
    assert bool(decisive) == (found is not None and len(found.positions) == 1)
    if decisive:
        (position,) = found.positions
        same = next(one for one in explanation.neighbors if one.node == graph.train[position])
        np.testing.assert_array_equal(found.probabilities, np.array(same.without, np.float32))
