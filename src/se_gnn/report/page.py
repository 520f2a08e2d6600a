"""The page: what is said of model, graph and nodes, poured into the templates beside this file.

Everything that comes from data is escaped by the templates or by the writer of the SVG. The page asks the browser to
refuse whatever is not in it: no address but `data:` pictures, no style or script but the two that it names by digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import numpy as np

from se_gnn import __version__
from se_gnn.errors import InputError
from se_gnn.explain.edge_text import edge_rule
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Prediction, TrainedModel
from se_gnn.report.bundle import script, stylesheet
from se_gnn.report.card import model_card
from se_gnn.report.charts import reliability_diagram
from se_gnn.report.choice import choose_nodes
from se_gnn.report.labeled_memory import labeled_memory
from se_gnn.report.misleading import MOST_MISLEADING, find_misleading
from se_gnn.report.node import node_parts
from se_gnn.report.node_image import NodeImages
from se_gnn.report.predictions import prediction_table
from se_gnn.report.set_table import set_table
from se_gnn.report.templating import page_environment
from se_gnn.similarity import measure_named

NEIGHBORS = 4  # that come with a picture


def report_html(
    trained: TrainedModel,
    nodes: Sequence[int] | IntArray | None = None,
    *,
    k: int = NEIGHBORS,
    title: str | None = None,
    progress: bool = False,
    prediction: Prediction | None = None,
) -> str:
    """A report as one page that needs nothing else: no network, no other file.

    Args:
        trained: the model to report on.
        nodes: ids of the nodes to explain, in this order; None: a choice of certain, uncertain and wrong predictions.
        k: how many of the nearest labeled nodes are shown with local graph and matched edges.
        title: heading of the page; None: the name of the data set.
        progress: show a progress bar.
        prediction: of all nodes, where it is known already.
    """
    graph = trained.graph
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    wanted = None if nodes is None else _checked(nodes, graph.num_nodes)
    if prediction is None:
        prediction = trained.predict()
    if wanted is None:
        wanted = choose_nodes(prediction, graph)
    card = model_card(trained, prediction)
    misleading = find_misleading(prediction, graph)
    style, code = stylesheet(graph.num_classes), script()
    included = frozenset(wanted.tolist())
    environment = page_environment()
    environment.globals.update(
        shown_name=graph.caption, node_href=lambda node: f"#node-{node}" if node in included else None
    )
    page: str = environment.get_template("page.html").render(
        title=graph.name if title is None else title,
        version=__version__,
        graph=graph,
        settings=trained.settings,
        measure=measure_named(trained.settings.similarity.measure),
        edge_rule=edge_rule(graph, trained.settings.similarity),
        card=card,
        reliability=reliability_diagram(card.calibration),
        predictions=prediction_table(prediction, graph, explained=wanted),
        memory=labeled_memory(trained, prediction),
        sets=set_table(trained),
        misleading=misleading[:MOST_MISLEADING],
        num_misleading=len(misleading),
        numbered=graph.captions is None and all(name.isdigit() for name in graph.node_names),
        parts=list(node_parts(trained, wanted, k, progress=progress)),
        images=NodeImages(graph),
        style=style,
        script=code,
        policy=_policy(style, code),
    )
    return page


def _checked(nodes: Sequence[int] | IntArray, num_nodes: int) -> IntArray:
    ids = np.array(list(dict.fromkeys(int(node) for node in nodes)), dtype=np.int64)  # each once
    missing = ids[(ids < 0) | (ids >= num_nodes)]
    if len(missing):
        raise InputError(f"nodes must be between 0 and {num_nodes - 1}, got {missing[0]}")
    return ids


def _policy(style: str, script: str) -> str:
    """What the page may load: pictures inside it, this style, this script."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
