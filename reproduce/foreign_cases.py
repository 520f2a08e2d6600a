"""Cases for models that plain PyG code trained: agreement with the model, and what the cases are worth."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.store import Store

TITLE = "Cases for any trained model"
ELSEWHERE = True  # on docs/understanding/measurements.md
DATASETS = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "PubMed", "amazon-photo": "Amazon-Photo"}
WORTH_ON = ("cora", "citeseer", "pubmed")
MODELS = {"gcn": "GCN", "gat": "GAT", "graph-sage": "GraphSAGE"}
RANKINGS = {
    "cases": "our cases",
    "embeddings": "embeddings",
    "gradients": "gradients (TracIn)",
    "chance": "chance",
    "audit": "our audit",
}
ABOUT = """\
Share of the test nodes on which the vote of the cases and the model agree, in percent: mean and standard deviation over
five seeds. The models are PyG's own, two layers of 64, trained for 100 epochs on the labeled nodes."""
WORTH = """\
What the cases of a GCN are worth, beside other ways to rank its labeled nodes. *Removal*: the model is trained again
without the ten most important labeled nodes of a prediction; the table shows how far the probability of its answer
falls then (ten test nodes for each seed). *Blame*: 10% of the labels are flipped before training, and the labeled nodes
that count for a wrong answer on a validation node, and whose label contradicts its class, are blamed; the table shows
the area under the ROC curve for finding the flipped labels. *Our audit* looks for wrong labels directly, as
`explainer.audit()` does. Both in percent; higher is better."""


def on_graph(dataset: str, model: str, measure: str = "agreement") -> Series:
    """One measure of one model on one graph."""
    settings = {"model": model, "measure": measure}
    return Series(
        kind="foreign_cases", dataset=dataset, method="se-gnn", variant=f"{model}-{measure}", settings=settings
    )


def series() -> list[Series]:
    """Agreement for every model on every graph; what the cases are worth for the GCN."""
    worth = [on_graph(dataset, "gcn", measure) for dataset in WORTH_ON for measure in ("removal", "blame")]
    return [on_graph(dataset, model) for dataset in DATASETS for model in MODELS] + worth


def render(store: Store, pictures: Path) -> str:
    """Agreement by graph and model, and what the cases of the GCN are worth."""
    if not any(store.of(one) for one in series()):
        return "> Not run yet: `make reproduce-foreign-cases`."
    agreement = [
        [shown, *(spread(store.of(on_graph(dataset, model)), "agreement") for model in MODELS)]
        for dataset, shown in DATASETS.items()
    ]
    worth = [
        [f"{measure}, {DATASETS[dataset]}", *_cells(store, dataset, measure)]
        for measure in ("removal", "blame")
        for dataset in WORTH_ON
    ]
    return paragraphs(
        ABOUT, table(["agreement", *MODELS.values()], agreement), WORTH, table(["", *RANKINGS.values()], worth)
    )


def _cells(store: Store, dataset: str, measure: str) -> list[str]:
    found = store.of(on_graph(dataset, "gcn", measure))
    return [spread(found, f"{measure}_{name}") for name in RANKINGS]
