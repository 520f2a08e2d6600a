"""`se-gnn labels ...`: judge labels, choose nodes to label next, certify predictions, edit labels and undo it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from se_gnn.apps.cli.commands import say, without
from se_gnn.apps.cli.options import (
    ModelFolder,
    Nodes,
    OtherGraph,
    OverwriteFile,
    Quiet,
    QuietFile,
    node_ids,
    option,
    shows_progress,
    working,
)
from se_gnn.apps.cli.outputs import RECORD_FILES, Record, check_file, output_folder, write_records
from se_gnn.display.terminal import count as counted
from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.labels import Memory, Preview
    from se_gnn.model import Model

Out = Annotated[Path | None, option("FILE", "Write everything to this file; .csv or .jsonl.")]
RETRAINING = ".audit"  # folder in that of a model, for checkpoints of an audit
Answers = TypeVar("Answers")
Found = tuple[Sequence[Record], str]  # what is written, and what is printed


def audit(
    folder: ModelFolder,
    out: Out = None,
    top: Annotated[int, option("N", "How many labeled nodes to print.", min=1), without("--quiet")] = 15,
    graph: OtherGraph = None,
    retrain: Annotated[
        bool,
        typer.Option(
            "--retrain",
            help="Judge each label by a model that was trained without it. Trains up to five times; if interrupted, "
            "the same command resumes.",
        ),
    ] = False,
    overwrite: OverwriteFile = False,
    quiet: QuietFile = False,
) -> None:
    """Find labels that are probably wrong.

    Also finds labeled nodes that mislead others or are never used. The most suspicious nodes come first. For each:
    the probability that its label is wrong, the class that all other labels suggest, the class that the other cases
    vote for, the change of validation accuracy without it, its Shapley value in the vote, how many predictions use
    it, and how many its removal would change. The model does not change; use `se-gnn labels edit` for that.
    """
    from se_gnn.labels import audit as judge
    from se_gnn.labels.retrained import retrained_numbers, retrained_votes
    from se_gnn.labels.terminal import audit_text, value_audit_text
    from se_gnn.labels.values import audit_values

    note = "\n\nEach known answer was judged by models that were trained without it." if retrain else ""

    def compute(trained: Model) -> Found:
        seed = trained.facts.seed
        if trained.graph.predicts_numbers:
            numbers = _retrained(retrained_numbers, trained, folder, quiet) if retrain else None
            values = audit_values(trained, seed=seed, retrained=numbers)
            return values.records(trained.graph), value_audit_text(values, trained.graph, top) + note
        votes = _retrained(retrained_votes, trained, folder, quiet) if retrain else None
        found = judge(trained, seed=seed, retrained=votes)
        return [row.to_record(trained.graph) for row in found], audit_text(found, top) + note

    _show("audit", compute, folder, graph, out, overwrite, quiet)


def suggest(
    folder: ModelFolder,
    count: Annotated[int | None, option("N", "How many nodes (default: 20, or all that are left).", min=1)] = None,
    out: Out = None,
    nodes: Nodes = None,
    graph: OtherGraph = None,
    overwrite: OverwriteFile = False,
    quiet: QuietFile = False,
) -> None:
    """Suggest which nodes to label next, the most helpful first.

    A label helps most if the model is uncertain about the node and about many nodes like it, and no labeled node is
    near. Each node is chosen as if the ones before it were labeled. Then add the labels with `se-gnn labels edit DIR
    add`, or train again.
    """
    from se_gnn.labels.suggest import suggest as choose
    from se_gnn.labels.terminal import suggestions_text

    def compute(trained: Model) -> Found:
        found = choose(trained, count, candidates=node_ids(trained.graph, nodes), seed=trained.facts.seed)
        return [one.to_record(trained.graph) for one in found], suggestions_text(found, trained.graph)

    _show("suggestions", compute, folder, graph, out, overwrite, quiet)


def certify(
    folder: ModelFolder,
    out: Out = None,
    nodes: Nodes = None,
    graph: OtherGraph = None,
    overwrite: OverwriteFile = False,
    quiet: QuietFile = False,
) -> None:
    """Find the fewest label changes that change each prediction.

    A change removes a labeled node or gives it another class. Prints the share of predictions that survive any
    removal, or any relabeling, of up to r labeled nodes. The search is exact. Embeddings stay as they are: training
    without those nodes could give other results.
    """
    from se_gnn.labels import certify as search
    from se_gnn.labels.terminal import certificates_text

    def compute(trained: Model) -> Found:
        found = search(trained, node_ids(trained.graph, nodes))
        return [found.to_record(i) for i in range(len(found))], certificates_text(found)

    _show("certificates", compute, folder, graph, out, overwrite, quiet)


Action = StrEnum("Action", ["add", "remove", "relabel", "restore"])


def edit(
    folder: ModelFolder,
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="add, remove, relabel or restore.")],
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT...",
            help="add, relabel: NODE=CLASS, or NODE=NUMBER; remove: NODE (name, caption or #POSITION); restore: number "
            "of a state.",
        ),
    ],
    reason: Annotated[str, option("TEXT", "Reason, kept in the history.")] = "",
    by: Annotated[str | None, option("NAME", "Name kept in the history.  [default: the user's name]")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    out: Annotated[
        Path | None, option("DIR", "Write the edited model to this new folder and keep the original.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Edit labels without retraining; every edit can be undone.

    add labels nodes so that they vote; validation and test nodes leave their split. remove stops labeled nodes from
    voting, relabel changes their class, and restore returns to the labels after an earlier edit. The edited model gives
    the same answers as if it had been recomputed from scratch. One limit: the encoder learned from the old labels, so
    similarities stay as they are.
    """
    from se_gnn.labels.memory import edit_folder
    from se_gnn.labels.terminal import preview_text

    def edited(memory: Memory) -> Preview:
        apply: Callable[..., Preview] = getattr(memory, action.value)
        return apply(_asked(memory, action, what), reason=reason, by=by, dry_run=dry_run)

    found = edit_folder(folder, edited, dry_run=dry_run, out=out)
    if quiet:
        return
    say(preview_text(found))
    number = len(found.edited.history)
    if dry_run:
        kept = {"in": out, "by": by, "with the reason": reason}
        saved = ", ".join(f"{what} {value}" for what, value in kept.items() if value)
        say("\nNothing was changed (--dry-run)." + (f" The edit would be saved {saved}." if saved else ""))
    else:
        say(f"\nWrote {out or folder}, state {number}; `restore {number - 1}` undoes this edit.")


def history(folder: ModelFolder) -> None:
    """List all edits of the labels of a model, oldest first."""
    from se_gnn.labels import Memory
    from se_gnn.labels.terminal import history_text
    from se_gnn.model.folder import load_model

    memory = Memory(load_model(folder))
    say(history_text(memory) if memory.history else f"{folder}: the labels have not been edited since training.")


def _show(
    name: str,
    compute: Callable[[Model], Found],
    folder: Path,
    graph: Path | None,
    out: Path | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Compute something about labels, print it, and write it to a file if there is one."""
    from se_gnn.model.folder import load_model

    if out is not None:
        check_file(out, RECORD_FILES, overwrite=overwrite)
    trained = load_model(folder, graph)
    with working(name, quiet):
        records, text = compute(trained)
    if out is not None:
        write_records(records, out)
        text += f"\n\nWrote {counted(len(records), 'node')} to {out}."
    if not quiet:
        say(text)


def _retrained(judge: Callable[..., Answers], trained: Model, folder: Path, quiet: bool) -> Answers:
    """What models say that are trained again; their checkpoints are in the folder of the model until all are done."""
    progress = shows_progress(quiet)
    with output_folder(folder, RETRAINING, resume=True) as work:
        try:
            return judge(trained, seed=trained.facts.seed, folder=work, progress=progress)
        except KeyboardInterrupt as interrupt:
            say("\ninterrupted: the same command resumes", err=True)
            raise typer.Exit(130) from interrupt


def _asked(memory: Memory, action: Action, what: list[str]) -> dict[int, str] | list[int] | int:
    """Nodes with their classes, nodes, or a state: what an edit is about."""
    if action in (Action.add, Action.relabel):
        return _labels(memory, what)
    if action is Action.remove:
        return [memory.trained.graph.nodes.find(node) for node in what]
    if len(what) != 1 or not what[0].isdecimal():
        raise InputError(f"restore takes the number of one state (see se-gnn labels history), got {' '.join(what)!r}")
    return int(what[0])


def _labels(memory: Memory, texts: list[str]) -> dict[int, str]:
    """Nodes with their classes, from NODE=CLASS; if names contain equals signs, the last one before a known class."""
    graph, labels = memory.trained.graph, dict[int, str]()
    classes = () if graph.predicts_numbers else graph.class_names
    for text in texts:
        signs = [i for i, character in enumerate(text) if character == "=" and i > 0]
        if not signs:
            raise InputError(f"write NODE=CLASS, got {text!r}")
        place = next((i for i in reversed(signs) if text[i + 1 :] in classes), signs[-1])
        node = graph.nodes.find(text[:place])
        if node in labels:
            raise InputError(f"each node can be changed only once, but {graph.node_names[node]!r} is named twice")
        labels[node] = text[place + 1 :]
    return labels
