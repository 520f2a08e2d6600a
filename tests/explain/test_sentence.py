import pytest

from se_gnn.explain import Explainer
from se_gnn.report.words import sentence_words
from strategies import random_graph, small_config, untrained


@pytest.mark.parametrize("node", [0, 1, 4, 45, 58])
def test_the_pieces_are_the_sentence_and_names_are_apart(hub, node):
    explanation = Explainer(hub).explain(node)
    words = sentence_words(explanation)
    named = [word for word in words if word.kind == "node"]
    assert named[0].id == node
    assert all(word.text == hub.graph.node_names[word.id] for word in named)
    classes = [word for word in words if word.kind == "class"]
    assert all(word.text == hub.graph.class_names[word.id] for word in classes)
    plain = explanation.sentence()
    for name in hub.graph.class_names:  # in the sentence they stand in quotes, as Python writes them
        plain = plain.replace(repr(name), f"'{name}'")
    assert "".join(word.text for word in words) == plain


def test_a_name_that_looks_like_a_mark_is_a_name():
    names = [f"⟦n{i + 1}⟧" for i in range(8)]
    graph = random_graph(num_nodes=8, node_names=names, class_names=["⟦c1⟧", "⟦n0⟧"])
    words = sentence_words(Explainer(untrained(graph, small_config())).explain(7))
    assert words[1].text == "⟦n8⟧"
    assert words[1].id == 7
    assert {word.text for word in words if word.kind == "class"} <= {"⟦c1⟧", "⟦n0⟧"}
