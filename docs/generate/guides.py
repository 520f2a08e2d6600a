"""Figures of the short guides, from how long to what to label next; all out of committed results."""

from __future__ import annotations

import json

from benchmarks.before import FIGURES
from docs.generate.blocks import ROOT, replaced
from reproduce import amazon_fraud, audit, bitcoin_otc, coverage, edge_signal, kinds, labels, left_out, recipes, suggest
from reproduce.markdown import paragraphs, table
from reproduce.store import Store
from reproduce.tried import Searches

DOCS = ROOT / "docs"
PUBLISHED = ROOT / "benchmarks" / "published"
MEASURED = {
    "pubmed": "PubMed: 19,717 nodes, 44,324 edges, 60 labeled",
    "amazon-photo": "Amazon-Photo: 7,650 nodes, 119,081 edges, 160 labeled",
    "coauthor-physics": "Coauthor-Physics: 34,493 nodes, 247,962 edges, 100 labeled",
}
PHASES = ("load", "train", "predict", "explain")
TITLES = {"cora": "Cora", "amazon-photo": "Amazon-Photo"}
COSTS = """\
Edges with attributes are compared by products of edges instead of nodes, which takes longer on dense graphs. The
table shows the processor time of a comparison with random edge attributes, as a multiple of the time for the plain
graph, with local graphs of at most 64 edges (`{command}`):"""
MADE_UP = """\
`edge_signal_graph` in [the lab](lab.md) generates graphs with two classes whose edges and node attributes have the
same distribution: only the direction, the type, the weight or an attribute of the edges differs.

```python
from lab.datasets.edge_signal import edge_signal_graph
from se_gnn import SEGNNClassifier

graph = edge_signal_graph("direction")
classifier = SEGNNClassifier(members=1, epochs=20, settings={"portfolio": False}).fit(graph)
explanation = classifier.explain(graph.test[0])
print(explanation.sentence())
print(explanation.roles[:3])
```"""


def write_guides() -> None:
    """Put the figures into the pages."""
    pages = {
        "how-long": how_long,
        "which-settings": which_settings,
        "how-many-labels": counts,
        "best": tried_recipes,
        "memory": wrong_labels,
        "guarantees": sets,
        "no-answer": strangers,
        "suggest": suggestions,
        "rich-edges": rich_edges,
    }
    for name, render in pages.items():
        page = DOCS / f"{name}.md"
        page.write_text(replaced(page.read_text(encoding="utf-8"), "guides", render()), encoding="utf-8")


def how_long() -> str:
    """Seconds of each phase and peak memory, of the benchmarks, and of the default preset where it was run."""
    cases = {}
    for name in ("cpu-2-cores.json", "cpu-2-cores.rerun.json"):
        run = json.loads((PUBLISHED / name).read_text(encoding="utf-8"))
        cases |= {case["name"]: case for case in run["cases"] if case["status"] == "measured"}
    rows = []
    for name, title in MEASURED.items():
        phases = cases[name]["details"]["seconds of each phase"]
        peak = next(figure["median"] for figure in cases[name]["figures"] if figure["unit"] == "GB")
        settings = ", ".join(f"`{one}`" for one in cases[name]["settings"]) or "none changed"
        preset = f"`{cases[name]['preset']}`, {settings}"
        rows.append([title, preset, *(f"{phases[phase]:.1f} s" for phase in PHASES), f"{peak:.1f} GB"])
    return table(["on two CPU cores", "preset, settings", *PHASES, "peak memory"], rows)


def which_settings() -> str:
    """For each data set and setting that a search varied, the best validation accuracy that each value reached."""
    searches = Searches("se-gnn")
    rows = []
    for dataset in searches.datasets:
        tried = searches.of(dataset)
        keys = sorted({key for one in tried for key in one.settings if key != "preset"})
        for key in keys:
            reached: dict[str, float] = {}
            for one in tried:
                if key in one.settings:
                    value = str(one.settings[key])
                    reached[value] = max(reached.get(value, 0.0), one.mean)
            if len(reached) > 1:
                cells = ", ".join(f"{value}: {100 * best:.1f}" for value, best in sorted(reached.items(), key=_number))
                gap = 100 * (max(reached.values()) - min(reached.values()))
                rows.append([dataset, f"`{key}`", cells, f"{gap:.1f}"])
    return table(["data set", "setting", "value: best validation accuracy reached", "between the values"], rows)


def counts() -> str:
    """Accuracy by the number of labeled nodes."""
    return labels.render(Store(), DOCS)


def wrong_labels() -> str:
    """How well flipped labels are found."""
    return audit.render(Store(), DOCS)


def sets() -> str:
    """Coverage and size of prediction sets."""
    return coverage.render(Store(), DOCS)


def strangers() -> str:
    """How well a class that was left out is told from the others."""
    return left_out.render(Store(), DOCS)


def suggestions() -> str:
    """Accuracy by the number of labels, suggested or drawn."""
    return suggest.render(Store(), DOCS)


def _number(pair: tuple[str, float]) -> tuple[float, str]:
    try:
        return float(pair[0]), pair[0]
    except ValueError:
        return float("inf"), pair[0]


def tried_recipes() -> str:
    """What the recipes of the default reach on validation nodes."""
    return recipes.render(Store(), DOCS)


def edge_costs() -> str:
    """The cost of edge attributes, for graphs with and without them."""
    found = json.loads((PUBLISHED / "rich-edges.json").read_text(encoding="utf-8"))
    datasets = found["datasets"]
    heads = [f"{TITLES[name]}, {task}" for name in datasets for task in ("all nodes", "a training step")]
    settings = list(next(iter(datasets.values()))["times"])
    rows = [[name, *(f"{ratio:.2f}" for one in datasets.values() for ratio in one["times"][name])] for name in settings]
    before = json.loads((PUBLISHED / "before-rich-edges.json").read_text(encoding="utf-8"))
    ratios = ", ".join(f"{FIGURES[name]} {figure['ratio']:.2f}" for name, figure in before["figures"].items())
    told = (
        "The cost for a graph without edge attributes, Cora with the preset `paper`, as a multiple of commit "
        f"{before['before']}, before edges could have attributes (`{before['command']}`): {ratios}."
    )
    return paragraphs(COSTS.format(command=found["command"]), table(["", *heads], rows), told)


def rich_edges() -> str:
    """Accuracy if only the edges differ between the classes, and results on real graphs."""
    store = Store()
    return paragraphs(
        edge_costs(),
        "## Accuracy if only the edges differ",
        MADE_UP,
        edge_signal.render(store, DOCS),
        "### Bitcoin exchange",
        bitcoin_otc.render(store, DOCS),
        "### Fraud among reviewers",
        amazon_fraud.render(store, DOCS),
        "### ACM and DBLP",
        kinds.render(store, DOCS),
    )
