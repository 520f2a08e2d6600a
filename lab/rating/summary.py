"""What the ratings say: the share of similar pairs per method, how sure that is, and whether raters agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.rating.agreement import krippendorff_alpha
from lab.rating.store import Rating

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class MethodRow:
    """A method on one model, or on all of them (``model`` is None)."""

    model: str | None
    method: str
    ratings: int  # that say similar or different
    similar: int
    skipped: int

    @property
    def share(self) -> float | None:
        """Share of ratings that say similar; None where there are none."""
        return self.similar / self.ratings if self.ratings else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95% confidence interval by Wilson's score; ratings are taken as independent."""
        if not self.ratings:
            return None
        from scipy.stats import binomtest

        found = binomtest(self.similar, self.ratings).proportion_ci(CONFIDENCE, method="wilson")
        return float(found.low), float(found.high)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement between raters on the pairs of one model, or of all."""

    model: str | None
    alpha: float | None  # Krippendorff's, nominal; None where no pair has two ratings, or all are the same
    shared: int  # pairs that at least two raters rated


@dataclass(frozen=True, slots=True)
class Summary:
    """Tables of one file."""

    methods: tuple[MethodRow, ...]
    agreement: tuple[Agreement, ...]
    raters: int


def summarize(ratings: Sequence[Rating], *, models: Sequence[str], methods: Sequence[str]) -> Summary:
    """Each method on each model; with several models, on all of them, too."""
    parts: list[str | None] = [*models, *([None] if len(models) > 1 else [])]
    rows, agreement = [], []
    for model in parts:
        chosen = [one for one in ratings if model in (None, one.model)]
        rows += [_row(model, method, [one for one in chosen if one.method == method]) for method in methods]
        agreement.append(_agreement(model, chosen))
    return Summary(tuple(rows), tuple(agreement), len({one.rater for one in ratings}))


def _row(model: str | None, method: str, ratings: Sequence[Rating]) -> MethodRow:
    answers = [one.answer for one in ratings]
    similar, skipped = answers.count("similar"), answers.count("skipped")
    return MethodRow(model, method, len(answers) - skipped, similar, skipped)


def _agreement(model: str | None, ratings: Iterable[Rating]) -> Agreement:
    units: dict[int, list[str]] = {}
    for one in ratings:
        if one.answer != "skipped":
            units.setdefault(one.pair, []).append(one.answer)
    shared = sum(len(unit) > 1 for unit in units.values())
    return Agreement(model, krippendorff_alpha(units.values()), shared)
