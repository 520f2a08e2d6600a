"""Tables as people have them, drawn at random: accounts that pay each other, with dates, gaps and a known truth.

Each number names one set of tables: its size, its classes, and where the classes can be seen are drawn from it. They
show in a node's own columns, in what it pays and is paid (amount, type, direction), and in whom it deals with, each
to a degree of its own. Some labels can be flipped; the right ones are kept beside the tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from se_gnn.datasets.tables import ImportSettings
from se_gnn.graph.arrays import BoolArray

NUM_SETS = 10
FIRST = ["Änne", "Bjørn", "Chloé", "Dörte", "Emre", "Fatma", "Gül", "Håkon", "Inès", "Jürgen", "Łukasz", "Zoë"]
LAST = ["Müller", "Øst", "Petit", "Quist", "Groß", "Sørensen", "Çelik", "Ünal", "Vogt", "Weiß", "Żak", "Adler"]
CLASSES = ("ok", "fraud", "mule", "dormant")
PLACES = ("Köln", "Malmö", "Nîmes", "Łódź", "Gent")
PAYMENTS = ("transfer", "card", "cash", "loan")


@dataclass(frozen=True, slots=True, eq=False)
class TableSet:
    """Two tables, how to import them, and which labels were flipped, by account."""

    accounts: pd.DataFrame
    payments: pd.DataFrame
    settings: ImportSettings
    flipped: BoolArray  # [N], in the order of the rows


def table_set(number: int, *, flipped: float = 0.0) -> TableSet:
    """The tables of a number.

    Args:
        number: any number from 0 on; the same number gives the same tables.
        flipped: share of the known labels that are replaced by another class.
    """
    draw = np.random.default_rng([number, 2026])
    n, classes = int(draw.integers(1200, 3600)), CLASSES[: draw.integers(2, 1 + len(CLASSES))]
    shares = draw.dirichlet(np.full(len(classes), 4.0)) * 0.7 + 0.3 / len(classes)
    truth = draw.choice(len(classes), n, p=shares)
    in_columns, in_payments, among = draw.uniform(0.6, 1.6), draw.uniform(0.4, 1.2), draw.uniform(0.4, 0.85)
    accounts = _accounts(draw, truth, len(classes), in_columns)
    payments = _payments(draw, truth, len(classes), in_payments, among, accounts["account"].to_numpy())
    known = draw.random(n) < draw.uniform(0.6, 0.95)
    labels = truth.copy()
    wrong = known & (draw.random(n) < flipped)
    labels[wrong] = (truth[wrong] + draw.integers(1, len(classes), int(wrong.sum()))) % len(classes)
    accounts["state"] = [classes[label] if is_known else None for label, is_known in zip(labels, known)]
    settings = ImportSettings(
        id="account", label="state", source="payer", target="payee", caption="holder", directed=True,
        edge_weight="count", edge_type="means", edge_time="last", name=f"tables-{number}", seed=number,
    )  # fmt: skip
    return TableSet(accounts, payments, settings, wrong)


def _accounts(draw: np.random.Generator, truth: np.ndarray, num_classes: int, strength: float) -> pd.DataFrame:
    n = len(truth)
    centers = draw.normal(size=(num_classes, 3)) * strength
    numbers = centers[truth] + draw.normal(size=(n, 3))
    habits = draw.dirichlet(np.full(len(PLACES), 2 / strength), num_classes)
    place = [draw.choice(PLACES, p=habits[label]) for label in truth]
    opened = np.datetime64("2009-03-01") + (1500 + 500 * (numbers[:, 2] + draw.normal(size=n))).astype("timedelta64[D]")
    accounts = pd.DataFrame(
        {
            "account": [f"K{i:05d}" for i in draw.permutation(n)],
            "holder": [f"{draw.choice(FIRST)} {draw.choice(LAST)}" for _ in range(n)],
            "balance": np.exp(6 + numbers[:, 0]).round(2),
            "logins": draw.poisson(np.exp(np.clip(1 + 0.5 * numbers[:, 1], -2, 4))),
            "age": np.clip(45 + 15 * draw.normal(size=n), 18, 95).round(),
            "place": place,
            "opened": opened,
            "checked": draw.random(n) < 0.8,
        }
    )
    accounts.loc[draw.random(n) < 0.08, "balance"] = None
    accounts.loc[draw.random(n) < 0.05, "place"] = None
    return accounts


def _payments(
    draw: np.random.Generator, truth: np.ndarray, num_classes: int, strength: float, among: float, names: np.ndarray
) -> pd.DataFrame:
    n, m = len(truth), int(3.5 * len(truth))
    payer = draw.integers(0, n, m)
    partner = draw.permutation(num_classes)  # whom a class deals with: its own class or another one
    partner = np.where(draw.random(num_classes) < 0.7, np.arange(num_classes), partner)
    members = [np.flatnonzero(truth == label) for label in range(num_classes)]
    payee = draw.integers(0, n, m)
    for i in np.flatnonzero(draw.random(m) < among):
        payee[i] = draw.choice(members[partner[truth[payer[i]]]])
    payer, payee = payer[payer != payee], payee[payer != payee]
    m = len(payer)
    size = draw.normal(size=num_classes) * strength
    habits = draw.dirichlet(np.full(len(PAYMENTS), 2 / strength), num_classes)
    return pd.DataFrame(
        {
            "payer": names[payer],
            "payee": names[payee],
            "amount": np.exp(4 + size[truth[payer]] + draw.normal(size=m)).round(2),
            "count": 1 + draw.poisson(1.5, m),
            "means": [draw.choice(PAYMENTS, p=habits[truth[i]]) for i in payer],
            "last": np.datetime64("2025-01-01") + draw.integers(0, 600, m).astype("timedelta64[D]"),
        }
    )
