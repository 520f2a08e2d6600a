"""The default beside the accuracies that others published for Cora, Citeseer and PubMed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from reproduce import default
from reproduce.job import Series
from reproduce.markdown import paragraphs, percent, spread, table
from reproduce.store import Store

TITLE = "The default preset compared with published numbers"
PUBLISHED = Path(__file__).with_name("rivals.toml")
DATASETS = {"cora": "Cora", "citeseer-planetoid": "Citeseer", "pubmed": "PubMed"}
SPLITS = {"public": "public", "random": "one random"}
ABOUT = """\
The first row was measured here, over ten seeds. All others are **published numbers that we did not rerun**, as printed
by the source. *Public* is the usual split: 20 labeled nodes per class, 500 validation and 1,000 test nodes; Citeseer
has all 3,327 nodes. A black box predicts without an explanation."""
NOTES = """\
- SUNNY-GNN, GSAT, SE-GNN and ProtGNN each come with a GCN and with a GAT in their source, over 5 runs. We show the
  better of the two for each graph. SE-GNN is the method of the paper that this page repeats, as others ran it.
- GRAND is a black box, and more accurate than the default on all three graphs.
- The tuned GCN is a black box, too. Its scripts draw one random split of the same sizes (`--rand_split_class`), so its
  row is not measured on the test nodes of the other rows."""


def series() -> list[Series]:
    """The default on the three graphs."""
    return [default.on_graph(dataset, "se-gnn") for dataset in DATASETS]


def published() -> dict[str, Any]:
    """The published numbers and their sources."""
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))


def render(store: Store, pictures: Path) -> str:
    """Our row, and one for each published method."""
    if not any(store.of(one) for one in series()):
        return ""
    ours = [spread(store.of(default.on_graph(dataset, "se-gnn")), "accuracy", usual=10) for dataset in DATASETS]
    rows = [["**SE-GNN, preset best**", "labeled nodes", SPLITS["public"], *ours, "this page"]]
    known = published()
    for rival in known["rival"]:
        source = known["source"][rival["source"]]
        explains = rival["explains"] or "nothing: a black box"
        values = [percent(*rival[dataset]) for dataset in DATASETS]
        rows.append([rival["name"], explains, SPLITS[rival["split"]], *values, f"[{source['name']}]({source['url']})"])
    header = ["test accuracy in percent", "explains by", "split", *DATASETS.values(), "source"]
    return paragraphs(ABOUT, table(header, rows), NOTES)
