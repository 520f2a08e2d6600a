"""`se-gnn predict`: one row per node, as CSV, JSON lines or Parquet, into a file or a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import Only, beside, without
from se_gnn.apps.cli.links import predict_pairs, refuse_links_folder
from se_gnn.apps.cli.options import (
    LESS_COMMON,
    SHARD_NODES,
    Device,
    ModelFolder,
    Nodes,
    OnDevice,
    OtherGraph,
    Overwrite,
    ShardNodes,
    column_roles,
    node_ids,
    one_column,
    shows_progress,
)
from se_gnn.apps.cli.outputs import RECORD_FILES, check_file, write_file, write_records
from se_gnn.apps.cli.printing import count, percent, say, table
from se_gnn.apps.cli.sharded import FILES, is_shard_folder, refuse_several_ranks, write_folder
from se_gnn.apps.cli.typed_tables import edge_tables, node_tables, table_path
from se_gnn.display.terminal import full_name
from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.graph.arrays import IntArray
    from se_gnn.labels.extension import Extension
    from se_gnn.labels.novelty import Novelty
    from se_gnn.labels.sets import SetRule
    from se_gnn.model import Model

    Make = Callable[[IntArray], bytes]  # the file of some nodes

FOLDER = Only("if --out is a folder", lambda values: is_shard_folder(values["out"]))
NEW = beside("--new-nodes")
OF_NODES = without("--pairs")
LISTED = 10  # changed answers that are printed
SET_SETTINGS = ("method", "by_class", "calibrate_on")
NOVELTY_SETTINGS = ("false_alarms",)


def predict(
    folder: ModelFolder,
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="File ending in .csv, .jsonl or .parquet; or a folder, for many nodes.",
            show_default=False,
        ),
    ],
    nodes: Annotated[Nodes, OF_NODES] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Add prediction sets that contain the correct class this often, for example 0.9. Train with "
            "--calibration first.",
        ),
        OF_NODES,
    ] = None,
    abstain: Annotated[
        bool, typer.Option("--abstain", help="Give no answer for nodes unlike any known node."), OF_NODES
    ] = False,
    overwrite: Overwrite = False,
    new_nodes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TYPE=]FILE",
            help="Predict the nodes of this table, which arrived after training. For several node types, repeat it.",
        ),
        OF_NODES,
    ] = None,
    new_edges: Annotated[
        list[str] | None,
        typer.Option(metavar="[TYPE=]FILE", help="Their edges, to known nodes and to each other."),
        NEW,
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ROLE",
            help="Role of a column in these tables: id, source, target, caption or ignore. Repeatable.  "
            "[default: as in the import]",
        ),
        NEW,
    ] = None,
    changes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="List known nodes whose prediction changes; .csv or .jsonl."),
        NEW,
    ] = None,
    keep_graph: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Save the graph with the new nodes, to use with explain --graph."),
        NEW,
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="sample=N predicts only N nodes, drawn at random. With --coverage: method=lac, aps (default) or daps; "
            "by_class=true keeps the coverage for each class; calibrate_on=validation needs no calibration nodes, but "
            "is approximate. With --abstain: false_alarms, the share of ordinary nodes without an answer (default "
            "0.05). Repeatable.",
            rich_help_panel=LESS_COMMON,
        ),
        OF_NODES,
    ] = None,
    graph: Annotated[OtherGraph, OF_NODES] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For a model of links: CSV file with the columns source, target and, if there are several, type.",
            rich_help_panel=LESS_COMMON,
        ),
    ] = None,
    device: Annotated[OnDevice, OF_NODES] = Device.cpu,
    shard: Annotated[ShardNodes, FOLDER] = SHARD_NODES,
    quiet: bool = False,
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
    from se_gnn.model.folder import load_model

    if pairs is not None:
        predict_pairs(folder, pairs, out, overwrite=overwrite, quiet=quiet)
        return
    refuse_links_folder(folder, "give --pairs FILE, or list likely links with se-gnn recommend")
    extras = _Extras.read(coverage, abstain, settings)
    if nodes and extras.sample is not None:
        raise InputError("--nodes names the nodes and --set sample draws them: give only one of them")
    into_folder = is_shard_folder(out)
    if not into_folder:
        _check_file(out, overwrite=overwrite)
    arriving = None
    if new_nodes is not None:
        arriving = Arriving.checked(new_nodes, new_edges, changes, keep_graph, column, overwrite=overwrite)
    extension: Extension | None = None

    def prepare(trained: Model) -> tuple[IntArray, Make]:
        nonlocal extension
        if arriving is not None:
            extension = arriving.extend(trained)
            trained = extension.trained
        ids = _chosen(trained, extension, nodes, extras.sample)
        extras.score(trained, ids)
        return ids, lambda some: extras.content(trained, some, ".parquet" if into_folder else out.suffix.lower())

    if into_folder:
        given = [(table_path(text), text) for text in (*(new_nodes or ()), *(new_edges or ()))]
        types = ["" if Path(text) == path else text.partition("=")[0] for path, text in given]
        tables = {f"new {i}": types[i] + sha256(read_file(path)) for i, (path, _) in enumerate(given)}
        tables |= {"columns": " ".join(column)} if column else {}
        first = write_folder(
            "predictions", folder, graph, prepare, out=out, shard_nodes=shard, device=device, overwrite=overwrite,
            quiet=quiet, asked=f"{coverage} {abstain} {' '.join(settings or ())}", **tables,
        )  # fmt: skip
        if not first:
            return
    else:
        shown = shows_progress(quiet)
        trained = load_model(folder, graph, device=resolve_device(device.value))
        with announce_compilation(shown=shown), phase("predicting", shown=shown):
            ids, make = prepare(trained)
            content = make(ids)
        write_file(out, content)
        extras.notes = [*([extras.about_sets] if extras.about_sets else ()), *extras.notes]
        if not quiet:
            say(f"Wrote the predictions of {count(len(ids), 'node')} to {out}.")
    if arriving is not None and extension is not None:
        arriving.write(extension)
        extras.notes = [*arriving.about(extension), *extras.notes]
    for line in extras.notes if not quiet else ():
        say(line)


def _check_file(out: Path, *, overwrite: bool) -> None:
    from se_gnn.optional import require

    if out.suffix.lower() not in FILES:
        raise InputError(f"--out must end in {', '.join(FILES)} or name a folder, got {out.name!r}")
    refuse_several_ranks(out)
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
    """Prediction sets and abstaining: what was asked for, and what to print about the results."""

    coverage: float | None
    abstain: bool
    settings: dict[str, Any]
    sample: int | None = None  # how many nodes to draw
    novelty: Novelty | None = None
    rule: SetRule | None = None
    notes: list[str] = field(default_factory=list)
    about_sets: str | None = None  # of the last nodes

    @classmethod
    def read(cls, coverage: float | None, abstain: bool, given: list[str] | None) -> _Extras:
        from se_gnn.settings.reading import read_assignments

        settings = read_assignments(given or ())
        sample = settings.pop("sample", None)
        if sample is not None and (type(sample) is not int or sample < 1):
            raise InputError(f"--set sample must be a whole number of nodes, got {shortened(sample)}")
        for name, value in settings.items():
            if name not in (*SET_SETTINGS, *NOVELTY_SETTINGS):
                hint = did_you_mean(name, (*SET_SETTINGS, *NOVELTY_SETTINGS, "sample"))
                raise InputError(f"--set: unknown setting {shortened(name)}{hint}")
            for option, names, is_given in (
                ("--coverage", SET_SETTINGS, coverage is not None),
                ("--abstain", NOVELTY_SETTINGS, abstain),
            ):
                if name in names and not is_given:
                    raise InputError(f"--set {name} has an effect only with {option}: leave it out")
            if name == "by_class" and not isinstance(value, bool):
                raise InputError(f"--set by_class must be true or false, got {shortened(value)}")
        return cls(coverage, abstain, settings, sample)

    def score(self, trained: Model, ids: IntArray) -> None:
        """Calibrate sets once, and score how unlike any known node each node is, all of them together."""
        from se_gnn.labels.novelty import novelty
        from se_gnn.labels.sets import set_rule
        from se_gnn.model.numbers import calibrate_intervals

        if self.coverage is not None and trained.graph.predicts_numbers:
            asked = self._among(SET_SETTINGS)
            if asked:
                raise InputError(f"--set {next(iter(asked))} is for sets of classes; a number has an interval")
            intervals = calibrate_intervals(trained, coverage=self.coverage)
            if intervals is None:
                raise InputError(f"--coverage needs calibration or validation nodes, {trained.graph.name} has none")
            self.notes.append(intervals.summary())
        elif self.coverage is not None:
            asked = self._among(SET_SETTINGS)
            self.rule = set_rule(trained, coverage=self.coverage, **asked, seed=trained.facts.seed)
        if not self.abstain:
            return
        self.novelty = scored = novelty(trained, ids, **self._among(NOVELTY_SETTINGS), seed=trained.facts.seed)
        self.notes.append(
            f"The model abstains for {count(int(scored.abstains.sum()), 'node')} unlike any known node. The threshold "
            f"is set so that it abstains for {scored.false_alarms:.1%} of nodes like the {scored.judged:,} it was "
            "calibrated on."
        )

    def content(self, trained: Model, nodes: IntArray, ending: str) -> bytes:
        """The predictions of some nodes as a file."""
        from se_gnn import results

        if trained.graph.predicts_numbers:
            found = results.number_records(trained, nodes, coverage=self.coverage, scored=self._scored(nodes))
            return results.numbers_as(ending, found)
        graph, prediction, columns = trained.graph, trained.predict(nodes), list[list[results.Record]]()
        if self.rule is not None:
            sets = self.rule.sets(nodes)
            columns.append(results.set_records(sets, graph))
            self.about_sets = sets.summary()
        scored = self._scored(nodes)
        if scored is not None:
            columns.append(results.answer_records(scored, prediction, graph))
        write = {".csv": results.as_csv, ".jsonl": results.as_json_lines, ".parquet": results.as_parquet}[ending]
        return write(prediction, graph, columns)

    def _scored(self, nodes: IntArray) -> Novelty | None:
        """How unlike any known node some of the nodes are; None: it was not asked for."""
        import numpy as np

        if self.novelty is None:
            return None
        order = np.argsort(self.novelty.nodes)
        rows = order[np.searchsorted(self.novelty.nodes[order], nodes)]
        return replace(self.novelty, nodes=nodes, score=self.novelty.score[rows])

    def _among(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: value for name, value in self.settings.items() if name in names}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Arriving:
    """Tables of new nodes and edges, and where to write what came of them."""

    nodes: list[str]
    edges: list[str] | None
    changes: Path | None
    graph: Path | None
    columns: dict[str, Any]  # None: as in the import
    ignore: tuple[str, ...]

    @classmethod
    def checked(
        cls,
        nodes: list[str],
        edges: list[str] | None,
        changes: Path | None,
        graph: Path | None,
        columns: list[str] | None,
        *,
        overwrite: bool,
    ) -> Arriving:
        """Check the options; nothing is read yet."""
        if changes is not None:
            check_file(changes, RECORD_FILES, overwrite=overwrite, option="--changes")
        if graph is not None and graph.exists():
            raise InputError(f"--keep-graph {graph} already exists; name a folder that does not")
        roles = column_roles(columns, ("id", "source", "target", "caption", "ignore"))
        if not edges and (roles["source"] or roles["target"]):
            raise InputError("--column COLUMN=source and =target have an effect only with --new-edges: leave them out")
        named = {role: one_column(roles, role) for role in ("id", "source", "target", "caption")}
        return cls(nodes=nodes, edges=edges, changes=changes, graph=graph, columns=named, ignore=tuple(roles["ignore"]))

    def extend(self, trained: Model) -> Extension:
        """Read the tables, and predict on the graph with the new nodes."""
        from se_gnn.labels.extension import extend
        from se_gnn.tables.new_nodes import read_new_nodes

        nodes = node_tables(self.nodes, "--new-nodes")
        edges = edge_tables(self.edges, "--new-edges") if self.edges else None
        return extend(trained, read_new_nodes(trained.graph, nodes, edges, **self.columns, ignore=self.ignore))

    def about(self, extension: Extension) -> list[str]:
        """Notes on the rows, and the known nodes whose answer changes."""
        lines, changed = [f"note: {note}" for note in extension.notes], extension.changed
        if not changed:
            what = "number" if extension.graph.predicts_numbers else "class"
            return [*lines, f"The {what} of every known node stays the same."]
        graph = extension.graph
        rows = [
            [full_name(graph, one.node), one.was, one.becomes, percent(one.probability)] for one in changed[:LISTED]
        ]
        changes = "changed number" if graph.predicts_numbers else "changed class"
        more = len(changed) - LISTED
        end = [] if more <= 0 else [f"and {more:,} more" + ("; --changes FILE writes all" if not self.changes else "")]
        return [
            *lines,
            f"{count(len(changed), 'known node')} {changes}:",
            table(["node", "was", "is", "probability"], rows, names=(0, 1, 2))
            if not graph.predicts_numbers
            else table(["node", "was", "is"], [row[:3] for row in rows], names=(0,)),
            *end,
        ]

    def write(self, extension: Extension) -> None:
        """Write what was asked for: changed answers, the graph."""
        from se_gnn.graph.storage import save_graph

        if self.changes is not None:
            write_records([one.to_record() for one in extension.changed], self.changes)
        if self.graph is not None:
            save_graph(extension.graph, self.graph)
