"""The rows of the matrix: what a user does, and whether the answer is the one that is recomputed in NumPy.

Every check goes the way a user goes, and raises what the product says where it refuses.
"""

from __future__ import annotations

import csv
import dataclasses
import html
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from combinations.data import RefusedError, World, in_memory
from combinations.recomputed import Recomputed
from lab.recomputed import largest_errors
from se_gnn import SEGNNClassifier
from se_gnn.estimator import SEGNNRegressor
from se_gnn.explain import Explanation, explain
from se_gnn.graph import Graph
from se_gnn.graph.spread import listed_nodes
from se_gnn.graph.storage import load_graph
from se_gnn.labels.novelty import novelty
from se_gnn.labels.suggest import suggest
from se_gnn.labels.suspicion import suspicion
from se_gnn.model import Model
from se_gnn.model.folder import load_model
from se_gnn.number_format import percent
from se_gnn.shards import read_shards
from se_gnn.training import TrainingRun, trainer

CLOSE = {"atol": 2e-5, "rtol": 2e-5}
COVERAGE = 0.8
ROOT = Path(__file__).resolve().parents[2]
Row = dict[str, Any]


def fresh(world: World) -> Path:
    """An empty folder."""
    return Path(tempfile.mkdtemp(dir=world.place))


def rows_of(file: Path) -> list[Row]:
    """The rows of a CSV file or of JSON lines."""
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream)) if file.suffix == ".csv" else [json.loads(line) for line in stream]


def recomputed(world: World) -> Recomputed:
    """Every answer of a world, computed once."""
    if "recomputed" not in world.__dict__:
        world.__dict__["recomputed"] = Recomputed(world.truth)
    found: Recomputed = world.__dict__["recomputed"]
    return found


def assert_predicted(rows: list[Row], expected: Recomputed, nodes: np.ndarray) -> None:
    """Rows of a file hold the recomputed answers of some nodes, in their order."""
    graph = expected.model.graph
    assert [row["node"] for row in rows] == [graph.node_names[node] for node in nodes]
    if graph.predicts_numbers:
        np.testing.assert_allclose([float(row["predicted"]) for row in rows], expected.values(nodes), **CLOSE)
        return
    found = [[float(row[f"probability_{name}"]) for name in graph.class_names] for row in rows]
    np.testing.assert_allclose(found, expected.probabilities(nodes), **CLOSE)
    if graph.node_types is not None:
        assert {row["type"] for row in rows} == {graph.node_type_names[one] for one in graph.node_types[nodes]}


def records_of(folder: Path) -> list[Row]:
    """All rows of a folder of shards."""
    return [row for part in read_shards(folder) for row in part.to_pylist()]


# --- predictions


def predict_to_a_file(world: World) -> None:
    """`predict --out p.csv`."""
    out = fresh(world) / "p.csv"
    world.on("predict", "--out", out, "--quiet", device=True)
    assert_predicted(rows_of(out), recomputed(world), world.queries)


def predict_to_shards(world: World) -> None:
    """`predict --out folder`."""
    out = fresh(world) / "p"
    world.on("predict", "--out", out, "--set", "shard=17", "--quiet", device=True)
    assert_predicted(records_of(out), recomputed(world), world.queries)


def under_torchrun(world: World) -> None:
    """`torchrun -m se_gnn predict --out folder`: two processes write the answers together."""
    out = fresh(world) / "p"
    more = [] if world.graph is None else ["--graph", str(world.graph)]
    given = ["predict", str(world.folder), "--out", str(out), "--set", "shard=17", "--device", world.device, *more]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *launcher, "-m", "se_gnn", *given], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    if said:
        raise RefusedError(said[0])
    assert done.returncode == 0, done.stderr
    assert_predicted(records_of(out), recomputed(world), world.queries)


def _calibration(world: World) -> tuple[list[str], np.ndarray]:
    graph = world.truth.graph
    if len(graph.calibration):
        return [], graph.calibration
    return ["--set", "calibrate_on=validation"], graph.validation


def _quantile(scores: np.ndarray) -> float:
    return float(np.sort(scores)[int(np.ceil((len(scores) + 1) * COVERAGE - 1e-9)) - 1])


def _scores(expected: Recomputed, nodes: np.ndarray) -> np.ndarray:
    """1 - pi of every class: a tenth of the probability is shared by the similarity of each class's nearest case."""
    graph, tau = expected.model.graph, expected.model.settings.vote.temperature
    labels = graph.labels[expected.cases]
    near = np.stack(
        [np.where(labels == c, expected.overall[nodes], -np.inf).max(axis=1) for c in range(graph.num_classes)], axis=1
    )
    shared = np.exp((near - near.max(axis=1, keepdims=True)) / tau)
    return 1 - (0.9 * expected.probabilities(nodes) + 0.1 * shared / shared.sum(axis=1, keepdims=True))


def assert_sets(rows: list[Row], world: World, nodes: np.ndarray) -> None:
    """The sets, or intervals, are those of split conformal prediction."""
    expected, (_, judged) = recomputed(world), _calibration(world)
    graph = world.truth.graph
    if graph.predicts_numbers:
        found = {True: _spread(expected, nodes), False: _spread(expected, judged)}
        floor = np.median(found[False])
        reach = _quantile(np.abs(graph.values[judged] - expected.values(judged)) / (found[False] + floor))
        for sign, name in ((-1, "low"), (1, "high")):
            ends = expected.values(nodes) + sign * reach * (found[True] + floor)
            np.testing.assert_allclose([float(row[name]) for row in rows], ends, rtol=1e-3, atol=1e-3)
        return
    scores = _scores(expected, nodes)
    limit = _quantile(_scores(expected, judged)[np.arange(len(judged)), graph.labels[judged]])
    clear = np.abs(scores - limit) > 1e-5  # of a tie with the limit rounding decides
    members = np.array([_members(row, graph) for row in rows])
    assert np.array_equal(members[clear], (scores <= limit)[clear])


def _members(row: Row, graph: Graph) -> list[bool]:
    if "set" in row:
        return [name in {one["class"] for one in row["set"]} for name in graph.class_names]
    return [row[f"in_set_{name}"] == "1" for name in graph.class_names]


def _spread(expected: Recomputed, nodes: np.ndarray) -> np.ndarray:
    """Weighted standard deviation of the numbers that vote."""
    known, found = expected.model.graph.values[expected.cases], []
    for order, weights in map(expected.votes, nodes.tolist()):
        mean = known[order] @ weights
        found.append(np.sqrt(weights @ (known[order] - mean) ** 2))
    return np.array(found)


def prediction_sets(world: World) -> None:
    """`predict --coverage 0.8`: sets of classes, or intervals, into a file and into shards."""
    place, how = fresh(world), _calibration(world)[0]
    how = [] if world.truth.graph.predicts_numbers else ["--set", "method=lac", *how]
    for out in ("p.csv", "p"):
        world.on("predict", "--out", place / out, "--coverage", COVERAGE, *how, "--quiet", device=True)
    assert_sets(rows_of(place / "p.csv"), world, world.queries)
    assert_sets(records_of(place / "p"), world, world.queries)


def abstaining(world: World) -> None:
    """`predict --abstain`, into a file and into shards."""
    place = fresh(world)
    expected = novelty(world.truth, world.queries, false_alarms=0.3, seed=world.truth.facts.seed)
    for out in ("p.csv", "p"):
        given = ("--abstain", "--set", "false_alarms=0.3", "--quiet")
        world.on("predict", "--out", place / out, *given, device=True)
    for rows in (rows_of(place / "p.csv"), records_of(place / "p")):
        assert_predicted(rows, recomputed(world), world.queries)
        np.testing.assert_allclose([float(row["novelty"]) for row in rows], expected.score, atol=1e-4)
        clear = np.abs(expected.score - expected.threshold) > 1e-4
        silent = np.array([row["answer"] in (None, "") for row in rows])
        assert np.array_equal(silent[clear], expected.abstains[clear])


# --- new nodes


def grown(world: World) -> Recomputed:
    """The world with its new nodes, from tables that held them from the start."""
    if "grown" in world.__dict__:
        found: Recomputed = world.__dict__["grown"]
        return found
    graph, known = world.with_all(fresh(world)), world.truth.graph
    later = np.setdiff1d(graph.node_names, known.node_names)
    graph = graph.subgraph([graph.node_id(name) for name in (*known.node_names, *later)])
    place = {name: i for i, name in enumerate(graph.node_names)}
    at = np.array([place[name] for name in known.node_names])
    split = {part: np.sort(at[ids]) for part, ids in known.split.items()}
    if known.predicts_numbers:
        values = np.full(graph.num_nodes, np.nan)
        values[at] = known.values
        graph = graph.replace(target=graph.numbers.with_values(values), split=dataclasses.replace(graph.split, **split))
    else:
        labels = np.full(graph.num_nodes, -1)
        labels[at] = known.labels
        graph = graph.replace(target=graph.classes.with_labels(labels), split=dataclasses.replace(graph.split, **split))
    world.__dict__["grown"] = found = Recomputed(Model(world.truth.encoder, graph, world.truth.settings))
    return found


def assert_arrived(world: World, answers: dict[str, Any]) -> None:
    """The answers for new nodes, by name, are those of a graph that had them from the start."""
    expected = grown(world)
    graph = expected.model.graph
    assert len(answers) == len(graph.candidates) - len(world.truth.graph.candidates)
    ids = np.array([graph.node_id(name) for name in answers])
    wanted = expected.values(ids) if graph.predicts_numbers else expected.probabilities(ids)
    np.testing.assert_allclose(list(answers.values()), wanted, **CLOSE)


def new_nodes_on_the_command_line(world: World) -> None:
    """`predict --new-nodes`."""
    out = fresh(world) / "p.csv"
    options = [text for name, files in world.new.items() for file in files for text in (name, file)]
    world.on("predict", *options, "--out", out, "--quiet", device=True)
    graph = world.truth.graph
    names = () if graph.predicts_numbers else graph.class_names
    assert_arrived(world, {row["node"]: _answer(row, names) for row in rows_of(out)})


def _answer(row: Row, names: Any) -> Any:
    return [float(row[f"probability_{name}"]) for name in names] if names else float(row["predicted"])


def _tables(world: World, option: str) -> Any:
    """The new tables as a mapping by type, or as one table."""
    files = [text.rpartition("=") for text in world.new[option]]
    return {what.partition(":")[0]: path for what, _, path in files} if files[0][0] else files[0][2]


def new_nodes_in_python(world: World) -> None:
    """`estimator.extend(rows, edges)`."""
    if world.foreign is not None:
        later = world.foreign.with_graph(grown(world).model.graph)
        names = [later.graph_.node_names[node] for node in range(world.truth.graph.num_nodes, later.graph_.num_nodes)]
        expected = Recomputed(later.trained_)
        ids = later.graph_.node_ids(names)
        np.testing.assert_allclose(later.predict_proba(ids), expected.probabilities(ids), **CLOSE)
        return
    found = _estimator(world).extend(_tables(world, "--new-nodes"), _tables(world, "--new-edges"))
    graph = found.graph
    names = [graph.node_names[node] for node in found.new]
    answers = found.prediction.values if graph.predicts_numbers else found.prediction.probabilities
    assert_arrived(world, dict(zip(names, answers.tolist())))


def _estimator(world: World) -> Any:
    kind = SEGNNRegressor if world.model.graph.predicts_numbers else SEGNNClassifier
    found = kind.load(world.folder, device=world.device)
    return found if world.graph is None else found.with_graph(load_graph(world.graph))


def new_nodes_over_http(world: World) -> None:
    """`POST /v1/predict` with rows of new nodes."""
    given = {}
    for name, option in (("new_nodes", "--new-nodes"), ("new_edges", "--new-edges")):
        tables = _tables(world, option)
        read = (
            {kind: _json_rows(file) for kind, file in tables.items()}
            if isinstance(tables, dict)
            else _json_rows(tables)
        )
        given[name] = read  # fmt: skip
    found = _asked(_client(world).post("/v1/predict", json=given))["predictions"]
    assert_arrived(world, {row["node"]: _rest_answer(row) for row in found})


def _rest_answer(row: Row) -> Any:
    return list(row["probabilities"].values()) if row.get("probabilities") else row["predicted"]


def _json_rows(file: str) -> list[Row]:
    rows: list[Row] = json.loads(pd.read_csv(file).to_json(orient="records"))
    return rows


# --- the service


def _client(world: World) -> Any:
    from se_gnn.apps.explorer import create_app
    from se_gnn.apps.service import Store
    from web_client import UNLIMITED, Client

    if "client" not in world.__dict__:
        on_cpu = world.device == "cpu"
        store = Store.of_folder(world.folder, world.graph) if on_cpu else Store.of_model(world.model)
        store.snapshot.prepare()
        world.__dict__["client"] = Client(create_app(store, UNLIMITED))
    return world.__dict__["client"]


def _asked(answer: Any) -> Any:
    if answer.status_code in (400, 404, 409, 422):
        raise RefusedError(answer.json()["detail"])
    assert answer.status_code == 200, answer.text
    return answer.json()


def serve(world: World) -> None:
    """`serve`: what programs ask for, and the pages."""
    client, graph = _client(world), world.truth.graph
    nodes = _some(world)
    found = _asked(client.post("/v1/predict", json={"nodes": [graph.node_names[node] for node in nodes]}))
    expected = recomputed(world)
    wanted = expected.values(nodes) if graph.predicts_numbers else expected.probabilities(nodes)
    np.testing.assert_allclose([_rest_answer(row) for row in found["predictions"]], wanted, **CLOSE)
    name = graph.node_names[nodes[0]]
    told = _asked(client.get(f"/v1/nodes/{name}/explanation"))
    assert_explained(Explanation.from_json(json.dumps(told)), expected)
    listed = _asked(client.get("/v1/nodes", params={"limit": 200}))
    assert [row["id"] for row in listed["rows"]] == listed_nodes(world.model.graph).tolist()
    assert listed["every"] == (listed["total"] == graph.num_nodes)
    for node, row in zip(nodes.tolist(), found["predictions"]):  # listed or not
        for search in (graph.node_names[node], f"#{node}"):
            rows = _asked(client.get("/v1/nodes", params={"limit": 200, "search": search}))["rows"]
            told = next(one for one in rows if one["id"] == node)
            assert told["closest"] == graph.node_id(row["nearest"][0]["node"])
    for page in ("/", "/map", "/model", "/labels", f"/nodes/{name}"):
        answer = client.get(page)
        assert (answer.status_code, name in answer.text or page != f"/nodes/{name}") == (200, True), answer.text[:500]


# --- explanations


def _some(world: World) -> np.ndarray:
    """A labeled node, one without edges, and the last ones."""
    return np.unique(world.queries[[0, 20, 33, -1]])


def assert_explained(found: Explanation, expected: Recomputed) -> None:
    """Every number of an explanation follows from the others, and the vote is the recomputed one."""
    node = found.node
    order, weights = expected.votes(node)
    np.testing.assert_allclose([vote.weight for vote in found.votes], weights, **CLOSE)
    similar = expected.overall[node, [list(expected.cases).index(vote.node) for vote in found.votes]]
    np.testing.assert_allclose([vote.similarity for vote in found.votes], similar, **CLOSE)
    np.testing.assert_allclose(similar, expected.overall[node, order], **CLOSE)  # of a tie either may be first
    if found.answer.kind == "number":
        assert found.answer.value == pytest.approx(expected.values(np.array([node]))[0], rel=1e-4)
        added = sum(vote.contribution or 0 for vote in found.votes)
        assert added == pytest.approx(found.answer.value, rel=1e-6)
        return
    np.testing.assert_allclose(found.probabilities, expected.probabilities(np.array([node]))[0], **CLOSE)
    tau = expected.model.settings.vote.temperature
    errors = largest_errors(found)
    assert max(errors.values()) <= 2e-6 / tau, errors


def explain_one(world: World) -> None:
    """`explain --node NAME --json`, and the same in words."""
    graph = world.truth.graph
    for node in _some(world).tolist():
        name = graph.node_names[node]
        told = world.on("explain", "--node", name, "--json", "-k", 9, device=True)
        found = Explanation.from_json(told)
        assert (found.node, found.nodes[node].name) == (node, name)
        assert_explained(found, recomputed(world))
    assert name in world.on("explain", "--node", name, device=True)


def explain_all(world: World) -> None:
    """`explain --out folder`: every node of the type that has an answer."""
    out = fresh(world) / "e"
    world.on("explain", "--out", out, "--set", "shard=17", "-k", 2, "--quiet", device=True)
    rows, expected = records_of(out), recomputed(world)
    assert_predicted(rows, expected, world.queries)
    for row, node in zip(rows, world.queries.tolist(), strict=True):
        np.testing.assert_allclose([one["weight"] for one in row["nearest"]], expected.votes(node)[1], **CLOSE)
        own = explain(world.truth, node)[0]
        assert [edge["id"] for edge in row["edges"]] == own.edge_ids.tolist()
        importance = [np.nan if edge["importance"] is None else edge["importance"] for edge in row["edges"]]
        np.testing.assert_allclose(importance, own.importance, atol=1e-4)


def report(world: World) -> None:
    """`report --nodes A,B --out page.html`: the page says what the explanations say."""
    graph, out, nodes = world.truth.graph, fresh(world) / "r.html", _some(world)
    names = ",".join(graph.node_names[node] for node in nodes)
    world.on("report", "--nodes", names, "--out", out, "--quiet")
    page = out.read_text(encoding="utf-8")
    articles = re.split(r'<article class="(?:case|node)"', page)[1:]
    assert len(articles) == len(nodes)
    for node, article in zip(nodes.tolist(), articles, strict=True):
        text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", article)).split())
        own = explain(world.truth, node)[0]
        assert_explained(own, recomputed(world))
        for told in (node, own.votes[0].node):
            assert own.nodes[told].caption in text
        if graph.predicts_numbers:
            assert own.answer.text(own.answer.value) in text
        else:
            assert percent(own.probabilities[own.predicted]) in text
    world.on("report", "--out", out.with_name("chosen.html"), "--quiet")


# --- labels


def label_edits(world: World) -> None:
    """`labels edit add`, `remove`, `relabel`, and back: answers as if recomputed from scratch."""
    folder, graph = world.own, world.truth.graph
    names = graph.node_names
    added, removed, changed = int(graph.test[-1]), *graph.train[[1, 3]].tolist()
    before = load_model(folder)
    if graph.predicts_numbers:
        classes: Any = ["12.5", "3"]
    else:
        classes = [graph.class_names[0], graph.class_names[(graph.labels[changed] + 1) % graph.num_classes]]
    if world.foreign is not None:  # cases vote for the answers of the network
        classes = [graph.class_names[graph.labels[node]] for node in (added, changed)]
    world.call("labels", "edit", folder, "add", f"{names[added]}={classes[0]}")
    world.call("labels", "edit", folder, "remove", names[removed])
    if world.foreign is None:
        world.call("labels", "edit", folder, "relabel", f"{names[changed]}={classes[1]}")
    train = np.setdiff1d(np.append(graph.train, added), removed)
    if graph.predicts_numbers:
        values = graph.values.copy()
        values[[added, changed]] = [12.5, 3]
        target: Any = graph.numbers.with_values(values)
    else:
        labels = graph.labels.copy()
        labels[[added, changed]] = [graph.class_names.index(one) for one in classes]
        target = graph.classes.with_labels(labels)
    test = np.setdiff1d(graph.test, added)
    edited = graph.replace(target=target, split=dataclasses.replace(graph.split, train=train, test=test))
    expected = Recomputed(Model(world.truth.encoder, edited, world.truth.settings))
    out = fresh(world) / "p.csv"
    world.call("predict", folder, "--out", out, "--quiet")
    assert_predicted(rows_of(out), expected, world.queries)
    undo = len(before.history)
    world.call("labels", "edit", folder, "restore", str(undo))
    assert "remove" in world.call("labels", "history", folder)
    world.call("predict", folder, "--out", out, "--quiet", "--overwrite")
    assert_predicted(rows_of(out), recomputed(world), world.queries)


def audit(world: World) -> None:
    """`labels audit`: what the others say of each labeled node, and what its removal changes."""
    out, graph, expected = fresh(world) / "a.jsonl", world.truth.graph, recomputed(world)
    world.on("labels audit", "--out", out, "--quiet")
    rows = {row["node"]: row for row in rows_of(out)}
    assert set(rows) == {graph.node_names[node] for node in graph.train}
    if graph.predicts_numbers:
        said = expected.values(expected.cases)
        told = [rows[graph.node_names[node]]["predicted"] for node in expected.cases]
        np.testing.assert_allclose(told, said, rtol=1e-4)
        return
    if world.foreign is not None:  # the known labels are judged, not the answers of the network
        known = world.model.encoder.outputs.labels.numpy()
        parts = {part: ids[known[ids] >= 0] for part, ids in graph.split.items()}
        told = graph.replace(target=graph.classes.with_labels(known), split=dataclasses.replace(graph.split, **parts))
        expected = Recomputed(Model(world.truth.encoder, told, world.truth.settings))
    others = graph.candidates
    before, all_of = expected.classes(others), expected.probabilities(expected.cases)
    for row_of, node in zip(all_of, expected.cases.tolist()):
        row = rows[graph.node_names[node]]
        assert row["vote_probability"] == pytest.approx(row_of.max(), abs=1e-5)
        after = expected.without(node).classes(others)
        assert row["decides"] == int(((before != after) & (others != node)).sum()), row


def retrained_audit(world: World) -> None:
    """`labels audit --retrain`: each fold of the cases is answered by a model that is trained without it."""
    out = fresh(world) / "a.jsonl"
    world.on("labels audit", "--retrain", "--out", out, "--quiet")
    rows = {row["node"]: row for row in rows_of(out)}
    trained, seed = world.truth, world.truth.facts.seed
    graph, cases = trained.graph, trained.graph.train
    labels = np.zeros(graph.num_nodes, np.int64) if graph.predicts_numbers else graph.labels
    shuffled = np.random.default_rng(seed).permutation(len(cases))
    dealt: dict[int, list[int]] = {}
    for position in shuffled.tolist():
        dealt.setdefault(labels[cases[position]], []).append(position)
    said = np.zeros((len(cases) + len(graph.validation), 1 if graph.predicts_numbers else graph.num_classes))
    folds = [sorted(position for hand in dealt.values() for position in hand[fold::5]) for fold in range(5)]
    folds = [fold for fold in folds if fold]
    for fold in folds:
        split = dataclasses.replace(graph.split, train=np.delete(cases, fold))
        rest, cpu = graph.replace(split=split), torch.device("cpu")
        run = TrainingRun(rest, trained.settings, seed=seed, device=cpu, folder=None)
        while not run.finished:
            run.step()
        run.model.load_state_dict(run.kept[0].parameters)
        expected = Recomputed(Model(run.model.eval(), run.graph, run.settings))
        if graph.predicts_numbers:
            said[fold, 0] = expected.values(cases[fold])
        else:
            said[fold] = expected.probabilities(cases[fold])
            said[len(cases) :] += expected.probabilities(graph.validation) / len(folds)
    told = [rows[graph.node_names[node]] for node in cases]
    if graph.predicts_numbers:
        np.testing.assert_allclose([row["predicted"] for row in told], said[: len(cases), 0], rtol=1e-4)
        return
    both = np.concatenate([trained.predict(part).probabilities for part in (cases, graph.validation)])
    judged = suspicion(graph, both, said, generator=np.random.default_rng(seed).spawn(2)[1])
    np.testing.assert_allclose([row["suspicion"] for row in told], judged.score, atol=1e-4)


def certify(world: World) -> None:
    """`labels certify`: the smallest removal changes the answer, and one fewer does not."""
    out, graph, expected = fresh(world) / "c.jsonl", world.truth.graph, recomputed(world)
    world.on("labels certify", "--out", out, "--quiet")
    rows = rows_of(out)
    assert [row["node"] for row in rows] == [graph.node_names[node] for node in world.queries]
    for row, node in zip(rows, world.queries.tolist()):
        one = np.array([node])
        now = expected.probabilities(one)[0]
        assert graph.class_names.index(row["class"]) in np.flatnonzero(now > now.max() - 1e-6)
        single = {int(expected.without(case).classes(one)[0]) for case in expected.cases}
        ties = np.sort(now)[-1] - np.sort(now)[-2] < 1e-5
        assert ties or (row["removal_size"] == 1) == (single != {int(now.argmax())})
        if row["removal_nodes"]:
            removed = [graph.node_id(name) for name in row["removal_nodes"]]
            after = expected.without(*removed).probabilities(one)[0]
            assert after[graph.class_names.index(row["removal_becomes"])] >= after.max() - 1e-5


def suggesting(world: World) -> None:
    """`labels suggest`: the nodes that the graph in memory gives."""
    out, graph = fresh(world) / "s.jsonl", world.truth.graph
    world.on("labels suggest", "--count", 4, "--out", out, "--quiet")
    rows = rows_of(out)
    wanted = suggest(world.truth, 4, seed=world.truth.facts.seed)
    assert [row["node"] for row in rows] == [one.name for one in wanted]
    assert {graph.node_id(row["node"]) for row in rows} <= set(graph.candidates.tolist()) - set(graph.train.tolist())


# --- training


def tune(world: World) -> None:
    """`tune`, then `train --config best.toml`: the figure of the model is that of its recomputed answers."""
    place = fresh(world)
    if world.foreign is not None:
        world.call("tune", world.data, "--out", place / "t", "--set", "sharpness=2")
    base = [text for text in world.train if not text.startswith(("portfolio", "--calibration")) and text != "0.5"]
    base = _pairs(base)
    world.call("tune", world.data, "--out", place / "t", "--trials", 1, *base, "--device", world.device, "--quiet")
    trial = rows_of(place / "t" / "trials.jsonl")
    assert len(trial) == 1
    config = ("--config", place / "t" / "best.toml")
    world.call("train", world.data, *config, "--out", place / "m", "--device", world.device, "--quiet")
    assert_figures(place / "m")


def _pairs(texts: list[str]) -> list[str]:
    """Options with their values; a name whose value was left out goes as well."""
    return [
        text for name, value in itertools.pairwise(texts) if name == "--set" and "=" in value for text in (name, value)
    ]


def assert_figures(folder: Path) -> None:
    """The validation figure that a model states is that of its recomputed answers."""
    model = load_model(folder)
    nodes, expected = model.graph.validation, Recomputed(model)
    if model.graph.predicts_numbers:
        truth, found = model.graph.values[nodes], expected.values(nodes)
        r2 = 1 - ((truth - found) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
        assert model.facts.validation["r2"] == pytest.approx(r2, abs=1e-4)
        return
    right = float((expected.classes(nodes) == model.graph.labels[nodes]).mean())
    assert model.facts.validation["accuracy"] == pytest.approx(right, abs=1e-6)


def resume(world: World) -> None:
    """`train --resume` after an interruption: the bytes of a training that was not interrupted."""
    place = fresh(world)
    if world.foreign is not None:
        world.call("train", world.data, "--out", place / "m", "--preset", "cases", "--resume")
    given = [*(text.replace("epochs=1", "epochs=3") for text in world.train), "--device", world.device, "--quiet"]
    world.call("train", world.data, "--out", place / "whole", *given)
    with pytest.MonkeyPatch.context() as patch:
        real = trainer.TrainingRun.step

        def stop_after_two(run: Any) -> Any:
            if run.epoch == 2:
                raise KeyboardInterrupt
            return real(run)

        patch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        patch.setattr(trainer.TrainingRun, "step", stop_after_two)
        assert world.run("train", world.data, "--out", place / "m", *given).exit_code == 130
    world.call("train", world.data, "--out", place / "m", "--resume", *given)
    assert (place / "m" / "model.safetensors").read_bytes() == (place / "whole" / "model.safetensors").read_bytes()
    assert_figures(place / "m")


def on_another_graph(world: World) -> None:
    """`predict --graph other`: the labeled nodes of the other graph vote."""
    place = fresh(world)
    folder = world.another(place / "other")
    world.call(
        "predict", world.folder, "--graph", folder, "--out", place / "p.csv", "--quiet", "--device", world.device
    )
    graph = load_graph(folder)
    expected = Recomputed(Model(world.truth.encoder, in_memory(graph), world.truth.settings))
    assert_predicted(rows_of(place / "p.csv"), expected, graph.candidates)


# --- links: a pair of nodes is asked for


def _pairs_of(world: World) -> Path:
    file = fresh(world) / "pairs.csv"
    file.write_text("source,target\nn1,n5\nn20,#33\n", encoding="utf-8")
    return file


def _asked_pairs(world: World, out: str = "p.csv", *options: Any) -> Path:
    place = fresh(world) / out
    world.on("predict", "--pairs", _pairs_of(world), "--out", place, "--quiet", *options)
    return place


def _chance(told: dict[str, Any]) -> float:
    """The probability that the terms of an explanation add up to."""
    terms = told["base"] + told["direct"] + sum(vote["contribution"] for vote in told["votes"])
    assert terms == pytest.approx(told["log_odds"], abs=1e-5)
    return 1 / (1 + math.exp(-terms))


def predict_pairs(world: World) -> None:
    """`predict --pairs`: the terms of the explanation add up to the probability."""
    rows = rows_of(_asked_pairs(world))
    for row, pair in zip(rows, ("n1,n5", "n20,n33"), strict=True):
        told = json.loads(world.on("explain", "--pair", pair, "--json"))
        assert float(row["probability"]) == pytest.approx(_chance(told), abs=1e-5)


def explain_pair(world: World) -> None:
    """`explain --pair A,B`, in words and as JSON."""
    told = json.loads(world.on("explain", "--pair", "n1,n5", "--json"))
    assert _chance(told) == pytest.approx(told["probability"], abs=1e-5)
    for vote in told["votes"]:
        without = 1 / (1 + math.exp(vote["contribution"] - told["log_odds"]))
        assert abs(vote["without"] - without) < 0.5  # another neighbor may take its place
    assert "n1" in world.on("explain", "--pair", "n1,n5")


def report_pair(world: World) -> None:
    """`report --pair A,B`."""
    out = fresh(world) / "r.html"
    world.on("report", "--pair", "n1,n5", "--out", out, "--quiet")
    told = json.loads(world.on("explain", "--pair", "n1,n5", "--json"))
    assert percent(_chance(told)) in html.unescape(out.read_text(encoding="utf-8"))


def _links_in_python(world: World) -> None:
    SEGNNClassifier.load(world.folder).extend(_tables(world, "--new-nodes"))


def _links_served(world: World) -> None:
    client = _client(world)
    told = _asked(client.get("/v1/pairs/explanation", params={"source": "n1", "target": "n5"}))
    assert told["probability"] == pytest.approx(_chance(json.loads(world.on("explain", "--pair", "n1,n5", "--json"))))
    assert client.get("/").status_code == 200


def _new_links_over_http(world: World) -> None:
    _asked(_client(world).post("/v1/predict", json={"new_nodes": _json_rows(world.new["--new-nodes"][0])}))


def _new_pairs(world: World) -> None:
    _asked_pairs(world, "p.csv", "--new-nodes", world.new["--new-nodes"][0])


def _of_labels(*command: str) -> Callable[[World], None]:
    def check(world: World) -> None:
        world.call("labels", command[0], world.folder, *command[1:])

    return check


LINK_CHECKS: dict[str, Callable[[World], None]] = {
    "predict to a file": predict_pairs,
    "predict to shards": lambda world: _asked_pairs(world, "p") and None,
    "torchrun": lambda world: _asked_pairs(world, "p") and None,
    "prediction sets": lambda world: _asked_pairs(world, "p.csv", "--coverage", 0.9) and None,
    "abstain": lambda world: _asked_pairs(world, "p.csv", "--abstain") and None,
    "new nodes, command line": _new_pairs,
    "new nodes, Python": _links_in_python,
    "new nodes, HTTP": _new_links_over_http,
    "explain one node": explain_pair,
    "explain all nodes": lambda world: world.on("explain", "--out", fresh(world) / "e") and None,
    "report": report_pair,
    "serve": _links_served,
    "edit labels": _of_labels("edit", "add", "n1=red"),
    "audit": _of_labels("audit"),
    "audit, trained again": _of_labels("audit", "--retrain"),
    "certify": _of_labels("certify"),
    "suggest": _of_labels("suggest"),
    "tune": lambda world: world.call("tune", world.data, "--task", "links", "--out", fresh(world) / "t") and None,
    "resume": lambda world: world.call("train", world.data, *world.train, "--resume", "--out", fresh(world)) and None,
    "another graph": lambda world: _asked_pairs(world, "p.csv", "--graph", world.data) and None,
}

CHECKS: dict[str, Callable[[World], None]] = {
    "predict to a file": predict_to_a_file,
    "predict to shards": predict_to_shards,
    "torchrun": under_torchrun,
    "prediction sets": prediction_sets,
    "abstain": abstaining,
    "new nodes, command line": new_nodes_on_the_command_line,
    "new nodes, Python": new_nodes_in_python,
    "new nodes, HTTP": new_nodes_over_http,
    "explain one node": explain_one,
    "explain all nodes": explain_all,
    "report": report,
    "serve": serve,
    "edit labels": label_edits,
    "audit": audit,
    "audit, trained again": retrained_audit,
    "certify": certify,
    "suggest": suggesting,
    "tune": tune,
    "resume": resume,
    "another graph": on_another_graph,
}
