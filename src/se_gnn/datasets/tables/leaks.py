"""Columns that give the label away: one alone tells the class of nearly every labeled node."""

from __future__ import annotations

import numpy as np

from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.columns import Column

GIVES_AWAY = 0.99  # balanced accuracy of a small tree on rows that it has not seen
FOLDS = 3
FEWEST_ROWS = 5  # of a class, from which on anything can be said
MOST_ROWS = 20_000


def leaking_columns(
    columns: tuple[Column, ...], features: Features, labels: IntArray, *, generator: np.random.Generator
) -> dict[str, float]:
    """Columns from which a decision tree reads the class, with its cross-validated balanced accuracy.

    Balanced: among 2% frauds, saying "no fraud" is right 98 times out of 100 and tells nothing. Training rows only;
    classes of fewer than five of them are left aside.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.tree import DecisionTreeClassifier

    if len(labels) > MOST_ROWS:
        chosen = np.sort(generator.choice(len(labels), MOST_ROWS, replace=False))
        features, labels = features[chosen], labels[chosen]
    counts = np.bincount(labels)
    enough = np.isin(labels, np.flatnonzero(counts >= FEWEST_ROWS))
    features, labels = features[enough], labels[enough]
    if len(np.unique(labels)) < 2:
        return {}
    tree = DecisionTreeClassifier(max_depth=6, class_weight="balanced", random_state=0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    found = {}
    for column in columns:
        own = features[:, column.first : column.first + column.size]
        own = own if isinstance(own, np.ndarray) else own.toarray()
        score = float(cross_val_score(tree, own, labels, cv=folds, scoring="balanced_accuracy").mean())
        if score >= GIVES_AWAY:
            found[column.name] = score
    return found
