"""Links on the command line: `train --task links`, `predict --pairs`, `recommend`, `explain --pair`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from se_gnn.apps.cli.commands import say
from se_gnn.apps.cli.options import (
    ModelFolder,
    Nodes,
    OverwriteFile,
    QuietFile,
    Setting,
    node_ids,
    option,
    read_settings,
    shows_progress,
)
from se_gnn.apps.cli.outputs import RECORD_FILES, check_file, check_model_folder, write_records
from se_gnn.display.terminal import count, percent, table
from se_gnn.errors import InputError
from se_gnn.number_format import number

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.links import PairExplanation, SEGNNLinkPredictor

SETTINGS = {"num_nearest": Setting(int), "node_weight": Setting(float)}


def train_links(graph: Graph, out: Path, *, settings: list[str], seed: int, overwrite: bool, quiet: bool) -> None:
    """Fit a model of links and save it."""
    from se_gnn.links import SEGNNLinkPredictor

    check_model_folder(out, overwrite=overwrite, links=True)
    given = read_settings(settings, SETTINGS, {})
    if not quiet:
        say(f"{graph.name}: {count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}; the edges are links")
    fitted = SEGNNLinkPredictor(**given, seed=seed, progress=shows_progress(quiet)).fit(graph)
    fitted.save(out)
    if quiet:
        return
    facts, chosen = fitted.trained_.facts, fitted.trained_.settings
    figures = facts["validation"]
    say(f"  K = {chosen.num_nearest}, lambda = {chosen.node_weight:g}: {facts['decisions']['reason']}")
    rows = [["MRR among hard pairs", number(figures["mrr"])], ["Hits@10", percent(figures["hits@10"])]]
    rows += [["ROC-AUC against random pairs", number(figures["roc_auc"])]]
    say(table([f"{count(round(figures['links']), 'hidden link')}", "validation"], rows))
    u, v = (graph.nodes.text_of(int(node)) for node in graph.edges.ends[0])
    say(f"\nSaved to {out}. Next, see which links are likely, and why:")
    say("  " + shlex.join(["se-gnn", "recommend", str(out), "--nodes", u, "--k", "5"]))
    say("  " + shlex.join(["se-gnn", "explain", str(out), "--pair", f"{u},{v}"]))


def predict_pairs(folder: Path, pairs: Path, out: Path, *, overwrite: bool, quiet: bool) -> None:
    """Write the probability of each pair of a file."""
    from se_gnn.links.pairs import pairs_in_file

    check_file(out, RECORD_FILES, overwrite=overwrite)
    fitted = _loaded(folder, quiet=quiet)
    named, types = pairs_in_file(fitted.graph_, pairs)
    found = dict[int, float]()
    for kind in dict.fromkeys(types):
        rows = [i for i, one in enumerate(types) if one == kind]
        found |= zip(rows, fitted.predict_proba([named[i] for i in rows], type=kind).tolist())
    names = fitted.graph_.node_names
    write_records(
        [{"source": names[u], "target": names[v], "probability": found[i]} for i, (u, v) in enumerate(named)], out
    )
    if not quiet:
        say(f"Wrote the probabilities of {count(len(named), 'pair')} to {out}.")


def recommend(
    folder: ModelFolder,
    nodes: Nodes = None,
    k: Annotated[int, option("N", "How many links for each node.", "--k", "-k", min=1)] = 10,
    kind: Annotated[str | None, option("NAME", "Type of the links, if the graph has several.", "--type")] = None,
    out: Annotated[Path | None, option("FILE", "Write them to a file ending in .csv or .jsonl.")] = None,
    overwrite: OverwriteFile = False,
    quiet: QuietFile = False,
) -> None:
    """List the likeliest new links of nodes.

    Every node that a node may be linked with is considered, and the result is exact. Existing links are left out. With
    --out, the links of all nodes are written, unless --nodes names some.
    """
    if out is None and not nodes:
        raise InputError("give --nodes NAMES to list the links of some nodes, or --out FILE to write those of all")
    if out is not None:
        check_file(out, RECORD_FILES, overwrite=overwrite)
    fitted = _loaded(folder, quiet=quiet)
    graph = fitted.graph_
    found = fitted.recommend_all(node_ids(graph, nodes), k, type=kind)
    records = [
        {"source": graph.node_names[u], "rank": rank + 1, "target": graph.node_names[v], "probability": float(p)}
        for u, targets, probabilities in zip(found.queries.tolist(), found.nodes.tolist(), found.probabilities)
        for rank, (v, p) in enumerate(zip(targets, probabilities))
        if v >= 0
    ]
    if out is not None:
        write_records(records, out)
        if not quiet:
            say(f"Wrote {count(len(records), 'link')} of {count(len(found.queries), 'node')} to {out}.")
        return
    for u, targets, probabilities in zip(found.queries.tolist(), found.nodes.tolist(), found.probabilities):
        rows = [[graph.caption(v), percent(float(p))] for v, p in zip(targets, probabilities) if v >= 0]
        say(table([f"{graph.caption(u)}: likely links", "probability"], rows))


def show_pair(folder: Path, pair: str, *, as_json: bool) -> None:
    """Print why a pair is likely to be linked, or not."""
    explanation = _explained(_loaded(folder, quiet=False), pair)
    say(explanation.to_json() if as_json else explanation.to_text())


def report_pairs(folder: Path, pairs: list[str], *, quiet: bool) -> str:
    """A web page about some pairs."""
    from se_gnn.report import pairs_html

    fitted = _loaded(folder, quiet=quiet)
    return pairs_html([_explained(fitted, text) for text in pairs], title=fitted.graph_.name)


def _explained(fitted: SEGNNLinkPredictor, text: str) -> PairExplanation:
    from se_gnn.links.pairs import pair_in_text

    u, v, kind = pair_in_text(fitted.graph_, text, [one.name for one in fitted.trained_.types])
    return fitted.explain(u, v, type=kind)


def _loaded(folder: Path, *, quiet: bool) -> SEGNNLinkPredictor:
    from se_gnn.links import SEGNNLinkPredictor

    return SEGNNLinkPredictor.load(folder, progress=shows_progress(quiet))
