import json

from se_gnn.display.text import printable_name
from se_gnn.explain import explain
from se_gnn.graph import RawTable
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.model.folder import load_model
from strategies import changed


def test_the_sentence_comes_first_and_everything_fits_80_columns(run, model):
    result = run("explain", model, "--node", "node 14")
    assert result.exit_code == 0, result.output
    sentence = explain(load_model(model), 14)[0].sentence()
    assert " ".join(result.stdout.split()).startswith(sentence)
    for text in ("case", "similarity", "= node", "+ structure", "The nearest case is", "matter most"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_is_the_explanation_and_nothing_else(run, model):
    result = run("explain", model, "--node", "node 14", "--k", "2", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == explain(load_model(model), 14, k=2, attributes=True)[0].to_dict()


def test_k_limits_the_neighbors_shown_and_says_what_the_others_add(run, model):
    shown = run("explain", model, "--node", "node 14", "--k", "1").stdout
    assert "The 1 nearest of 3 cases that vote" in shown
    assert "Those not shown add" in shown
    assert "Those not shown add" not in run("explain", model, "--node", "node 14", "--k", "50").stdout


def test_a_node_without_edges_is_explained_by_its_attributes_alone(run, model):
    result = run("explain", model, "--node", "alone, far away")
    assert result.exit_code == 0, result.output
    assert "compared by its own attributes alone" in " ".join(result.stdout.split())
    assert "matter most" not in result.stdout


def test_a_labeled_node_is_explained_by_the_others(run, model):
    result = run("explain", model, "--node", "node 0")
    assert result.exit_code == 0, result.output
    assert "its own label was left out" in " ".join(result.stdout.split())


def test_unknown_node_is_named_with_a_near_one(run, model):
    result = run("explain", model, "--node", "node 1x")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: unknown node 'node 1x' (did you mean 'node 1")
    assert "the graph has 24 nodes" in result.stderr


def test_k_below_one_is_refused(run, model):
    result = run("explain", model, "--node", "node 14", "--k", "0")
    assert result.exit_code == 2
    assert "Invalid value for '--k'" in result.stderr


def test_attributes_with_names_are_shown_with_what_they_add_to_the_similarity(run, toy, tmp_path):
    names = ("age", "a name of more than forty characters, which is long", "<b>income</b>")
    nodes = tuple(f"a node of a rather long name, number {i}" for i in range(24))
    save_graph(changed(load_graph(toy), feature_names=names, node_names=nodes), tmp_path / "named")
    quick = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")
    run("train", tmp_path / "named", "--out", tmp_path / "model", "--device", "cpu", "--quiet", *quick)
    result = run("explain", tmp_path / "model", "--node", nodes[14])
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    closest = explain(load_model(tmp_path / "model"), 14, attributes=True)[0].votes[0].attributes
    assert closest.attributes, "the toy's classes have values that are close"
    rows = [line for line in result.stdout.splitlines() if line.endswith(f" {closest.attributes[0].effect:.3f}")]
    assert rows
    assert closest.attributes[0].value in rows[0]
    assert "makes it similar to" in result.stdout


def test_the_rows_of_both_nodes_stand_side_by_side_with_what_agrees_first(run, toy, tmp_path):
    graph = load_graph(toy)
    cells = {
        "city": [f"city {i % 3}" for i in range(24)],
        "plan": ["basic"] * 24,
        "note": [
            None if i == 14 else f"text of node {i} that goes on for much longer than a column" for i in range(24)
        ],
        **{f"more {j}": ["x"] * 24 for j in range(12)},
    }
    captions = tuple(f"Person {i}" if i else "" for i in range(24))
    save_graph(changed(graph, raw=RawTable.from_columns(cells), captions=captions), tmp_path / "raw")
    quick = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")
    run("train", tmp_path / "raw", "--out", tmp_path / "model", "--device", "cpu", "--quiet", *quick)
    result = run("explain", tmp_path / "model", "--node", "node 14")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Node Person 14 is predicted")
    closest = explain(load_model(tmp_path / "model"), 14)[0].votes[0]
    agree = 13 + (closest.node % 3 == 14 % 3)
    text = " ".join(result.stdout.split())
    other = captions[closest.node] or "node 0"
    assert f"The rows of Person 14 and {other}, the most similar case: {agree} of 15 values equal" in text
    assert "and 3 more columns" in text
    header = next(i for i, line in enumerate(lines) if line.split()[:1] == ["column"])
    marked = [line.startswith("=") for line in lines[header + 2 :][:12]]
    assert marked == sorted(marked, reverse=True)
    assert len(result.stdout.split("The edges that matter most")[1].splitlines()) == 1 + 2 + 5


def test_control_characters_of_names_do_not_reach_the_terminal(run, toy, tmp_path):
    graph = load_graph(toy)
    names = tuple(f"a\x1b[31m{i}\nb" for i in range(24))
    save_graph(changed(graph, node_names=names), tmp_path / "hostile")
    quick = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")
    run("train", tmp_path / "hostile", "--out", tmp_path / "model", "--device", "cpu", "--quiet", *quick)
    result = run("explain", tmp_path / "model", "--node", names[14])
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
    assert printable_name(names[14]) in result.stdout


def test_both_ends_of_an_edge_are_shown_however_long_their_names_are(run, toy, tmp_path):
    names = tuple(f"a node of a rather long name, more than forty letters, number {i}" for i in range(24))
    save_graph(changed(load_graph(toy), node_names=names), tmp_path / "long")
    quick = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")
    run("train", tmp_path / "long", "--out", tmp_path / "model", "--device", "cpu", "--quiet", *quick)
    result = run("explain", tmp_path / "model", "--node", names[14])
    explanation = explain(load_model(tmp_path / "model"), 14)[0]
    lines = result.stdout.split("The edges that matter most")[1].splitlines()[3:]
    ends = explanation.crucial_subgraph().edges.tolist()
    assert len(lines) == len(ends) > 0
    for line, (start, end) in zip(lines, ends):
        first, second = line.split(" – ")
        assert first.endswith(f"number {start}")
        assert f"number {end} " in second
