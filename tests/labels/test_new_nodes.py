import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from labels.conftest import block_graph, block_model
from se_gnn import SEGNNClassifier
from se_gnn.errors import InputError
from se_gnn.labels.extension import extend, new_nodes_from_arrays
from se_gnn.tables import ImportSettings, read_new_nodes, read_tables
from strategies import small_settings, untrained

SETTINGS = ImportSettings(id="id", label="class", caption="city", keep=["city"])


def tables(*, attributes: bool = True, seed: int = 0):
    generator = np.random.default_rng(seed)
    number = 60
    classes = generator.integers(2, size=number)
    nodes = pd.DataFrame({"id": [f"n{i}" for i in range(number)], "class": np.array(["no", "yes"])[classes]})
    if attributes:
        nodes["amount"] = classes + generator.normal(size=number).round(3)
        nodes["city"] = generator.choice(["Rome", "Oslo", "Lima"], size=number)
        nodes["note"] = generator.choice(["paid late", "refund asked", "paid early", None], size=number)
        nodes["bank"] = "the same"
    nodes.loc[50:, "class"] = None
    ends = generator.integers(number, size=(150, 2))
    edges = pd.DataFrame({"source": [f"n{i}" for i in ends[:, 0]], "target": [f"n{i}" for i in ends[:, 1]]})
    return nodes, edges


def parted(nodes, edges):
    """The last ten rows arrive later, with their edges."""
    late = set(nodes.id[50:])
    new = edges.source.isin(late) | edges.target.isin(late)
    return nodes[:50], edges[~new], nodes[50:], edges[new]


@pytest.fixture(scope="module")
def parts():
    return parted(*tables())


@pytest.fixture(scope="module")
def trained(parts):
    graph = read_tables(parts[0], parts[1], SETTINGS).graph
    return untrained(graph, small_settings())


@pytest.fixture(scope="module")
def new(parts, trained):
    return read_new_nodes(trained.graph, parts[2], parts[3], caption="city", ignore=["class"])


@pytest.fixture(scope="module")
def at_once(parts, trained):
    everything = pd.concat([parts[0], parts[2]]), pd.concat([parts[1], parts[3]])
    return trained.with_graph(read_tables(*everything, SETTINGS, like=trained.graph).graph)


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def assert_same_graph(one, other):
    assert np.array_equal(one.edges.ends, other.edges.ends)
    assert np.array_equal(dense(one.features), dense(other.features))
    assert one.node_names == other.node_names
    assert one.captions == other.captions
    for part in ("labels", "train", "validation", "test", "calibration"):
        assert np.array_equal(getattr(one, part), getattr(other, part)), part


def test_new_nodes_get_the_answer_of_importing_everything_at_once_bit_by_bit(trained, new, at_once):
    extension = extend(trained, new)
    assert_same_graph(extension.graph, at_once.graph)
    whole = at_once.predict()
    rows = extension.new
    assert rows.tolist() == list(range(50, 60))
    for field in ("probabilities", "cases", "weights", "overall"):
        assert np.array_equal(getattr(extension.prediction, field), getattr(whole, field)[rows]), field
    assert np.array_equal(extension.trained.predict().probabilities, whole.probabilities)


def test_known_nodes_whose_class_changes_are_listed_and_no_others(trained, new):
    extension = extend(trained, new)
    before, after = trained.predict(), extension.trained.predict(np.arange(50))
    differ = {node for node in range(50) if before.classes[node] != after.classes[node]} - set(trained.graph.train)
    assert {one.node for one in extension.changed} == differ
    for one in extension.changed:
        assert one.was != one.becomes
        assert one.probability == pytest.approx(float(after.probabilities[one.node].max()), abs=1e-6)


def test_a_table_without_attributes_has_the_features_of_all_nodes_computed_again():
    nodes, edges, late, late_edges = parted(*tables(attributes=False))
    settings = ImportSettings(id="id", label="class")
    graph = read_tables(nodes, edges, settings).graph
    trained = untrained(graph, small_settings())
    extension = extend(trained, read_new_nodes(graph, late, late_edges, ignore=["class"]))
    everything = pd.concat([nodes, late]), pd.concat([edges, late_edges])
    assert_same_graph(extension.graph, read_tables(*everything, settings, like=graph).graph)


def test_rows_as_given_are_kept_for_new_nodes_and_known_ones(trained, new, parts):
    graph = extend(trained, new).graph
    assert graph.raw.row(0) == trained.graph.raw.row(0)
    assert graph.raw.row(50)["city"] == parts[2].iloc[0].city


def test_a_new_node_can_be_explained_with_its_own_local_graph(trained, new, at_once):
    classifier = SEGNNClassifier()
    classifier._take(trained)
    later = classifier.with_graph(extend(trained, new).graph)
    explanation = later.explain("n55")
    assert explanation.to_json() == classifier.with_graph(at_once.graph).explain("n55").to_json()


def test_a_column_that_the_encoding_does_not_need_may_be_missing(trained, parts):
    without = parts[2].drop(columns=["bank", "class"])
    assert read_new_nodes(trained.graph, without).raw.row(0)["bank"] is None


def test_a_column_that_the_encoding_needs_is_missed(trained, parts):
    with pytest.raises(InputError, match="has no column 'amount'"):
        read_new_nodes(trained.graph, parts[2].drop(columns=["amount", "class"]))


def test_an_unknown_column_is_an_error_that_names_a_close_one(trained, parts):
    with pytest.raises(InputError, match=r"did not have: 'amonut' \(did you mean 'amount'"):
        read_new_nodes(trained.graph, parts[2].assign(amonut=1))


def test_an_error_names_the_remedy_of_where_the_rows_come_from(trained, parts, tmp_path):
    more = parts[2].assign(extra=1)
    with pytest.raises(InputError, match=r"leave it out of the rows, or in Python: ignore=\['extra'\]$"):
        read_new_nodes(trained.graph, more)
    assert read_new_nodes(trained.graph, more, ignore=["extra"]).names == tuple(more["id"])
    more.to_csv(tmp_path / "more.csv", index=False)
    with pytest.raises(InputError, match=r"leave it out: --column extra=ignore$"):
        read_new_nodes(trained.graph, tmp_path / "more.csv")


def test_columns_of_the_import_are_remembered(parts, trained, new):
    renamed = {"id": "account", "class": "state", "source": "payer", "target": "payee"}
    nodes, edges, more, links = (table.rename(columns=renamed) for table in parts)
    settings = {"id": "account", "label": "state", "source": "payer", "target": "payee", "caption": "city"}
    graph = read_tables(nodes, edges, **settings, keep=["city"]).graph
    again = read_new_nodes(graph, more, links)
    assert again.captions == new.captions
    assert again.names == new.names
    assert np.array_equal(again.pairs, new.pairs)
    assert np.array_equal(dense(again.features), dense(new.features))
    assert any("'state' of new nodes is the label of known nodes" in note for note in again.notes)


def test_a_category_that_the_model_has_not_seen_is_a_note(trained, parts):
    rows = parts[2].drop(columns="class").assign(city="Atlantis")
    assert any("'city': 10 rows of unknown categories" in note for note in read_new_nodes(trained.graph, rows).notes)


def test_a_value_that_is_no_number_names_the_row(trained, parts):
    rows = parts[2].drop(columns="class").astype({"amount": object})
    rows = rows.assign(amount=[str(value) for value in rows.amount])
    rows.loc[rows.index[3], "amount"] = "a lot"
    with pytest.raises(InputError, match="column 'amount', row 4"):
        read_new_nodes(trained.graph, rows)


def test_an_edge_to_a_node_that_does_not_exist_names_the_row(trained, parts):
    edges = pd.DataFrame({"source": ["n55", "n51"], "target": ["n1", "nobody"]})
    with pytest.raises(InputError, match="row 2, column 'target': 'nobody'") as error:
        read_new_nodes(trained.graph, parts[2], edges, ignore=["class"])
    assert "drop_dangling" not in str(error.value)


def test_a_new_node_with_the_name_of_a_known_one_is_refused(trained, parts):
    rows = parts[2].assign(id=["n3", *parts[2].id[1:]])
    with pytest.raises(InputError, match=r"column 'id', row 1.*'n3' is in .* already"):
        read_new_nodes(trained.graph, rows, ignore=["class"])


def test_new_nodes_of_a_graph_that_was_not_imported_come_as_arrays():
    graph = block_graph(60 + 200)
    with pytest.raises(InputError, match="features of new nodes as an array"):
        read_new_nodes(graph, pd.DataFrame({"id": ["a"]}))


@pytest.fixture(scope="module")
def blocks():
    return block_model(block_graph())


def test_arrays_of_new_nodes_take_edges_by_name_and_by_position(blocks):
    features = np.eye(3, dtype=np.float32)[:2]
    positions = new_nodes_from_arrays(blocks.graph, features, [[400, 3], [401, 400]], ["a", "b"])
    names = new_nodes_from_arrays(blocks.graph, features, [["a", "n3"], ["b", "a"]], ["a", "b"])
    assert np.array_equal(positions.pairs, names.pairs)
    extension = extend(blocks, names)
    assert extension.graph.node_names[400:] == ("a", "b")
    assert extension.graph.degrees[400] == 2


def test_new_nodes_without_edges_change_nobody(blocks):
    extension = extend(blocks, new_nodes_from_arrays(blocks.graph, np.ones((3, 3), np.float32)))
    assert not extension.changed
    assert extension.graph.node_names[400:] == ("new 0", "new 1", "new 2")


@pytest.mark.parametrize(
    ("features", "edges", "names", "text"),
    [
        (np.ones((2, 4)), None, None, "must have 3 features each"),
        (np.ones((2, 3)), None, ["one"], "one entry per new node"),
        (np.ones((1, 3)), None, ["n5"], "already"),
        (np.ones((1, 3)), [[400, 999]], None, "names a missing node"),
        (np.ones((1, 3)), [["new 0", "nobody"]], None, "unknown node 'nobody'"),
        (np.full((1, 3), np.nan), None, None, "finite"),
    ],
)
def test_bad_arrays_of_new_nodes_are_refused(blocks, features, edges, names, text):
    with pytest.raises(InputError, match=text):
        extend(blocks, new_nodes_from_arrays(blocks.graph, features, edges, names))


def test_types_of_new_nodes_are_refused_where_they_would_have_no_effect(blocks, parts, trained):
    with pytest.raises(InputError, match="has nodes of one type: leave node_types out"):
        new_nodes_from_arrays(blocks.graph, np.ones((1, 3), np.float32), node_types=["paper"])
    estimator = SEGNNClassifier()._take(trained)
    with pytest.raises(InputError, match="node_types are for features as an array"):
        estimator.extend(parts[2], parts[3], caption="city", ignore=["class"], node_types=[0] * 10)
