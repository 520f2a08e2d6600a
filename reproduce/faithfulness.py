"""Failures that others found in self-explaining networks: which of them can occur here, with a measurement for each."""

from __future__ import annotations

from math import comb
from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import ONE_RUN, se_gnn_settings
from reproduce.store import Store

TITLE = "Failures of self-explaining networks"
ELSEWHERE = True  # on docs/understanding/truth.md
DATASETS = {"cora": "Cora", "digits": "Digits"}
NODES, TOP, DRAWS, SEEDS = 100, 10, 5, 3
CHANCE = 100 * sum(  # mean Jaccard index of two random halves of the most important edges
    comb(TOP // 2, common) ** 2 / comb(TOP, TOP // 2) * common / (TOP - common) for common in range(TOP // 2 + 1)
)
ABOUT = f"""\
Most self-explaining networks have two parts: one selects a subgraph, and the other predicts from it. Two papers by
Azzolin et al. show how that can fail.
[*Reconsidering Faithfulness*](https://openreview.net/forum?id=kiOxNsrpQy) (ICLR 2025) shows that metrics of
faithfulness disagree with each other, and that an explanation can be perfectly faithful and say nothing.
[*GNN Explanations that do not Explain*](https://arxiv.org/abs/2601.20815) (ICLR 2026) shows that the selected subgraph
can be unrelated to how the network finds the class: it can serve as a mere code for it, and most metrics do not notice.
Their experiments classify whole graphs. This section asks the same questions about nodes.

An explanation here states cases and edges, and the two differ:

- **Cases: this failure cannot occur.** The stated cases and weights are how the prediction is computed from the
  similarities. There is no second network that could read something else from them.
- **Edges: this failure can occur.** The encoder is learned, and it reads more than the edges that an explanation ranks
  first. An edge ranks first because similar edges exist around the cases, not because its removal was tested. It is
  evidence, and not always the cause.

We train {SEEDS} seeds with one recipe and a single model (`--quick`), and explain {NODES} test nodes of each graph,
chosen as in the section above. All numbers are in percent, with the mean and standard deviation over the seeds. Unless
noted otherwise, a number is the share of these nodes whose predicted class changes."""
CASES = {
    "changed_recounted": "stated votes, recounted",
    "changed_stated_alone": "stated cases alone",
    "changed_not_stated": "random other cases",
    "changed_random_weights": "random cases, stated weights",
    "changed_random_cases": "random cases, own similarity",
}
CASES_ABOUT = f"""\
### The cases

Other cases vote in place of the stated ones (mean of {DRAWS} draws). *Random other cases* are as many cases that the
explanation does not state. *Stated weights*: random cases take over the weights of the stated ones. *Own similarity*:
as many random cases, stated or not, vote with their own similarities."""
CASES_NOTE = """\
The first two columns must be 0, and are. The next two show that the stated cases are informative: with others in their
place, the class changes. The third is close to 100 by construction, because the stated cases often include all cases of
the predicted class. The last column says something else. A random sample that happens to contain near cases often gives
the same class; how often depends on K, which validation chooses for each seed. So a prediction rests on the near cases
of its class and not on one particular list of them: exchanging a stated case for an equally near one of the same class
never changes the class."""
EDGES = {
    "changed_without_important": f"without the {TOP} most important edges",
    "changed_without_random": f"without {TOP} random edges",
    "changed_important_alone": f"the {TOP} most important edges alone",
    "changed_random_alone": f"{TOP} random edges alone",
    "changed_extended": f"the {TOP} and half of the others",
    "changed_local_alone": "the local graph alone",
}
EDGES_ABOUT = f"""\
### The edges

The first two columns remove edges of the local graph from the graph. In the others, the encoder sees only some of the
edges: we add a copy of the node and of the ends of these edges to the graph, with these edges and no others. The cases
keep all their edges. *The {TOP} and half of the others* is the test that the second paper proposes, for edges: a
sufficient explanation stays sufficient when other parts of the graph are added. Each other edge of the local graph is
added with probability 1/2 (mean of {DRAWS} draws)."""
EDGES_NOTE = """\
Edges are necessary if the first column is far above the second, and sufficient if the third is far below the fourth. On
Cora, the most important edges are more necessary than random ones. On neither graph are they more sufficient than
random ones beyond the deviation between seeds. The last column shows that the class seldom depends on anything outside
the local graph, so what is left out is inside it: many edges together, and the attributes of the node."""
AGAIN = {
    "again_same_class": "same class",
    "again_cases": f"the {TOP} nearest cases",
    "again_edges": f"the {TOP // 2} most important edges",
    "again_matches": "matched edges",
    "cases_stated_alone": "cases, if only the stated ones are left",
}
AGAIN_ABOUT = f"""\
### Explaining the explanation

An explanation is [self-inconsistent](https://arxiv.org/abs/2605.07527) if the model gives another explanation when it
sees only the first one. We explain the copy that has only the {TOP} most important edges, and compare the result with
the first explanation. *Same class* is the share of nodes; the other columns are mean Jaccard indices. *Matched edges*
are triples of one of these edges, one of the {TOP} nearest cases, and the edge of that case that it matches. The
last column leaves the graph as it is and keeps only the stated cases labeled."""
AGAIN_NOTE = f"""\
The cases are consistent: exactly, if the graph stays as it is, and mostly, if the encoder sees only {TOP} edges. The
order of the edges is not. A random choice of {TOP // 2} among these {TOP} edges would reach {CHANCE:.0f}%. The second
explanation stays below that: in a smaller local graph, the same edges get other embeddings, and others come first. Read
the most important edges as examples of what is similar, not as the cause of the prediction."""


def on_graph(dataset: str) -> Series:
    """One recipe and a single model on a graph."""
    settings = {
        "config": se_gnn_settings(dataset, "best", **ONE_RUN),
        **{"nodes": NODES, "top": TOP, "draws": DRAWS},
    }
    return Series(kind="faithfulness", dataset=dataset, method="se-gnn", variant="quick", settings=settings)


def series() -> list[Series]:
    """Every graph."""
    return [on_graph(dataset) for dataset in DATASETS]


def render(store: Store, pictures: Path) -> str:
    """Three tables: cases, edges, and the explanation explained."""
    run = {name: store.of(on_graph(dataset)) for dataset, name in DATASETS.items()}
    if not any(run.values()):
        return paragraphs(ABOUT, "> Not run yet: `make reproduce-faithfulness SEEDS=3`.")

    def rows(measures: dict[str, str]) -> str:
        cells = [[name, *(spread(found, one, usual=SEEDS) for one in measures)] for name, found in run.items() if found]
        return table(["percent", *measures.values()], cells)

    return paragraphs(
        *(ABOUT, CASES_ABOUT, rows(CASES), CASES_NOTE, EDGES_ABOUT, rows(EDGES), EDGES_NOTE),
        *(AGAIN_ABOUT, rows(AGAIN), AGAIN_NOTE),
    )
