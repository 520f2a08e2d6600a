"""`se-gnn explain`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import ModelFolder, OtherGraph, Overwrite, node_id, shows_progress
from se_gnn.apps.cli.commands import Only, beside
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.shard_options import (
    PATIENCE,
    SHARD_NODES,
    Device,
    MaxMemory,
    OnDevice,
    ShardNodes,
    ShardOptions,
    Wait,
    is_shard_folder,
)
from se_gnn.apps.cli.sharded import explain_in_shards
from se_gnn.apps.cli.tables import SHORTEST, WIDTH, count, percent, table
from se_gnn.display.short_names import cut, shorten_pair, width
from se_gnn.display.terminal import printable_name
from se_gnn.errors import InputError
from se_gnn.number_format import number
from se_gnn.progress import announce_compilation

if TYPE_CHECKING:
    from se_gnn.explain import Explanation

ALL = beside("--all", "everything")
MATCHED_EDGES = 8
SHARED_ATTRIBUTES = 5
MOST_COLUMNS = 12


def explain(
    folder: ModelFolder,
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The node to explain: its name, or #POSITION.", show_default=False),
    ] = None,
    graph: OtherGraph = None,
    k: Annotated[
        int, typer.Option("--k", "-k", min=1, metavar="N", help="How many of the nearest labeled nodes to show.")
    ] = 5,
    everything: Annotated[bool, typer.Option("--all", help="Explain every node, into the folder --out.")] = False,
    device: OnDevice = Device.cpu,
    max_memory: MaxMemory = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, for programs; it has a schema."), beside("--node")
    ] = False,
    edges: Annotated[
        int,
        typer.Option("--edges", min=0, metavar="N", help="How many of the most important edges to show."),
        Only("with --node, printed as text", lambda values: values["node"] is not None and not values["as_json"]),
    ] = 5,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for Parquet files of --shard nodes."), ALL
    ] = None,
    shard: Annotated[ShardNodes, ALL] = SHARD_NODES,
    wait: Annotated[Wait, ALL] = PATIENCE,
    overwrite: Annotated[Overwrite, ALL] = False,
    quiet: Annotated[bool, ALL] = False,
    progress: bool = False,
) -> None:
    """Show why a node is predicted as it is.

    In sentences first; then the nearest labeled nodes and what each of them counts, the table rows of the node and the
    closest of them side by side, the edges of the two that match, and the node's own edges that matter most.
    With --all the same of every node, as tables, with the matched edges of the --k nearest; torchrun can start several
    processes that share the work.
    """
    from se_gnn.device import resolve_device
    from se_gnn.explain import Explainer
    from se_gnn.model.folder import load_model_on

    if everything:
        if node is not None or out is None:
            raise InputError("--all explains every node into a folder: give --out FOLDER with it, and no --node")
        if not is_shard_folder(out):
            raise InputError(f"--out of --all must name a folder, without an ending, got {out.name!r}")
        explain_in_shards(
            folder, graph, k, ShardOptions(out, shard, max_memory, device, wait, overwrite, quiet, progress)
        )
        return
    if node is None:
        raise InputError("--node must name the node to explain; --all explains every node")
    trained = load_model_on(folder, graph, device=resolve_device(device.value), max_memory=max_memory)
    with announce_compilation(shown=shows_progress(progress)):
        explanation = Explainer(trained).explain(node_id(trained.graph, node), k)
    say(explanation.to_json() if as_json else _show(explanation, k, edges))


def _show(explanation: Explanation, k: int, edges: int) -> str:
    sentence = printable_name(explanation.sentence())
    parts = [textwrap.fill(sentence, WIDTH), _probabilities(explanation), _neighbors(explanation, k)]
    parts += _rows(explanation)
    parts += _shared_attributes(explanation, k)
    parts += _matches(explanation)
    parts += _crucial(explanation, edges)
    return "\n\n".join(parts)


def _probabilities(explanation: Explanation) -> str:
    order = sorted(range(len(explanation.class_names)), key=lambda c: -explanation.probabilities[c])
    likely = [c for c in order if explanation.probabilities[c] > 0][:5]
    names = [printable_name(name) for name in explanation.class_names]
    lines = [f"  {percent(explanation.probabilities[c]):>6}  {names[c]}" for c in likely]
    if explanation.label >= 0:
        lines.append(f"  Its known class is '{names[explanation.label]}'.")
    return "\n".join(["Probability of each class", *lines])


def _neighbors(explanation: Explanation, k: int) -> str:
    shown = explanation.neighbors[:k]
    rows = [
        [
            printable_name(neighbor.name),
            printable_name(neighbor.label_name),
            percent(neighbor.weight),
            number(neighbor.similarity),
            number(neighbor.node_term),
            number(neighbor.structure_term) if neighbor.structure_similarity is not None else "-",
        ]
        for neighbor in shown
    ]
    header = ["labeled node", "class", "adds", "similarity", "= node", "+ structure"]
    if explanation.graph.captions is not None:
        header.insert(1, "caption")
        for row, neighbor in zip(rows, shown):
            row.insert(1, _caption(explanation, neighbor.node))
    text = [f"The {len(shown)} nearest of {count(len(explanation.neighbors), 'voting labeled node')}"]
    text.append(table(header, rows, names=range(len(header) - 4)))
    hidden = sum(neighbor.weight for neighbor in explanation.neighbors[k:])
    note = "Each adds its share to the probability of its own class."
    if len(explanation.neighbors) > k:
        note += f" Those not shown add {percent(hidden)} together; show more with --k."
    text.append(textwrap.fill(note, WIDTH))
    return "\n".join(text)


def _rows(explanation: Explanation) -> list[str]:
    """The rows of the node and of the most similar case as their table has them, equal and close values first."""
    from se_gnn.explain.side_by_side import difference, side_by_side

    graph, closest = explanation.graph, explanation.neighbors[0]
    if graph.raw is None and graph.columns is None:
        return []
    values = side_by_side(graph, explanation.node, [closest.node])
    marks = {"equal": "=", "close": "≈", "": ""}
    rows = sorted(values.rows, key=lambda row: ("equal", "close", "").index(row.alike[0]))
    cells = [
        [marks[row.alike[0]], *map(printable_name, (row.name, row.value, row.others[0])),
         difference(row.value, row.others[0]) if row.alike[0] == "close" else ""]
        for row in rows[:MOST_COLUMNS]
    ]  # fmt: skip
    names = [_caption(explanation, node) for node in (explanation.node, closest.node)]
    counts = [sum(row.alike[0] == alike for row in rows) for alike in ("equal", "close")]
    title = f"The rows of {names[0]} and {names[1]}, the most similar case: {counts[0]} of "
    title += f"{count(len(rows) + values.hidden, 'column')} are equal"
    title += f", {counts[1]} close (≈)" if counts[1] else ""
    header, wide = ["", "column", *names, ""], counts[1] > 0
    if not wide:  # no differences to show
        header, cells = header[:-1], [row[:-1] for row in cells]
    text = [textwrap.fill(title, WIDTH), table(header, cells, names=(1, 2, 3))]
    more = len(rows) + values.hidden - len(cells)
    if more:
        text.append(f"and {count(more, 'more column', 'more columns')}")
    return ["\n".join(text)]


def _shared_attributes(explanation: Explanation, k: int) -> list[str]:
    """What the closest neighbor has in common with the node, with values; of the others the names alone."""
    closest = explanation.neighbors[0]
    shared = closest.shared_attributes
    if shared is None:
        return []
    names = [_caption(explanation, node) for node in (explanation.node, closest.node)]
    shown = shared.attributes[:SHARED_ATTRIBUTES]
    if not shown:
        return [textwrap.fill(f"{names[0]} and {names[1]} have no attribute in common.", WIDTH)]
    title = f"Attributes that {names[0]} and {names[1]} share, by what they do for their similarity"
    title += f" (first {len(shown)} of {shared.num_shared})" if shared.num_shared > len(shown) else ""
    rows = [
        [*map(printable_name, (one.name, one.target_value, one.neighbor_value)), number(one.effect)] for one in shown
    ]
    text = [textwrap.fill(title, WIDTH), table(["attribute", *names, "effect"], rows, names=(0, 1, 2))]
    text.append(
        textwrap.fill("Effect: node similarity that is lost when one of the two is without the attribute.", WIDTH)
    )
    others = [
        [
            _caption(explanation, one.node),
            "; ".join(printable_name(a.name) for a in one.shared_attributes.attributes[:3] if a.effect > 0) or "-",
        ]
        for one in explanation.neighbors[1:k]
        if one.shared_attributes is not None
    ]
    if others:
        text += ["", table(["labeled node", f"makes it similar to {names[0]}"], others, names=(0, 1))]
    return ["\n".join(text)]


def _matches(explanation: Explanation) -> list[str]:
    """Edges of the node beside those of the closest neighbor, best first; those that both have are counted."""
    closest = explanation.neighbors[0]
    matches = closest.matches
    if matches is None or not len(matches):
        return []
    same = matches.edge_ids == matches.matched_ids
    others = [i for i in (-matches.similarity).argsort(kind="stable") if not same[i]]
    shown = others[:MATCHED_EDGES]
    names = [_caption(explanation, node) for node in (explanation.node, closest.node)]
    title = f"The closest labeled node is {names[1]}."
    if same.any():
        title += f" {int(same.sum())} of the node's {count(len(matches), 'edge')} lie in its local graph, too."
    if not shown:
        return [textwrap.fill(title, WIDTH)]
    title += f" {'Other edges' if same.any() else 'Edges'} of the node and their matches there"
    title += f" (best {len(shown)} of {len(others)}):" if len(others) > len(shown) else ":"
    header = [f"edge of {names[0]}", f"match in {names[1]}", "similarity"]
    room = (WIDTH - len(header[2]) - 4) // 2  # columns are two spaces apart
    rows = [
        [
            _edge(explanation, matches.edge_ids[i], room),
            _edge(explanation, matches.matched_ids[i], room),
            number(matches.similarity[i]),
        ]
        for i in shown
    ]
    return [textwrap.fill(title, WIDTH) + "\n" + table(header, rows, names=(0, 1))]


def _crucial(explanation: Explanation, edges: int) -> list[str]:
    crucial = explanation.crucial_subgraph(size=edges)
    if not len(crucial.edge_ids):
        return []
    header = ["edge", "importance"]
    room = WIDTH - len(header[1]) - 2
    rows = [
        [_edge(explanation, edge, room), number(value)] for edge, value in zip(crucial.edge_ids, crucial.importance)
    ]
    title = f"The edges that matter most, of {count(len(explanation.edge_ids), 'edge')} in its local graph"
    return [textwrap.fill(title, WIDTH) + "\n" + table(header, rows)]


def _edge(explanation: Explanation, edge: int, room: int) -> str:
    """An edge in so many columns; of long names both stay, each cut in its middle, and what it carries is cut last."""
    if edge < 0:
        return "none of its direction and type"
    from se_gnn.explain.edge_text import EdgeText, edge_text

    if explanation.graph.edge_values is None:
        start, end = explanation.graph.edges.ends[edge].tolist()
        text = EdgeText(start, "-", end, ())
    else:
        text = edge_text(explanation.graph, edge)
    names = _caption(explanation, text.start), _caption(explanation, text.end)
    rest = width(printable_name(text.joined("", "")))
    names = shorten_pair(*names, max(2 * SHORTEST, room - rest))
    return cut(printable_name(text.joined(*names)), room)


def _caption(explanation: Explanation, node: int) -> str:
    return printable_name(explanation.caption(node))
