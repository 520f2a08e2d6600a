"""What can be combined with what: rows are features, columns are data, and a cell works or makes no sense.

The tests run every cell, and `python -m docs.generate combinations` writes `docs/reference/what-works-together.md`.
"""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """A row: what a user does, and how."""

    name: str
    how: str
    slow: bool = False  # too slow for `make test`, whatever the data


class Data(NamedTuple):
    """A column: what it is done with."""

    name: str
    about: str


class NoSense(NamedTuple):
    """A cell that is refused: why, for people, and what the product says."""

    because: str
    says: str


FEATURES = (
    Feature("predict to a file", "`predict --out p.csv`"),
    Feature("predict to shards", "`predict --out folder`"),
    Feature("torchrun", "`torchrun -m se_gnn predict --out folder`", slow=True),
    Feature("prediction sets", "`predict --coverage 0.9`"),
    Feature("abstain", "`predict --abstain`"),
    Feature("new nodes, command line", "`predict --new-nodes rows.csv`"),
    Feature("new nodes, Python", "`estimator.extend(rows, edges)`"),
    Feature("new nodes, HTTP", "`POST /v1/predict`"),
    Feature("explain one node", "`explain --node NAME`"),
    Feature("explain all nodes", "`explain --out folder`"),
    Feature("report", "`report --out page.html`"),
    Feature("serve", "`serve`: pages and REST"),
    Feature("edit labels", "`labels edit`"),
    Feature("audit", "`labels audit`"),
    Feature("audit, trained again", "`labels audit --retrain`"),
    Feature("certify", "`labels certify`"),
    Feature("suggest", "`labels suggest`"),
    Feature("tune", "`tune`", slow=True),
    Feature("resume", "`train --resume`"),
    Feature("another graph", "`predict --graph other`"),
)

DATA = (
    Data("plain", "one table of nodes, one of edges"),
    Data("directed", "edges with a direction"),
    Data("weighted", "edges with weights"),
    Data("typed", "edges of several types"),
    Data("node types", "several node types, each with columns of its own; one has classes"),
    Data("mapped", "a graph that stays in its files (larger than memory)"),
    Data("large", "more than 200,000 nodes: pages list some of them"),
    Data("another graph", "a model on another graph than the one it was trained on"),
    Data("new nodes", "a graph that new nodes have joined (`predict --set keep_graph`)"),
    Data("edited", "a model whose labels were edited"),
    Data("calibrated", "a model with calibration nodes (`train --calibration`)"),
    Data("gpu", "on a GPU (`--device cuda`)"),
    Data("numbers", "a number is predicted, not a class"),
    Data("links", "edges are predicted (`train --task links`)"),
    Data("foreign", "cases for a network that was trained elsewhere (`CaseExplainer`)"),
)

_MAPPED = NoSense(
    "training reads the whole graph in every epoch: train on a part that fits in memory, then predict all of it",
    "training reads the whole graph in every epoch",
)
_NO_LABELS = NoSense("links have no labels: edit the edges of the graph, and train again", "holds a model of links")
_ALL_PAIRS = NoSense(
    "the answers are as many as the pairs that you name, and one file holds them", "--out must end in .csv or .jsonl"
)
_LINKS_GROW = NoSense(
    "a model of links learns from all edges in one pass: train it on the graph with the new nodes",
    "only without --pairs",
)
_NOT_STORED = NoSense(
    "the outputs of your network are read once and stored, the network is not: new nodes need it, in Python",
    "need the model itself",
)

NO_SENSE: dict[tuple[str, str], NoSense] = {
    ("tune", "mapped"): _MAPPED,
    ("resume", "mapped"): _MAPPED,
    ("tune", "large"): _MAPPED,
    ("resume", "large"): _MAPPED,
    ("certify", "numbers"): NoSense(
        "a number changes a little with every case, so that no smallest set changes it",
        "a number changes a little with every case",
    ),
    ("tune", "numbers"): NoSense(
        "there are few recipes for numbers, and `train` compares all of them itself", "train compares the few recipes"
    ),
    ("predict to shards", "links"): _ALL_PAIRS,
    ("torchrun", "links"): _ALL_PAIRS,
    ("prediction sets", "links"): NoSense(
        "a link is there or not: its probability says everything that a set would say",
        "--coverage has an effect only without --pairs",
    ),
    ("abstain", "links"): NoSense(
        "a pair without a similar neighbor gets a low probability, which is the answer",
        "--abstain has an effect only without --pairs",
    ),
    ("new nodes, command line", "links"): _LINKS_GROW,
    ("new nodes, Python", "links"): _LINKS_GROW._replace(says="holds a model of links"),
    ("new nodes, HTTP", "links"): _LINKS_GROW._replace(says="this model predicts links"),
    ("explain all nodes", "links"): NoSense(
        "there are as many pairs as nodes times nodes: name the pairs", "explain --pair, report --pair"
    ),
    ("edit labels", "links"): _NO_LABELS,
    ("audit", "links"): _NO_LABELS,
    ("audit, trained again", "mapped"): _MAPPED,
    ("audit, trained again", "large"): _MAPPED,
    ("audit, trained again", "links"): _NO_LABELS,
    ("audit, trained again", "foreign"): NoSense(
        "nothing is trained: your network is", "your network is trained elsewhere"
    ),
    ("certify", "links"): _NO_LABELS,
    ("suggest", "links"): _NO_LABELS,
    ("tune", "links"): NoSense(
        "a model of links has two settings, and `train` chooses both on hidden links", "No such option: --task"
    ),
    ("resume", "links"): NoSense(
        "a model of links is fitted in one step, without epochs to resume from",
        "--resume has an effect only without --task links",
    ),
    ("another graph", "links"): _LINKS_GROW._replace(
        because="the edges of a graph are the model's cases: train it on the other graph"
    ),
    ("new nodes, command line", "foreign"): _NOT_STORED,
    ("new nodes, HTTP", "foreign"): _NOT_STORED,
    ("another graph", "foreign"): _NOT_STORED._replace(
        because="the outputs of your network are stored, the network is not: `CaseExplainer.with_graph` runs it"
    ),
    ("suggest", "foreign"): NoSense(
        "cases vote for the answers of your network, and every node has one", "every node has one"
    ),
    ("tune", "foreign"): NoSense(
        "nothing is trained: a `CaseExplainer` chooses its settings by agreement with your network",
        "give it to a CaseExplainer",
    ),
    ("resume", "foreign"): NoSense("nothing is trained: your network is", "'cases' is not one of"),
}
