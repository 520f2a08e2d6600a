"""Who trusts whom on a Bitcoin exchange: find fraud from 20 known accounts, with the ratings behind every suspicion.

`python examples/bitcoin_otc.py [FOLDER]` reads `bitcoin_otc/accounts.csv` and `bitcoin_otc/ratings.csv` in the data
folder that `SE_GNN_DATA` names (35,592 ratings from -10 to 10, each from one account to another), imports them with
direction, type and rating, trains on ten accounts per class, compares with the same graph without what its edges carry,
explains the most suspicious account that nobody has looked into, and writes a report for an analyst.
"""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from se_gnn import Graph, SEGNNClassifier
from se_gnn.explain import Explanation
from se_gnn.explain.text import edge_in_words
from se_gnn.graph import Edges
from se_gnn.report import report_html
from se_gnn.tables import ImportSettings, read_tables

TABLES = ImportSettings(
    id="account", label="label", name="bitcoin-otc", directed=True, edge_type="verb", edge_time="time",
    edge_kinds={"rating": "number"},
)  # fmt: skip
LABELED, VALIDATING = 10, 20  # per class
LEAST = 5  # ratings, given or received, of an account that is to be looked into: one rating says little
MISSING = """\
This example needs accounts.csv and ratings.csv in {folder}: set SE_GNN_DATA to a folder that holds them in bitcoin_otc.
They are soc-sign-bitcoinotc.csv of https://snap.stanford.edu/data/soc-sign-bitcoin-otc.html with the header
source,target,rating,time, and account,label of the ground truth of REV2 (https://doi.org/10.1145/3159652.3159729)."""


def account_tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accounts and ratings; a rating above 0 trusts, one below distrusts: the type of the edge, and its verb."""
    accounts = pd.read_csv(folder / "accounts.csv", dtype=str)
    ratings = pd.read_csv(folder / "ratings.csv", dtype={"source": str, "target": str})
    ratings["verb"] = np.where(ratings.rating > 0, "trusts", "distrusts")
    return accounts, ratings


def split(graph: Graph, *, seed: int = 0) -> Graph:
    """Ten accounts per class vote, twenty choose the best epoch, the others with a known label test."""
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(np.flatnonzero(graph.labels == label)) for label in range(graph.num_classes)]
    cut = LABELED + VALIDATING
    parts = {"train": slice(LABELED), "validation": slice(LABELED, cut), "test": slice(cut, None)}
    return graph.with_split(**{part: np.concatenate([nodes[some] for nodes in drawn]) for part, some in parts.items()})


def trained_on(graph: Graph, epochs: int, *, progress: bool) -> SEGNNClassifier:
    """One recipe, one member: a minute. Leave the settings out for the full default."""
    one_recipe = {"portfolio": False}
    return SEGNNClassifier(
        members=1, epochs=epochs, best_by="roc_auc", settings=one_recipe, device="cpu", progress=progress
    ).fit(graph)


def ranked(classifier: SEGNNClassifier, nodes: np.ndarray) -> np.ndarray:
    """Probability of fraud."""
    return classifier.predict_proba(nodes)[:, classifier.graph_.class_names.index("fraud")]


def tell(classifier: SEGNNClassifier, node: int) -> None:
    """For an analyst: the suspicion in words, the accounts it rests on, and rating by rating what was matched."""
    explanation = classifier.explain(node)
    print("\n" + textwrap.fill(explanation.sentence(), 100))
    closest = explanation.votes[0]
    if closest.matches is None:
        return
    matches, label = closest.matches, explanation.answer_of(closest)
    own = np.flatnonzero((explanation.ends(matches.edge_ids) == node).any(axis=1))
    name = explanation.caption(closest.node)
    print(f"\nIts ratings beside those that they were matched with, around {name}, which is known as {label}:")
    for i in own[np.argsort(-matches.similarity[own], kind="stable")][:8]:
        told = [in_words(explanation, int(ids[i])) for ids in (matches.edge_ids, matches.matched_ids)]
        print(f"  {told[0]:<34} {told[1]:<34} similarity {matches.similarity[i]:.2f}")


def in_words(explanation: Explanation, edge: int) -> str:
    """A rating: who did what to whom."""
    if edge < 0:
        return "no rating of that type"
    info = explanation.edges[edge]
    return edge_in_words(info, explanation.caption(info.start), explanation.caption(info.end))


def main(data: Path, folder: Path, *, epochs: int = 100, progress: bool = True) -> None:
    """Import, train with and without the data of the ratings, explain, report; all is written into ``folder``."""
    if not (data / "ratings.csv").exists():
        print(MISSING.format(folder=data))
        return
    folder.mkdir(parents=True, exist_ok=True)
    imported = read_tables(*account_tables(data), TABLES)
    print(imported.summary)
    graph = split(imported.graph)
    plain = graph.replace(edges=Edges.build(graph.edges.ends, graph.num_nodes))
    truth = graph.labels[graph.test] == graph.class_names.index("fraud")
    classifier = trained_on(graph, epochs, progress=progress)
    found = {
        "who rated whom": trained_on(plain, epochs, progress=progress),
        "with direction, type and rating": classifier,
    }
    print(f"\nFraud among {len(truth)} test accounts, from {len(graph.train)} labeled ones, ROC-AUC:")
    for name, one in found.items():
        print(f"  {name:<32} {roc_auc_score(truth, ranked(one, graph.test)):.3f}")
    unknown = np.flatnonzero((graph.labels < 0) & (graph.degrees >= LEAST))
    scores = ranked(classifier, unknown)
    suspects = unknown[np.argsort(-scores, kind="stable")[:5]]
    names = ", ".join(graph.node_names[node] for node in suspects)
    print(f"\nOf {len(unknown):,} accounts with {LEAST} ratings that nobody has looked into, most suspicious: {names}")
    tell(classifier, int(suspects[0]))
    page = folder / "report.html"
    page.write_text(report_html(classifier.trained_, suspects.tolist(), title="Who trusts whom"), encoding="utf-8")
    print(f"\nReport: {page}")


if __name__ == "__main__":
    main(
        Path(os.environ.get("SE_GNN_DATA", "data")) / "bitcoin_otc",
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path("bitcoin-otc-report"),
    )
