"""One node table per kind, one edge table per type: what becomes of them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from se_gnn.apps.cli import app
from se_gnn.datasets.tables import EdgesOfType, ImportSettings, import_kinds
from se_gnn.display import node_values
from se_gnn.errors import InputError
from se_gnn.graph.storage import load_graph

PAPERS = "id,year,venue,topic\n" + "".join(
    f"p{i},{1990 + 3 * i},{['KDD', 'ICML'][i % 2]},{['db', 'ml', ''][i % 3]}\n" for i in range(9)
)
AUTHORS = "id,country,papers\na0,DE,4\na1,FR,2\na2,DE,9\n"
SUBJECTS = "id\ns0\ns1\n"
WRITES = "source,target,position,day\n" + "".join(f"a{i % 3},p{i},{1 + i % 2},2020-01-0{i + 1}\n" for i in range(9))
ABOUT = "source,target\n" + "".join(f"p{i},s{i % 2}\n" for i in range(9))


@pytest.fixture
def load(tmp_path):
    def call(*, kinds=None, strict=False, **changes):
        texts = {"papers": PAPERS, "authors": AUTHORS, "subjects": SUBJECTS, "writes": WRITES, "about": ABOUT}
        options = {key: changes.pop(key) for key in list(changes) if key not in texts}
        texts |= changes
        for name, text in texts.items():
            (tmp_path / f"{name}.csv").write_text(text)
        nodes = {kind: tmp_path / f"{kind}s.csv" for kind in ("paper", "author", "subject")}
        edges = [
            EdgesOfType(type=name, table=tmp_path / f"{name}.csv", kinds=(kinds or {}).get(name))
            for name in ("writes", "about")
        ]
        return import_kinds(nodes, edges, ImportSettings(id="id", label="topic", **options), strict=strict)

    return call


def test_tables_of_several_kinds_become_one_graph(load):
    imported = load()
    graph, values = imported.graph, imported.graph.edge_values
    assert graph.node_type_names == ("paper", "author", "subject")
    assert np.bincount(graph.node_types).tolist() == [9, 3, 2]
    assert (graph.labels[9:] == -1).all()  # papers are labeled
    assert graph.class_names == ("db", "ml")
    assert values.type_names == ("writes", "about")
    assert np.bincount(values.type).tolist() == [9, 9]
    assert [column.name for column in graph.columns] == [
        "paper", "paper: year", "paper: venue",
        "author", "author: country", "author: papers", "subject", "subject: name"
    ]  # fmt: skip
    dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    marks = [column.first for column in graph.columns if ":" not in column.name]
    assert np.array_equal(dense[:, marks] > 0, np.eye(3, dtype=bool)[graph.node_types])
    for kind in range(3):  # a mark is as large as the attributes of its kind are long
        block = np.delete(dense[graph.node_types == kind], marks, axis=1)
        length = np.sqrt(np.square(block, dtype="f8").sum() / len(block))
        assert np.allclose(dense[graph.node_types == kind, marks[kind]], length)
    assert not dense[9:, : marks[1]].any()  # zeros where a node is of another kind
    assert [column.name for column in values.columns] == ["writes: position", "writes: day"]
    assert not values.attributes[values.type == 1].any()
    assert "kinds     paper: 9, author: 3, subject: 2" in str(imported.summary)
    assert "writes: 9, about: 9" in str(imported.summary)


def test_a_node_shows_the_columns_of_its_kind(load):
    graph = load().graph
    assert node_values(graph, graph.node_id("a1")) == {"author: country": "FR", "author: papers": "2"}
    assert node_values(graph, graph.node_id("s0")) == {"subject: name": "s0"}


def test_direction_and_time_are_kept_for_the_types_that_have_them(load):
    graph = load(directed=True, edge_time="day", until="2020-01-04").graph
    values = graph.edge_values
    assert np.bincount(values.type).tolist() == [4, 9]
    kinds = np.array(graph.node_type_names)[graph.node_types]
    start = np.where(values.direction == 1, graph.edges.ends[:, 0], graph.edges.ends[:, 1])
    assert {(kinds[u], values.type_names[k]) for u, k in zip(start, values.type)} == {
        ("author", "writes"),
        ("paper", "about"),
    }


def test_ids_that_two_kinds_share_need_a_declaration(load):
    same = {"authors": "id,country,papers\np0,DE,4\np1,FR,2\np2,DE,9\n"}
    writes = WRITES.replace("a0", "p0").replace("a1", "p1").replace("a2", "p2")
    with pytest.raises(InputError, match=r"writes.csv, column 'source' holds ids of paper and of author; declare"):
        load(**same, writes=writes)
    graph = load(**same, writes=writes, kinds={"writes": ("author", "paper")}).graph
    assert graph.node_names[9] == "author p0"
    joined = graph.edges.ends[graph.edge_values.type == 0]
    assert set(graph.node_types[joined].sum(axis=1).tolist()) == {1}  # a paper and an author


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"writes": WRITES.replace("a1,p1", "s1,p1")},
            r"writes.csv, column 'source', row 2 .*'s1' is a node of kind sub",
        ),
        ({"writes": WRITES.replace("a1,p1", "a9,p1")}, r"writes.csv, column 'source', row 2 .*there is no author 'a9'"),
        (
            {"writes": WRITES.replace("2020-01-02", "soon"), "edge_time": "day"},
            r"column 'day', row 2 .*'soon' is not a d",
        ),
        ({"edge_weight": "position", "writes": WRITES.replace("p1,2", "p1,-2")}, r"column 'position', row 2 .*got -2"),
        (
            {"authors": AUTHORS.replace("country", "topic")},
            "is in the tables of paper and author, but one kind is labeled",
        ),
        ({"papers": PAPERS.replace("topic", "subject")}, "no node table has the label column 'topic'"),
        ({"edge_weight": "worth"}, "no edge table has a column 'worth'"),
        ({"edge_type": "what"}, "each type of edge has a table of its own"),
        (
            {"kinds": {"writes": ("author", "book")}},
            "there are no nodes of kind 'book'; kinds are paper, author, subject",
        ),
        ({"caption": "title"}, "no node table has the caption column 'title'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(load, changes, message):
    with pytest.raises(InputError, match=message):
        load(**changes)


def test_edges_that_name_no_node_can_be_left_out(load):
    imported = load(writes=WRITES.replace("a1,p1", "a9,p1"), drop_dangling=True)
    assert imported.summary.edges_dangling == 1
    assert imported.graph.num_edges == 17


def test_kinds_on_the_command_line(load, tmp_path):
    load()
    run = CliRunner()
    nodes = [f"--nodes={kind}={tmp_path / f'{kind}s.csv'}" for kind in ("paper", "author", "subject")]
    edges = [f"--edges=writes:author-paper={tmp_path / 'writes.csv'}", f"--edges=about={tmp_path / 'about.csv'}"]
    out = tmp_path / "graph"
    result = run.invoke(app, ["import", *nodes, *edges, "--id=id", "--label=topic", f"--out={out}"])
    assert result.exit_code == 0, result.output
    assert load_graph(out).node_type_names == ("paper", "author", "subject")
    again = run.invoke(app, ["import", *nodes, *edges, "--id=id", "--label=topic", f"--out={out}", "--overwrite"])
    assert again.exit_code == 0, again.output
    columns = "--id=paper=id,author=id,subject=id"
    named = run.invoke(app, ["import", *nodes, *edges, columns, "--label=topic", f"--out={tmp_path / 'other'}"])
    assert named.exit_code == 0, named.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes=a.csv", "--nodes=b.csv", "--edges=e.csv", "--id=id"], "--nodes must look like paper=FILE"),
        (["--nodes=a=a.csv", "--edges=e.csv", "--id=id"], "--edges must look like writes=FILE"),
        (["--nodes=a=a.csv", "--edges=w:a-b-c=e.csv", "--id=id"], "writes:author-paper=FILE"),
        (["--nodes=a=a.csv", "--nodes=a=b.csv", "--edges=e=e.csv", "--id=id"], "given twice"),
        (["--nodes=a=a.csv", "--edges=e=e.csv", "--id=b=id"], "--id must look like a=COLUMN"),
        (["--nodes=a.csv", "--edges=e.csv", "--edges=f.csv", "--id=id"], "--edges is given 2 times"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message, tmp_path):
    result = CliRunner().invoke(app, ["import", *arguments, "--label=topic", f"--out={tmp_path / 'graph'}"])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
