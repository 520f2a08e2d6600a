"""`se-gnn predict`: one row per node, as CSV, JSON lines or Parquet, into a file or a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import Only, beside, say, without
from se_gnn.apps.cli.links import predict_pairs
from se_gnn.apps.cli.options import (
    SHARD_NODES,
    Device,
    ModelFolder,
    Nodes,
    OnDevice,
    OtherGraph,
    Overwrite,
    Quiet,
    Setting,
    column_roles,
    edge_tables,
    node_ids,
    node_tables,
    option,
    rare,
    read_settings,
    table_path,
    working,
)
from se_gnn.apps.cli.outputs import (
    FILES,
    RECORD_FILES,
    Make,
    check_file,
    is_shard_folder,
    write_file,
    write_folder,
    write_records,
)
from se_gnn.display.terminal import count, full_name, percent, table
from se_gnn.errors import InputError
from se_gnn.ranks.joining import started_by_torchrun

if TYPE_CHECKING:
    from se_gnn.graph.arrays import IntArray
    from se_gnn.labels.extension import Extension
    from se_gnn.labels.novelty import Novelty
    from se_gnn.labels.sets import SetRule
    from se_gnn.model import Model
    from se_gnn.model.numbers import Calibration


NEW = beside("--new-nodes")
OF_NODES = without("--pairs")
NOT_IN_ROWS = ("shard", "changes", "keep_graph")  # settings that the rows of a folder do not depend on
LISTED = 10  # changed answers that are printed
COVERED = Only("with --coverage", lambda values: values["coverage"] is not None)
SETTINGS = {
    "sample": Setting(int, 1),
    "shard": Setting(int, 1, only=Only("if --out is a folder", lambda values: is_shard_folder(values["out"]))),
    "method": Setting(str, only=COVERED),
    "by_class": Setting(bool, only=COVERED),
    "calibrate_on": Setting(str, only=COVERED),
    "false_alarms": Setting(float, only=beside("--abstain")),
    "changes": Setting(Path, only=NEW),
    "keep_graph": Setting(Path, only=NEW),
}


def predict(
    folder: ModelFolder,
    out: Annotated[Path, option("PATH", "File ending in .csv, .jsonl or .parquet; or a folder, for many nodes.")],
    nodes: Annotated[Nodes, OF_NODES] = None,
    coverage: Annotated[
        float | None,
        option(
            "SHARE",
            "Add prediction sets that contain the correct class this often, for example 0.9. Train with --calibration "
            "first.",
        ),
        OF_NODES,
    ] = None,
    abstain: Annotated[
        bool, typer.Option("--abstain", help="Give no answer for nodes unlike any known node."), OF_NODES
    ] = False,
    overwrite: Overwrite = False,
    new_nodes: Annotated[
        list[str] | None,
        option(
            "[TYPE=]FILE",
            "Predict the nodes of this table, which arrived after training. For several node types, repeat it.",
        ),
        OF_NODES,
    ] = None,
    new_edges: Annotated[
        list[str] | None, option("[TYPE=]FILE", "Their edges, to known nodes and to each other."), NEW
    ] = None,
    column: Annotated[
        list[str] | None,
        option(
            "COLUMN=ROLE",
            "Role of a column in these tables: id, source, target, caption or ignore. Repeatable.  [default: as in the "
            "import]",
        ),
        NEW,
    ] = None,
    settings: Annotated[
        list[str] | None,
        rare(
            "NAME=VALUE",
            "sample=N predicts only N nodes, drawn at random; shard=N writes N nodes per file of a folder (default "
            "4096). With --coverage: method=lac, aps (default) or daps; by_class=true keeps the coverage for each "
            "class; calibrate_on=validation needs no calibration nodes, but is approximate. With --abstain: "
            "false_alarms, the share of ordinary nodes without an answer (default 0.05). With --new-nodes: "
            "changes=FILE lists the known nodes whose prediction changes (.csv or .jsonl); keep_graph=DIR saves the "
            "graph with the new nodes, to use with explain --graph. Repeatable.",
            "--set",
        ),
        OF_NODES,
    ] = None,
    graph: Annotated[OtherGraph, OF_NODES] = None,
    pairs: Annotated[
        Path | None,
        rare(
            "FILE",
            "For a model of links: CSV file with the columns source, target and, if there are several, type.",
        ),
    ] = None,
    device: Annotated[OnDevice, OF_NODES] = Device.cpu,
    quiet: Quiet = False,
) -> None:
    """Predict nodes, and write the predictions to a file or folder.

    By default every node is predicted. Each row holds the name of a node, its predicted class, the probability of each
    class, and the most similar labeled nodes with their weights in the vote. A labeled node is predicted from the other
    labeled nodes.

    With --new-nodes, the new nodes and edges are added to the graph first; the model is not trained again. Several
    processes started by torchrun can write one folder together; if interrupted, run the same command again.
    """
    from se_gnn.device import resolve_device
    from se_gnn.files import read_file, sha256
    from se_gnn.graph.storage import save_graph
    from se_gnn.labels.extension import extend
    from se_gnn.model.folder import load_model

    if pairs is not None:
        predict_pairs(folder, pairs, out, overwrite=overwrite, quiet=quiet)
        return
    call = {"out": out, "coverage": coverage, "abstain": abstain, "new_nodes": new_nodes}
    given = read_settings(settings, SETTINGS, call)
    if nodes and "sample" in given:
        raise InputError("--nodes names the nodes and --set sample draws them: give only one of them")
    into_folder = is_shard_folder(out)
    ending = ".parquet" if into_folder else out.suffix.lower()
    if not into_folder:
        _check_file(out, overwrite=overwrite)
    roles = _roles(column, new_edges)
    changes, keep_graph = given.get("changes"), given.get("keep_graph")
    if changes is not None:
        check_file(changes, RECORD_FILES, overwrite=overwrite, option="--set changes")
    if keep_graph is not None and keep_graph.exists():
        raise InputError(f"--set keep_graph {keep_graph} already exists; name a folder that does not")
    extension: Extension | None = None
    extras: _Extras

    def prepare(trained: Model) -> tuple[IntArray, Make]:
        nonlocal extension, extras
        if new_nodes is not None:
            from se_gnn.tables import read_new_nodes  # needs pyarrow

            tables = node_tables(new_nodes, "--new-nodes")
            edges = edge_tables(new_edges, "--new-edges") if new_edges else None
            extension = extend(trained, read_new_nodes(trained.graph, tables, edges, **roles))
            trained = extension.trained
        ids = _chosen(trained, extension, nodes, given.get("sample"))
        extras = _Extras.of(trained, ids, coverage, abstain, given)
        return ids, lambda some: extras.content(some, ending)

    if into_folder:
        given_tables = [*(new_nodes or ()), *(new_edges or ())]
        read = {f"new {text}": sha256(read_file(table_path(text))) for text in given_tables}
        read |= {"columns": " ".join(column)} if column else {}
        decisive = [text for text in settings or () if text.partition("=")[0].strip() not in NOT_IN_ROWS]
        first = write_folder(
            "predictions", folder, graph, prepare, out=out, shard_nodes=given.get("shard", SHARD_NODES), device=device,
            overwrite=overwrite, quiet=quiet, asked=f"{coverage} {abstain} {' '.join(decisive)}", **read,
        )  # fmt: skip
        if not first:
            return
    else:
        trained = load_model(folder, graph, device=resolve_device(device.value))
        with working("predicting", quiet):
            ids, make = prepare(trained)
            content = make(ids)
        write_file(out, content)
        extras.notes = [*([extras.about_sets] if extras.about_sets else ()), *extras.notes]
        if not quiet:
            say(f"Wrote the predictions of {count(len(ids), 'node')} to {out}.")
    if extension is not None:
        if changes is not None:
            write_records([one.to_record() for one in extension.changed], changes)
        if keep_graph is not None:
            save_graph(extension.graph, keep_graph)
        extras.notes = [*_about(extension, all_written=changes is not None), *extras.notes]
    for line in extras.notes if not quiet else ():
        say(line)


def _check_file(out: Path, *, overwrite: bool) -> None:
    from se_gnn.optional import require

    if out.suffix.lower() not in FILES:
        raise InputError(f"--out must end in {', '.join(FILES)} or name a folder, got {out.name!r}")
    if started_by_torchrun():
        raise InputError(f"several processes cannot write one file: let --out name a folder, not {out.name!r}")
    check_file(out, overwrite=overwrite)
    if out.suffix.lower() == ".parquet":
        require("pyarrow", extra="tables", feature="Parquet files")


def _chosen(trained: Model, extension: Extension | None, nodes: list[str] | None, sample: int | None) -> IntArray:
    """The nodes to predict: those named, those drawn, the new ones, or all that can be predicted."""
    import numpy as np

    named = node_ids(trained.graph, nodes)
    if named is not None:
        return named
    everyone = trained.graph.candidates if extension is None else extension.new
    if sample is None:
        return everyone
    if sample > len(everyone):
        raise InputError(f"--set sample must be at most the {len(everyone):,} nodes, got {sample:,}")
    return np.sort(np.random.default_rng(trained.facts.seed).choice(everyone, sample, replace=False))


@dataclass(slots=True, eq=False)
class _Extras:
    """Prediction sets, intervals and abstaining, as they were asked for, and what to print about them."""

    trained: Model
    intervals: Calibration | None = None
    rule: SetRule | None = None
    novelty: Novelty | None = None
    notes: list[str] = field(default_factory=list)
    about_sets: str | None = None  # of the last nodes

    @classmethod
    def of(cls, trained: Model, ids: IntArray, coverage: float | None, abstain: bool, given: dict[str, Any]) -> _Extras:
        """Calibrate sets once, and score how unlike any known node each node is, all of them together."""
        from se_gnn.labels.novelty import novelty
        from se_gnn.labels.sets import set_rule
        from se_gnn.model.numbers import calibrate_intervals

        extras, about_sets = cls(trained), {name: given[name] for name in given if SETTINGS[name].only is COVERED}
        if coverage is not None and trained.graph.predicts_numbers:
            if about_sets:
                raise InputError(f"--set {next(iter(about_sets))} is for sets of classes; a number has an interval")
            extras.intervals = calibrate_intervals(trained, coverage=coverage)
            if extras.intervals is None:
                raise InputError(f"--coverage needs calibration or validation nodes, {trained.graph.name} has none")
            extras.notes.append(extras.intervals.summary())
        elif coverage is not None:
            extras.rule = set_rule(trained, coverage=coverage, **about_sets, seed=trained.facts.seed)
        if abstain:
            share = {name: given[name] for name in ("false_alarms",) if name in given}
            extras.novelty = scored = novelty(trained, ids, **share, seed=trained.facts.seed)
            extras.notes.append(
                f"The model abstains for {count(int(scored.abstains.sum()), 'node')} unlike any known node. The "
                f"threshold is set so that it abstains for {scored.false_alarms:.1%} of nodes like the "
                f"{scored.judged:,} it was calibrated on."
            )
        return extras

    def content(self, nodes: IntArray, ending: str) -> bytes:
        """The predictions of some nodes as a file."""
        from se_gnn.model.numbers import predict
        from se_gnn.results import as_file, prediction_columns

        sets = None if self.rule is None else self.rule.sets(self.trained, nodes)
        if sets is not None:
            self.about_sets = sets.summary()
        scored = None if self.novelty is None else self.novelty.of(nodes)
        found = predict(self.trained, nodes)
        columns = prediction_columns(self.trained.graph, found, intervals=self.intervals, sets=sets, novelty=scored)
        return as_file(ending, columns)


def _roles(columns: list[str] | None, edges: list[str] | None) -> dict[str, Any]:
    """What the columns of new tables are, as :func:`read_new_nodes` takes it."""
    roles = column_roles(columns, ("id", "source", "target", "caption"), ("ignore",))
    if not edges and (roles["source"] or roles["target"]):
        raise InputError("--column COLUMN=source and =target have an effect only with --new-edges: leave them out")
    return roles


def _about(extension: Extension, *, all_written: bool) -> list[str]:
    """Notes on the rows, and the known nodes whose answer changes."""
    graph, changed = extension.graph, extension.changed
    lines, what = [f"note: {note}" for note in extension.notes], "number" if graph.predicts_numbers else "class"
    if not changed:
        return [*lines, f"The {what} of every known node stays the same."]
    head, rows = ["node", "was", "is"], [[full_name(graph, one.node), one.was, one.becomes] for one in changed[:LISTED]]
    if not graph.predicts_numbers:
        head = [*head, "probability"]
        rows = [[*row, percent(one.probability)] for row, one in zip(rows, changed)]
    lines += [f"{count(len(changed), 'known node')} changed {what}:"]
    lines += [table(head, rows, names=(0,) if graph.predicts_numbers else (0, 1, 2))]
    if len(changed) > LISTED:
        lines += [f"and {len(changed) - LISTED:,} more" + ("" if all_written else "; --set changes=FILE writes all")]
    return lines
