"""The pairs to rate: targets of each model, the nearest labeled node of each method, and their pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.rating.drawing import PairPictures, draw_pair, local_edges, numbered_edges
from lab.rating.nearest import Method, make_method
from lab.rating.plan import METHODS, RatingPlan
from se_gnn.display.text import printable_name
from se_gnn.errors import InputError
from se_gnn.explain import Explanation, explain
from se_gnn.files import SMALL, read_current, sha256
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Model
from se_gnn.model.folder import MANIFEST, load_model
from se_gnn.optional import require
from se_gnn.progress import bar

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class ModelToRate:
    """A model, the name that tables show for it, and the digest that says which it is."""

    trained: Model
    name: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One question: a target and the labeled node that a method finds nearest."""

    item: int  # the target, counted over all models
    method: int  # position among the plan's methods
    model: int
    target: str
    neighbor: str
    pictures: PairPictures
    classes: tuple[tuple[int, str], ...]  # label and name, for the legend


def read_models(folders: Sequence[Path]) -> list[ModelToRate]:
    """The models of some folders, each checked."""
    given = [Path(folder) for folder in folders]
    trained = [load_model(folder) for folder in given]
    digests = [sha256(read_current(folder, MANIFEST, limit=SMALL)) for folder in given]
    if len(set(digests)) < len(digests):
        raise InputError("each model folder must be given once: two of them hold the same model")
    names = [one.graph.name for one in trained]
    alike = len(set(names)) < len(names)
    shown = [f"{name} ({folder})" if alike else name for name, folder in zip(names, given)]
    return [ModelToRate(*parts) for parts in zip(trained, map(printable_name, shown), digests)]


def check_can_prepare(models: Sequence[ModelToRate], plan: RatingPlan) -> None:
    """What would fail after minutes of training fails here."""
    if {"gcn-k", "gin-k"} & set(plan.methods):
        require("torch_geometric", extra="lab", feature="GCN-K and GIN-K")
    for one in models:
        graph, found = one.trained.graph, len(candidates(one.trained))
        if found < plan.items:
            raise InputError(
                f"--items must be at most the {found} test nodes of {one.name} that have edges, got {plan.items}"
            )
        if len(graph.train) < 2:
            raise InputError(f"{one.name} must have at least 2 labeled nodes to choose from, it has {len(graph.train)}")


def candidates(trained: Model) -> IntArray:
    """Nodes that may be targets: test nodes with edges; all that are not labeled, where there are no test nodes."""
    graph = trained.graph
    nodes = graph.test if len(graph.test) else np.setdiff1d(np.arange(graph.num_nodes), graph.train)
    joined = np.bincount(graph.edges.ends.ravel(), minlength=graph.num_nodes) > 0
    chosen: IntArray = nodes[joined[nodes]]
    return chosen


def prepare_pairs(
    models: Sequence[ModelToRate], plan: RatingPlan, *, say: Say | None = None, shown: bool = False, **changes: object
) -> Iterator[Pair]:
    """All pairs of a plan, item by item; ``changes`` are settings of the baselines, ``shown`` shows bars."""
    for number, one in enumerate(models):
        generator = np.random.default_rng([plan.seed, number])
        targets = np.sort(generator.choice(candidates(one.trained), plan.items, replace=False))
        methods = []
        for name in plan.methods:
            if say is not None and name != "se-gnn":
                say(f"{one.name}: training {METHODS[name]} ...")
            methods.append(make_method(name, one.trained, seed=plan.seed, progress=shown, **changes))
        with bar(total=plan.items, name=f"{one.name}: drawing", unit="target", shown=shown) as progress:
            for i, target in enumerate(targets.tolist()):
                explanation = explain(one.trained, target, k=1)[0]
                for place, method in enumerate(methods):
                    item = number * plan.items + i
                    yield _pair(explanation, one.trained.graph, method, item=item, place=place, model=number)
                progress.update()


def _pair(explanation: Explanation, graph: Graph, method: Method, *, item: int, place: int, model: int) -> Pair:
    neighbor = method.nearest(explanation)
    others = local_edges(explanation, graph, neighbor)
    pictures = draw_pair(
        explanation, graph, neighbor, others, method.matched(explanation, numbered_edges(explanation), others)
    )
    return Pair(
        item=item,
        method=place,
        model=model,
        target=printable_name(graph.caption(explanation.node)),
        neighbor=printable_name(graph.caption(neighbor)),
        pictures=pictures,
        classes=tuple((label, _class_name(graph, label)) for label in pictures.classes),
    )


def _class_name(graph: Graph, label: int) -> str:
    return "class not known" if label == UNKNOWN else printable_name(graph.class_names[label])
