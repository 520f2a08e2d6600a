"""The table on speed in the README, made from the same results as the page on performance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.table import number

START, END = "<!-- speed: python -m benchmarks render FILE --readme -->", "<!-- end of speed -->"
SHOWN = {
    "cora-epoch": "Cora, a training epoch, against the dense formulation",
    "cora-score": "Cora, scoring 1,000 nodes, against the dense formulation",
    "cora-explain": "Cora, explaining all nodes in one pass, per node, against PyG's GNNExplainer",
    "cora-gcn": "Cora, a training epoch, against PyG's GCN",
    "pubmed": "PubMed (19,717 nodes): train 200 epochs, predict and explain all",
}

SINGLE = "Cora, explaining one node as an object, against PyG's GNNExplainer"
SINGLE_FIGURE = "times faster, a single node as an object"


def write_readme(runs: Sequence[dict[str, Any]], readme: Path) -> None:
    """Put the measured cases that the README shows between its two marks."""
    before, rest = readme.read_text(encoding="utf-8").split(START)
    after = rest.split(END)[1]
    readme.write_text(f"{before}{START}\n{speed_table(runs)}\n{END}{after}", encoding="utf-8")


def speed_table(runs: Sequence[dict[str, Any]]) -> str:
    """A row per case, with its medians; a later run replaces the cases of an earlier one."""
    measured = {case["name"]: case for run in runs for case in run["cases"] if case["status"] == "measured"}
    lines = ["| on two CPU cores | measured |", "| :--- | ---: |"]
    for name, title in SHOWN.items():
        figures = measured[name]["figures"] if name in measured else []
        shown = ", ".join(f"{number(figure['median'])} {figure['unit']}" for figure in figures)
        lines.append(f"| {title} | {shown or 'not measured'} |")
        if name == "cora-explain" and name in measured:
            lines.append(f"| {SINGLE} | {number(measured[name]['details'][SINGLE_FIGURE])} x faster |")
    return "\n".join(lines)
