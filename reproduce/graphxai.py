"""GraphXAI's graphs with known explanations and its metrics: our explanations beside those of other explainers."""

from __future__ import annotations

from pathlib import Path

from lab.graphxai import DRAWN, GRAPHS, METRICS, NAMES, PERTURBED, ROLLOUTS, WHERE
from reproduce.job import Series
from reproduce.markdown import NOT_APPLICABLE, measured, paragraphs, spread, table
from reproduce.methods import ONE_RUN, se_gnn_settings
from reproduce.store import Result, Store

TITLE = "Explanations compared with a ground truth, by GraphXAI"
ELSEWHERE = True  # on docs/understanding/truth.md
COMMIT = "a11e65ffbc4df737f35522a8accf2283a8aeaa37"  # of GraphXAI
NODES, SEEDS = 20, 3
KINDS = {"base": "Base", "unfair": "Unfair"}
ABOUT = f"""\
[GraphXAI]({WHERE}) is a benchmark of explainers that others made. Its generator, ShapeGGen, draws graphs with houses.
The class of a node says whether one or two houses are within one step of it, and these houses are the right
explanation. *Base* is the generator's default, with {DRAWN["num_subgraphs"]} houses (about 335 nodes). In *Unfair*, a
sensitive attribute depends on the class. We draw {SEEDS} graphs of each sort, and explain {NODES} test nodes of each
that both models predict correctly. SE-GNN is trained with one recipe and a single model. All other explainers explain a
GIN with three layers, the network of GraphXAI's scripts.

    git clone {WHERE} ../GraphXAI
    GRAPHXAI=../GraphXAI make reproduce-graphxai SEEDS={SEEDS}
    GRAPHXAI=../GraphXAI python -m lab graphxai --seeds 1 --nodes 5    # a quick look

GraphXAI's code computes the metrics (`formal/metrics.py`), for masks of nodes unless noted otherwise. *Accuracy* is the
Jaccard index of explanation and ground truth: high is good. For all other metrics, low is good. *Unfaithfulness* is how
far the prediction moves if only the most important quarter of the nodes keeps its attributes. *Instability* is how far
the explanation moves if the graph changes a little (the most of {PERTURBED} changed graphs per node), and
*counterfactual unfairness* how far it moves if the sensitive attribute of the node is flipped. *Group unfairness* is
how much the gap between the two groups of that attribute changes if only the explanation is left. Explanations of
SE-GNN and of PyG name a quarter of the edges within three steps, and the nodes on them; those of GraphXAI are used as
they are."""
NOTE = f"""\
- SE-GNN names the nodes of the houses more accurately than the other explainers, and its explanations are more stable
  than all but those of GraphXAI's PGExplainer. On *Unfair*, its group unfairness is the highest. These are few nodes,
  so small differences mean nothing. SE-GNN explains another model than the rest, so compare unfaithfulness with care.
- Accuracy of edges counts every edge that has any importance. The random explainer gives some to all edges, so its row
  shows what naming all edges reaches: no less than SE-GNN. That column does not favor any explainer.
- The ground truth is a subgraph: it judges the edges of our explanations, not the cases. Masks of features are left
  out, because our explanations have none.
- GraphXAI's own GNNExplainer and PGExplainer are never trained on predictions: their code computes these without
  gradients, so only the terms for size and entropy are learned. With the same random seed, that GNNExplainer gives the
  same masks for two different networks. This is why those of PyG are in the table.
- SubgraphX ran with {ROLLOUTS} rollouts (GraphXAI's scripts use 5) and was not run again on changed graphs, because its
  search is slow. We pass it the class of the node, because its code fails for nodes without it.
- GraphXAI's code is of March 2023 (commit `{COMMIT[:8]}`). It runs here with four replacements at import: `ipdb` is
  empty, PGM-Explainer is left out because it needs `pgmpy`, and `collections.Iterable` and
  `torch_geometric.utils.subgraph` are found where they are now. Its rewiring of edges takes a new random seed from the
  operating system each time; we prevent that, so that the same seeds give the same numbers. We do not use the
  metrics inside the package (`graphxai.metrics`), because their stability stops in a debugger.
- Its fixed split draws training, validation and test nodes independently of each other, so they overlap. We use its
  other split, where they do not."""


def on_graph(kind: str) -> Series:
    """All explainers on one sort of graph."""
    settings = {
        "config": se_gnn_settings("graphxai", "best", **ONE_RUN),
        **{"nodes": NODES, "perturbed": PERTURBED, "rollouts": ROLLOUTS, "graphxai": COMMIT, "graph": dict(DRAWN)},
    }
    return Series(kind="graphxai", dataset=f"graphxai-{kind}", method="explainers", settings=settings)


def series() -> list[Series]:
    """Every sort of graph."""
    return [on_graph(kind) for kind in GRAPHS]


def render(store: Store, pictures: Path) -> str:
    """A table per sort of graph."""
    tables = []
    for kind in GRAPHS:
        found = store.of(on_graph(kind))
        if found:
            accuracy = " and ".join(
                f"{spread(found, measure, usual=SEEDS)}% ({name})"
                for measure, name in (("test_accuracy/se-gnn", "SE-GNN"), ("test_accuracy/gin", "GIN"))
            )
            rows = [[NAMES[name], *(_cell(found, f"{name}/{metric}") for metric in METRICS)] for name in NAMES]
            words = f"**{KINDS[kind]}**: {len(found) * NODES} nodes of {len(found)} graphs; test accuracy {accuracy}."
            tables += [words, table(["", *METRICS.values()], rows)]
    if not tables:
        return paragraphs(ABOUT, "> Not run yet: `make reproduce-graphxai SEEDS=3`.")
    return paragraphs(ABOUT, *tables, NOTE)


def _cell(found: list[Result], measure: str) -> str:
    values = measured(found, measure)
    return f"{values.mean():.2f} ± {values.std():.2f}" if len(values) else NOT_APPLICABLE
