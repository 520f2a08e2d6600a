"""Find fraud among accounts, from two tables, and name the accounts and columns behind every suspicion.

`python examples/fraud.py [FOLDER]` writes a table of accounts and one of payments, as a bank might have them: mixed
columns, some values missing, 2 of 100 accounts fraudulent. Frauds work in rings: the money of a ring passes through
mules, accounts that look like anybody's. The columns say a little about a fraud, the payments around it say more.
Then it imports the tables, trains, compares with a scikit-learn model that sees the columns alone, explains the most
suspicious account, and does the same for the tables of the next month.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from se_gnn import Graph, SEGNNClassifier
from se_gnn.display.values import node_values
from se_gnn.tables import ImportSettings, read_tables

NUM_ACCOUNTS = 3_000
SHARE_OF_FRAUD = 0.02
RING = 6  # frauds in a ring
COUNTRIES = np.array(["DE", "FR", "GB", "NL", "PL", "US"])
PURPOSES = {
    "usual": ["rent and groceries", "salary and savings", "family household", "small online shop", "student budget"],
    "odd": ["consulting services abroad", "crypto exchange transfers", "gift card resale", "import and export"],
}
TOWNS = ["Bergen", "Graz", "Lyon", "Turin", "Porto", "Leeds", "Ghent", "Malmo", "Brno", "Cork", "Bonn", "Nantes"]
NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gia", "Hugo", "Ida", "Jan", "Kim", "Leo", "Mia", "Ned", "Ola"]
# amounts are drawn alike for all payments here: they would be noise
TABLES = ImportSettings(id="account", label="fraud", source="from", target="to", edge_ignore=["amount"], max_train=100)


def make_tables(num_accounts: int = NUM_ACCOUNTS, *, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accounts and payments; the label of some accounts is not known yet."""
    generator = np.random.default_rng(seed)
    num_frauds = round(SHARE_OF_FRAUD * num_accounts)
    is_fraud = np.zeros(num_accounts, dtype=bool)
    is_fraud[generator.choice(num_accounts, num_frauds, replace=False)] = True

    # a column alone tells little: most frauds look like anybody's account, and some others look odd
    looks_odd = generator.random(num_accounts) < np.where(is_fraud, 0.6, 0.08)
    opened = np.datetime64("2012-01-01") + generator.integers(0, 4_000, num_accounts).astype("timedelta64[D]")
    recent = np.datetime64("2022-06-01") + generator.integers(0, 400, num_accounts).astype("timedelta64[D]")
    purpose = np.where(
        looks_odd, generator.choice(PURPOSES["odd"], num_accounts), generator.choice(PURPOSES["usual"], num_accounts)
    )
    people = zip(purpose, generator.choice(NAMES, num_accounts), generator.choice(TOWNS, num_accounts))
    accounts = pd.DataFrame(
        {
            "account": [f"ACC-{i:05d}" for i in range(num_accounts)],
            "country": generator.choice(COUNTRIES, num_accounts, p=[0.35, 0.2, 0.15, 0.1, 0.1, 0.1]),
            "opened": np.where(looks_odd & (generator.random(num_accounts) < 0.7), recent, opened),
            "balance": generator.lognormal(7, 1.4, num_accounts).round(2),
            "verified": generator.random(num_accounts) < np.where(looks_odd, 0.6, 0.9),
            "purpose": [f"{what}, {who} in {where}" for what, who, where in people],
            "bank": "First National",
            "fraud": np.where(is_fraud, "yes", "no"),
        }
    )
    accounts.loc[generator.random(num_accounts) < 0.06, "balance"] = None
    accounts.loc[generator.random(num_accounts) < 0.04, "country"] = None
    accounts.loc[generator.random(num_accounts) < 0.10, "fraud"] = None  # not looked into yet

    frauds = generator.permutation(np.flatnonzero(is_fraud))
    others = np.flatnonzero(~is_fraud)
    pairs = [generator.choice(others, (2 * num_accounts, 2))]  # anybody pays anybody
    pairs.append(np.stack([frauds, generator.choice(others, len(frauds))], axis=1))  # and frauds some, as cover
    for ring in np.array_split(frauds, max(1, len(frauds) // RING)):
        mules = generator.choice(others, 2, replace=False)
        chain = np.stack([ring, np.roll(ring, 1)], axis=1)
        across = np.stack([ring, np.roll(ring, 2)], axis=1)
        through = np.stack([ring, generator.choice(mules, len(ring))], axis=1)
        pairs += [chain, across, through]
    ends = np.concatenate(pairs)
    ends = ends[ends[:, 0] != ends[:, 1]]
    names = accounts.account.to_numpy()
    payments = pd.DataFrame(
        {
            "from": names[ends[:, 0]],
            "to": names[ends[:, 1]],
            "amount": generator.lognormal(4, 1, len(ends)).round(2),
        }
    )
    return accounts, payments.sample(frac=1, random_state=seed, ignore_index=True)


def columns_alone(graph: Graph) -> float:
    """Average precision on the test accounts of logistic regression on the same features, without the payments.

    It learns from every labeled account that neither validates nor tests, many more than vote in se-gnn.
    """
    fraud = graph.class_names.index("yes")
    rows = np.setdiff1d(np.flatnonzero(graph.labels >= 0), [*graph.validation, *graph.test])
    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    model.fit(graph.features[rows], graph.labels[rows] == fraud)
    scores = model.predict_proba(graph.features[graph.test])[:, 1]
    return float(average_precision_score(graph.labels[graph.test] == fraud, scores))


def recall_at(truth: np.ndarray, scores: np.ndarray, share: float) -> float:
    """Share of the frauds among the most suspicious accounts, of which people can look at a ``share``."""
    looked_at = np.argsort(-scores, kind="stable")[: round(share * len(scores))]
    return float(truth[looked_at].sum() / truth.sum())


def beside(graph: Graph, nodes: list[int]) -> str:
    """Accounts beside each other, column by column, as their table has them."""
    rows = [["", *(graph.node_names[node] for node in nodes)]]
    values = [node_values(graph, node) for node in nodes]
    rows += [[column, *(shown[column] for shown in values)] for column in values[0]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  " + "  ".join(text.ljust(w) for text, w in zip(row, widths)).rstrip() for row in rows)


def main(folder: Path, *, num_accounts: int = NUM_ACCOUNTS, epochs: int = 40, progress: bool = True) -> None:
    """Write the tables into ``folder``, import, train, compare, explain; then the next month."""
    folder.mkdir(parents=True, exist_ok=True)
    accounts, payments = make_tables(num_accounts)
    accounts.to_csv(folder / "accounts.csv", index=False)
    payments.to_parquet(folder / "payments.parquet", index=False)

    imported = read_tables(folder / "accounts.csv", folder / "payments.parquet", TABLES)
    imported.save(folder / "graph")
    print(imported.summary)

    graph = imported.graph
    # chosen on the validation accounts: fewer cases, and more weight on the local graph
    classifier = SEGNNClassifier(num_nearest=10, node_weight=0.2, epochs=epochs, progress=progress).fit(graph)
    fraud = graph.class_names.index("yes")
    truth, scores = graph.labels[graph.test] == fraud, classifier.predict_proba(graph.test)[:, fraud]
    print(f"\nOf {len(graph.test)} test accounts {truth.sum()} are fraudulent. Average precision:")
    print(f"  guessing                          {truth.mean():.2f}")
    print(f"  logistic regression, columns only {columns_alone(graph):.2f}")
    print(f"  se-gnn, columns and payments      {average_precision_score(truth, scores):.2f}")
    print(f"Looking at the 5% most suspicious accounts finds {recall_at(truth, scores, 0.05):.0%} of the frauds.")

    suspect = int(graph.test[np.argmax(scores)])
    explain(classifier, suspect)

    # a month later: new accounts and new payments, encoded as before; the labeled accounts of old still vote
    later, more_payments = make_tables(num_accounts, seed=1)
    later["account"] = later.account.str.replace("ACC", "NEW")
    later["fraud"] = None
    for end in ("from", "to"):
        more_payments[end] = more_payments[end].str.replace("ACC", "NEW")
    grown = read_tables(
        pd.concat([accounts, later], ignore_index=True), pd.concat([payments, more_payments], ignore_index=True),
        dataclasses.replace(TABLES, name="next month"), like=graph,
    )  # fmt: skip
    next_month = classifier.with_graph(grown.graph)
    new = np.flatnonzero([name.startswith("NEW") for name in grown.graph.node_names])
    scores = next_month.predict_proba(new)[:, fraud]
    print("\nThe most suspicious new account of the next month:")
    explain(next_month, int(new[np.argmax(scores)]))


def explain(classifier: SEGNNClassifier, node: int) -> None:
    """Why an account is suspicious: in words, by the labeled accounts that voted, column by column, by payments."""
    graph, explanation = classifier.graph_, classifier.explain(node)
    label = explanation.label
    known = f"Its label is {graph.class_names[label]!r}." if label >= 0 else "Nobody has looked into it yet."
    print("\n" + textwrap.fill(f"{explanation.sentence()} {known}", 100))
    print("\nIts columns, beside those of the three labeled accounts that count most:")
    print(beside(graph, [node, *(vote.node for vote in explanation.votes[:3])]))
    crucial = explanation.crucial_subgraph(size=5)
    if len(crucial.edges):
        print("The payments around it that matter most:")
        for u, v in crucial.edges:
            print(f"  {graph.node_names[u]} - {graph.node_names[v]}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="se-gnn-fraud-") as temporary:
            main(Path(temporary))
