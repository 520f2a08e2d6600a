"""Small models whose answers are kept, and their answers as plain arrays.

This file alone knows how the library is called: when something is renamed, change it here and leave the golden files as
they are. The keys of the answers are our own, and the arrays hold numbers or strings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from se_gnn import SEGNNClassifier, load_dataset

PRESETS = ("best", "paper", "authors")
DATASETS = ("digits", "ba-shapes", "cora", "tables")
QUICK = {"num_nearest": 6, "hidden_size": 16}
OF_PRESET: dict[str, dict[str, Any]] = {
    "best": {"epochs": 6, "members": 2, "portfolio": False},
    "paper": {"epochs": 2},
    "authors": {"epochs": 2},
}
OF_TABLES: dict[str, dict[str, Any]] = {  # what edges carry is read in different ways
    "best": {},
    "paper": {"match_direction": True, "match_types": "learned", "match_attributes": True},
    "authors": {"match_direction": True, "match_types": "own", "weighted_mean": True},
}


def fitted(dataset: str, preset: str, folder: Path) -> SEGNNClassifier:
    """A classifier that was trained for a few epochs."""
    settings = QUICK | OF_PRESET[preset] | (OF_TABLES[preset] if dataset == "tables" else {})
    graph = tables(folder) if dataset == "tables" else load_dataset(dataset, data_dir=os.environ.get("SE_GNN_DATA"))
    return SEGNNClassifier(preset=preset, seed=3, device="cpu", calibration=0.3, settings=settings).fit(graph)


def tables(folder: Path) -> Any:
    """A graph from tables: people and firms, edges of two types with a direction, a weight and an amount."""
    from se_gnn.tables import EdgeTable, ImportSettings, read_tables

    generator = np.random.default_rng(7)
    people, firms = 260, 40
    risk = generator.integers(0, 3, people)
    size = generator.integers(0, 3, firms)
    lines = {
        "people": ["id,age,city,risk"]
        + [
            f"p{i},{30 + 10 * risk[i] + generator.integers(0, 12)},{'ABC'[generator.integers(0, 3)]},"
            f"{['low', 'mid', 'high'][risk[i]]}"
            for i in range(people)
        ],
        "firms": ["id,staff,branch"]
        + [f"f{i},{10 ** (1 + size[i]) + generator.integers(0, 9)},{'XY'[i % 2]}" for i in range(firms)],
        "works": ["source,target,weight,amount"],
        "pays": ["source,target,weight,amount"],
    }
    for i in range(people):
        for firm in generator.choice(np.flatnonzero(size == risk[i]), 2):
            lines["works"].append(f"p{i},f{firm},{generator.integers(1, 5)},{generator.integers(1, 90)}")
    for _ in range(400):
        one, other = generator.integers(0, people, 2)
        if one != other:
            lines["pays"].append(f"p{one},p{other},{generator.integers(1, 5)},{generator.integers(1, 90)}")
    for name, rows in lines.items():
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    nodes = {"person": folder / "people.csv", "firm": folder / "firms.csv"}
    edges = [
        EdgeTable(type="works", table=folder / "works.csv", joins=("person", "firm")),
        EdgeTable(type="pays", table=folder / "pays.csv", joins=("person", "person")),
    ]
    settings = ImportSettings(
        id="id", label="risk", directed=True, edge_weight="weight", name="people", name_types=False
    )
    return read_tables(nodes, edges, settings).graph


def answers(dataset: str, preset: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """Names and arrays of everything that a small classifier answers."""
    classifier = fitted(dataset, preset, folder)
    graph = classifier.graph_
    test = graph.test
    asked = np.concatenate([test[:2], test[-1:], graph.train[:1]])  # one of them is labeled itself
    yield "probabilities", classifier.predict_proba()
    yield "predicted classes", [str(name) for name in classifier.predict()]
    for node in asked.tolist():
        yield from _explanation(classifier.explain(node), f"explanation of node {node}")
    yield from _audit(classifier.audit(num_orders=5))
    yield from _certificates(classifier.certify(np.concatenate([test[:40], graph.train[:10]])))
    for method in ("aps", "daps"):
        sets = classifier.predict_sets(test[:60], coverage=0.9, method=method)
        yield f"prediction sets ({method}): members", sets.members
        yield f"prediction sets ({method}): scores", sets.scores
        yield f"prediction sets ({method}): thresholds", sets.thresholds
    if preset == "best":  # it is slow, and the same for all presets
        novelty = classifier.novelty(test[:20])
        yield "novelty (rounded): scores", novelty.score  # NumPy's BLAS: last bits depend on the threads
        yield "novelty (rounded): threshold", [novelty.threshold]


def _explanation(explanation: Any, name: str) -> Iterator[tuple[str, Any]]:
    cases = explanation.votes
    yield f"{name}: probabilities", explanation.probabilities
    yield f"{name}: cases", [case.node for case in cases]
    yield f"{name}: weights", [case.weight for case in cases]
    yield f"{name}: similarities", [case.similarity for case in cases]
    yield f"{name}: node similarities", [case.node_similarity for case in cases]
    structure = [case.structure_similarity for case in cases]
    yield f"{name}: structure similarities", [np.nan if one is None else one for one in structure]
    yield f"{name}: without each case", [case.without for case in cases]
    yield f"{name}: edges", explanation.edge_ids
    yield f"{name}: edge importance", explanation.importance
    for rank, case in enumerate(cases[:2]):
        for way, matches in (("matches", case.matches), ("matches back", case.matches_back)):
            if matches is not None:
                yield f"{name}: {way} {rank}: edges", matches.edge_ids
                yield f"{name}: {way} {rank}: matched", matches.matched_ids
                yield f"{name}: {way} {rank}: similarities", matches.similarity
                yield f"{name}: {way} {rank}: above average", matches.above_average
        if case.attributes is not None:
            shared = case.attributes.attributes
            yield f"{name}: shared attributes {rank} (rounded): effects", [one.effect for one in shared]
    removal, relabeling = explanation.removal, explanation.relabeling
    yield f"{name}: smallest removal", [] if removal is None else removal.nodes
    yield f"{name}: smallest relabeling", [] if relabeling is None else relabeling.nodes


def _audit(audit: Any) -> Iterator[tuple[str, Any]]:
    rows = sorted(audit.rows(), key=lambda row: row.node)
    yield "audit: nodes", [row.node for row in rows]
    for key, name in {
        "vote of the others": "vote",
        "probability of that vote": "vote_probability",
        "probability of the label": "label_probability",
        "accuracy without it": "accuracy_gain",
        "loss without it": "loss_gain",
        "Shapley value": "shapley",
        "weighted Shapley value": "weighted_shapley",
        "predictions with its vote": "used",
        "sum of its weights": "weight",
        "predictions it decides": "decides",
    }.items():
        values = [getattr(row, name) for row in rows]
        yield f"audit: {key}", [np.nan if value is None else value for value in values]


def _certificates(certificates: Any) -> Iterator[tuple[str, Any]]:
    for name in ("removal", "relabeling"):
        sets = getattr(certificates, name)
        yield f"certificates ({name}): sizes", sets.sizes
        yield f"certificates ({name}): becomes", sets.becomes
        yield f"certificates ({name}): cases", sets.labeled
