"""Fraud on a Bitcoin exchange: what direction and rating of the edges add, beside a GCN and a forest on counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import se_gnn_settings
from reproduce.store import Store

TITLE = "Fraud on a Bitcoin exchange, with and without edge attributes"
ELSEWHERE = True  # on docs/understanding/measurements.md
TREES = 500
EPOCHS = 100
NAMES = {
    ("se-gnn", ""): "SE-GNN: direction, type (trusts, distrusts) and rating",
    ("se-gnn", "plain"): "SE-GNN: the plain graph",
    ("gcn", ""): "GCN: the plain graph",
    ("forest", ""): "random forest: ratings given and received, all, above 0 and below 0",
}
ABOUT = f"""\
`bitcoin-otc` has 5,881 accounts and 35,592 ratings. Ten accounts per class are labeled, 20 are for validation, the
others for testing; each seed has its own split, the same for all methods. The table shows the ROC-AUC of fraud
against trusted in percent, mean and standard deviation over the seeds. SE-GNN is the default's first recipe with one
member and {EPOCHS} epochs. Accounts have no columns: the features of the plain graph are the number of edges and
triangles, and the mean number of edges of the neighbors."""


def series_of(method: str, variant: str) -> Series:
    """A method on the ratings."""
    changes: dict[str, Any] = {"portfolio": False, "members": 1, "epochs": EPOCHS, "best_by": "roc_auc"}
    settings = {
        "se-gnn": {"config": se_gnn_settings("bitcoin-otc", "best", **changes)},
        "gcn": {},
        "forest": {"trees": TREES},
    }[method]
    return Series(kind="bitcoin_otc", dataset="bitcoin-otc", method=method, variant=variant, settings=settings)


def series() -> list[Series]:
    """All methods."""
    return [series_of(*one) for one in NAMES]


def render(store: Store, pictures: Path) -> str:
    """A row per method that was run."""
    rows = []
    for one, name in NAMES.items():
        found = store.of(series_of(*one))
        if found:
            rows.append([name, spread(found, "val_roc_auc"), spread(found, "test_roc_auc")])
    if not rows:
        return "> Not run yet: `make reproduce-bitcoin-otc`."
    return paragraphs(ABOUT, table(["", "validation", "test"], rows))
