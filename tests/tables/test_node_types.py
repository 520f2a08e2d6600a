"""One node table per kind, one edge table per type: what becomes of them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from se_gnn.apps.cli import app
from se_gnn.display.values import node_values
from se_gnn.errors import InputError
from se_gnn.graph.extend import extended_graph
from se_gnn.graph.storage import load_graph
from se_gnn.tables import EdgeTable, ImportSettings, read_new_nodes, read_tables
from strategies import assert_same

PAPERS = "id,year,venue,topic\n" + "".join(
    f"p{i},{1990 + 3 * i},{['KDD', 'ICML'][i % 2]},{['db', 'ml', ''][i % 3]}\n" for i in range(9)
)
AUTHORS = "id,country,papers\na0,DE,4\na1,FR,2\na2,DE,9\n"
SUBJECTS = "id\ns0\ns1\n"
WRITES = "source,target,position,day\n" + "".join(f"a{i % 3},p{i},{1 + i % 2},2020-01-0{i + 1}\n" for i in range(9))
ABOUT = "source,target\n" + "".join(f"p{i},s{i % 2}\n" for i in range(9))


@pytest.fixture
def load(tmp_path):
    def call(*, kinds=None, strict=False, like=None, **changes):
        texts = {"papers": PAPERS, "authors": AUTHORS, "subjects": SUBJECTS, "writes": WRITES, "about": ABOUT}
        options = {key: changes.pop(key) for key in list(changes) if key not in texts}
        texts |= changes
        for name, text in texts.items():
            (tmp_path / f"{name}.csv").write_text(text)
        nodes = {kind: tmp_path / f"{kind}s.csv" for kind in ("paper", "author", "subject")}
        edges = [
            EdgeTable(type=name, table=tmp_path / f"{name}.csv", joins=(kinds or {}).get(name))
            for name in ("writes", "about")
        ]
        return read_tables(nodes, edges, ImportSettings(id="id", label="topic", **options), strict=strict, like=like)

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
        "author", "author: country", "author: papers", "author: name", "subject", "subject: name"
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
    assert "types     paper: 9, author: 3, subject: 2" in str(imported.summary)
    assert "writes: 9, about: 9" in str(imported.summary)


def test_a_node_shows_the_columns_of_its_kind(load):
    graph = load().graph
    assert node_values(graph, graph.node_id("a1")) == {
        "author: country": "FR",
        "author: papers": "2",
        "author: name": "a1",
    }
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
            r"writes.csv, column 'source', row 2 .*'s1' is a node of type sub",
        ),
        (
            {"writes": WRITES.replace("a1,p1", "a9,p1")},
            r"1 of 9 edges refers .*\n.*row 2, column 'source': 'a9', which is no author",
        ),
        (
            {"writes": WRITES.replace("2020-01-02", "soon"), "edge_time": "day"},
            r"column 'day', row 2 .*'soon' is not a d",
        ),
        ({"edge_weight": "position", "writes": WRITES.replace("p1,2", "p1,-2")}, r"column 'position', row 2 .*got -2"),
        (
            {"authors": AUTHORS.replace("country", "topic")},
            "is in the tables of paper and author, but one type is labeled",
        ),
        ({"papers": PAPERS.replace("topic", "subject")}, "no node table has the label column 'topic'"),
        ({"edge_weight": "worth"}, "no edge table has a column 'worth'"),
        ({"edge_type": "what"}, "where each edge type has a table of its own, its name is the type"),
        (
            {"kinds": {"writes": ("author", "book")}},
            "no table has nodes of type 'book'; types are paper, author, subject",
        ),
        ({"caption": "title"}, "no node table has a column 'title'"),
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
        (["--nodes=a=a.csv", "--edges=e.csv", "--id=id"], "name the type of each edge table"),
        (["--nodes=a=a.csv", "--edges=w:a-b-c=e.csv", "--id=id"], "writes:author-paper=FILE"),
        (["--nodes=a=a.csv", "--nodes=a=b.csv", "--edges=e=e.csv", "--id=id"], "given twice"),
        (["--nodes=a=a.csv", "--edges=e=e.csv", "--id=b=id"], "--id must look like a=COLUMN"),
        (["--nodes=a.csv", "--edges=e.csv", "--edges=f.csv", "--id=id"], "--edges must look like writes=FILE"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message, tmp_path):
    result = CliRunner().invoke(app, ["import", *arguments, "--label=topic", f"--out={tmp_path / 'graph'}"])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def dense(graph):
    return graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()


def test_later_tables_are_encoded_like_the_first(load, tmp_path):
    first = load(directed=True, edge_time="day").graph
    again = load(directed=True, edge_time="day", like=first).graph
    assert again.columns == first.columns
    assert np.array_equal(dense(again), dense(first))
    assert np.array_equal(again.edges.ends, first.edges.ends)
    assert_same(again.edge_values, first.edge_values)
    assert np.array_equal(again.train, first.train)


@pytest.mark.parametrize("repeated", [False, True], ids=["ids", "repeated-ids"])
def test_new_nodes_of_several_types_join_as_if_they_had_been_there(load, tmp_path, repeated):
    def text(table):
        return table.replace("a0", "p0").replace("a1", "p1").replace("a2", "p2") if repeated else table

    joins = {"writes": ("author", "paper"), "about": ("paper", "subject")}
    graph = load(authors=text(AUTHORS), writes=text(WRITES), kinds=joins, directed=True).graph
    new = {"paper": "id,year,venue,topic\np9,2020,KDD,db\n", "author": text("id,country,papers\n") + "a9,FR,\n"}
    links = {
        "writes": f"source,target,position,day\na9,p9,1,2020-02-01\n{text('a0')},p9,2,\n",
        "about": "source,target\np9,s1\n",
    }
    for name, content in (new | links).items():
        (tmp_path / f"new-{name}.csv").write_text(content)
    edges = [EdgeTable(type=name, table=tmp_path / f"new-{name}.csv", joins=joins[name]) for name in links]
    given = read_new_nodes(graph, {name: tmp_path / f"new-{name}.csv" for name in new}, edges)
    larger = extended_graph(graph, given)
    assert larger.node_names[-2:] == (("paper p9", "author a9") if repeated else ("p9", "a9"))
    assert larger.node_types[-2:].tolist() == [0, 1]
    everything = load(
        papers=PAPERS + "p9,2020,KDD,\n", authors=text(AUTHORS) + "a9,FR,\n", kinds=joins, directed=True, like=graph,
        writes=text(WRITES) + links["writes"].partition("\n")[2], about=ABOUT + "p9,s1\n",
    ).graph  # fmt: skip
    order = [everything.node_names.index(name) for name in larger.node_names]
    assert np.array_equal(dense(larger), dense(everything)[order])
    assert larger.num_edges == everything.num_edges
    assert node_values(larger, larger.num_nodes - 2)["paper: year"] == "2020"
    with pytest.raises(InputError, match="say of which type new nodes are, as paper=FILE"):
        read_new_nodes(graph, tmp_path / "new-paper.csv")
    with pytest.raises(InputError, match="say of which type new edges are, as writes=FILE"):
        read_new_nodes(graph, {"paper": tmp_path / "new-paper.csv"}, tmp_path / "new-about.csv")
