"""Figures of the page on measurements and of the guides, all out of committed results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.before import FIGURES
from docs.generate.blocks import ROOT, replaced
from reproduce import (
    amazon_fraud,
    audit,
    bitcoin_otc,
    counties,
    coverage,
    edge_signal,
    foreign_cases,
    honesty,
    kinds,
    left_out,
    links,
    recipes,
    suggest,
)
from reproduce.markdown import paragraphs, table
from reproduce.store import Store

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
`edge_signal_graph` in [the lab](lab.md) generates graphs with two classes whose edges and node
attributes have the same distribution: only the direction, the type, the weight or an attribute of the edges differs.

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
    for page, parts in PAGES.items():
        text = page.read_text(encoding="utf-8")
        for name, render in parts.items():
            text = replaced(text, name, render(), "guides")
        page.write_text(text, encoding="utf-8")


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


def wrong_labels() -> str:
    """How well flipped labels are found, and how far answers can be believed."""
    return "\n\n".join(one.render(Store(), DOCS) for one in (honesty, audit))


def other_models() -> str:
    """Agreement with models that were trained elsewhere, and what their cases are worth."""
    return foreign_cases.render(Store(), DOCS)


def sets() -> str:
    """Coverage and size of prediction sets."""
    return coverage.render(Store(), DOCS)


def novelty() -> str:
    """How well a class that was left out is told from the others."""
    return left_out.render(Store(), DOCS)


def suggestions() -> str:
    """Accuracy by the number of labels, suggested or drawn."""
    return suggest.render(Store(), DOCS)


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


def found_links() -> str:
    """Link prediction on citation graphs, and explanations whose reasons are known."""
    return links.render(Store(), DOCS)


def county_numbers() -> str:
    """Numbers of US counties, beside published networks and a forest."""
    return counties.render(Store(), DOCS)


def rich_edges() -> str:
    """Accuracy if only the edges differ between the classes, and results on real graphs."""
    store = Store()
    return paragraphs(
        edge_costs(),
        "### Only the edges differ",
        MADE_UP,
        edge_signal.render(store, DOCS),
        "### Bitcoin exchange",
        bitcoin_otc.render(store, DOCS),
        "### Fraud among reviewers",
        amazon_fraud.render(store, DOCS),
        "### ACM and DBLP",
        kinds.render(store, DOCS),
    )


PAGES: dict[Path, dict[str, Callable[[], str]]] = {
    DOCS / "how-to" / "settings.md": {"how_long": how_long},
    DOCS / "understanding" / "measurements.md": {
        "wrong_labels": wrong_labels,
        "suggestions": suggestions,
        "sets": sets,
        "novelty": novelty,
        "rich_edges": rich_edges,
        "county_numbers": county_numbers,
        "found_links": found_links,
        "other_models": other_models,
        "tried_recipes": tried_recipes,
    },
}
