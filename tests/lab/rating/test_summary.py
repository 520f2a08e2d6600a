"""Shares, intervals and agreement out of answers."""

from __future__ import annotations

import pytest

from lab.rating.store import Rating
from lab.rating.summary import summarize


def rating(rater, method, answer, pair=1, model="cora"):
    return Rating(rater, model, method, pair, "t", "n", answer, "2026-01-01T00:00:00+00:00")


def test_shares_have_wilson_intervals_and_skipped_pairs_count_for_nobody():
    ratings = [rating(f"r{i}", "se-gnn", "similar" if i < 8 else "different") for i in range(10)]
    ratings += [rating("r11", "se-gnn", "skipped")]
    row = summarize(ratings, models=["cora"], methods=["se-gnn"]).methods[0]
    assert (row.ratings, row.similar, row.skipped, row.share) == (10, 8, 1, 0.8)
    # (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), by hand
    assert row.interval == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_a_method_without_ratings_has_no_share():
    row = summarize([], models=["cora"], methods=["gcn-k"]).methods[0]
    assert row.share is None
    assert row.interval is None


def test_several_models_have_a_row_for_all_of_them():
    ratings = [rating("a", "se-gnn", "similar"), rating("a", "se-gnn", "different", 2, "pubmed")]
    summary = summarize(ratings, models=["cora", "pubmed"], methods=["se-gnn"])
    assert [(row.model, row.share) for row in summary.methods] == [("cora", 1), ("pubmed", 0), (None, 0.5)]


def test_agreement_is_counted_pair_by_pair():
    ratings = [
        rating(rater, "se-gnn", answer, pair)
        for pair, answers in enumerate([("similar", "similar"), ("different", "different"), ("similar", "skipped")])
        for rater, answer in zip("ab", answers)
    ]
    agreement = summarize(ratings, models=["cora"], methods=["se-gnn"]).agreement[0]
    assert (agreement.alpha, agreement.shared) == (1, 2)
