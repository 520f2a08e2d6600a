"""What is found out about labels, for a terminal: tables that fit its width, with captions beside names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from se_gnn.display.terminal import count, full_name, paragraph, percent, room, table
from se_gnn.graph import Graph
from se_gnn.labels.audit import Audit, Finding
from se_gnn.labels.certificates import Certificates
from se_gnn.labels.edits import Preview, shown_answers
from se_gnn.labels.memory import Memory
from se_gnn.labels.suggest import Suggestion
from se_gnn.labels.values import ValueAudit

MOST_SHOWN = 10  # predictions that an edit changes
NARROW = 100  # columns of a terminal, below which a table of labels leaves one out
SHORT = dict(zip(Finding, ("wrong", "misleads", "unused", "relied on")))


def audit_text(found: Audit, top: int) -> str:
    """The most suspicious labels, how many there are of each finding, and how well wrong labels are found."""
    graph, names, judged = found.graph, found.graph.class_names, found.suspicion
    counts = [[str(one), f"{len(found.found(one)):,}", percent(len(found.found(one)) / len(found))] for one in Finding]
    rows = [
        [
            full_name(graph, row.node),
            names[row.label],
            names[row.suggested],
            percent(row.suspicion),
            names[row.vote],
            "-" if row.accuracy_gain is None else f"{100 * row.accuracy_gain:+.1f}",
            f"{row.decides:,}",
            ", ".join(SHORT[finding] for finding in row.findings),
        ]
        for row in list(found)[:top]
    ]
    header = ["node", "label", "suggested", "wrong", "vote", "accuracy", "decides", "findings"]
    left = [0, 1, 2, 4]
    about = {
        "suggested": "the class that all other labels suggest",
        "wrong": "the probability that the label is wrong",
        "vote": "the class that the other cases vote for",
        "accuracy": "the change of validation accuracy without it, in percentage points",
        "decides": "the number of predictions that its removal would change",
    }
    if room() < NARROW:  # names are worth more than another column of classes; a file has all of them
        header, rows, left = [*header[:4], *header[5:]], [[*row[:4], *row[5:]] for row in rows], [0, 1, 2]
        del about["vote"]
    tested = "There are too few validation labels to test how well wrong ones are found."
    if judged.rehearsal is not None:
        planted, hits, among, _ = judged.rehearsal
        tested = f"In a test with {planted} planted errors, {hits} were among the first {among}."
    return "\n\n".join(
        [
            f"{graph.name}: {count(len(found), 'labeled node')}",
            table(["finding", "nodes", "share"], counts),
            f"Most suspicious first\n{table(header, rows, names=left)}",
            paragraph(f"About {percent(judged.rate)} of the labels are estimated to be wrong. {tested}"),
            *([paragraph(found.not_judged)] if found.not_judged else []),
            "\n".join(f"{name}: {meaning}" for name, meaning in about.items()),
        ]
    )


def value_audit_text(found: ValueAudit, graph: Graph, top: int) -> str:
    """The most surprising values, and how many would be surprising by chance."""
    numbers, test = graph.numbers, found.rehearsal
    rows = [
        [
            full_name(graph, int(found.nodes[i])),
            numbers.text(float(found.values[i])),
            numbers.text(float(found.predicted[i])),
            f"{found.surprise[i]:.1f}",
            f"{found.effect[i]:+.2g}",
            "surprising" if found.surprising[i] else "",
        ]
        for i in found.order[:top]
    ]
    summary = (
        f"{count(int(found.surprising.sum()), 'value is', 'values are')} further from the prediction of the other "
        f"cases than 99 of 100 validation nodes; {found.by_chance} expected by chance. In a test with {test.planted} "
        f"planted values, {test.found} were among the first {test.planted}."
    )
    return "\n\n".join(
        [
            f"{graph.name}: {numbers.name} of {count(len(found.nodes), 'labeled node')}",
            f"Most surprising first\n{table(['node', 'known', 'predicted', 'surprise', 'effect', ''], rows)}",
            paragraph(summary),
            "predicted: the number that the other cases predict\n"
            "surprise: the distance of the two, in units of the usual error there\n"
            "effect: the change of the mean validation error without it",
        ]
    )


def suggestions_text(found: Sequence[Suggestion], graph: Graph) -> str:
    """The nodes to label next, the most helpful first."""
    rows = [
        [
            full_name(graph, one.node),
            one.predicted,
            percent(one.uncertainty),
            graph.caption(graph.node_id(one.nearest)),
            f"{one.similarity:.2f}",
            f"{one.represents:,}",
        ]
        for one in found
    ]
    header = ["node", "predicted", "uncertainty", "nearest case", "cosine", "represents"]
    return table(header, rows, names=(0, 1, 3))


def certificates_text(found: Certificates) -> str:
    """How many predictions survive any change of up to r labels."""
    rows = [
        [f"{r:,}", percent(found.removal.share_certified(r)), percent(found.relabeling.share_certified(r))]
        for r in found.counts
    ]
    title = f"{found.graph.name}: share of {count(len(found), 'prediction')} that survive any change of up to r labels"
    return f"{paragraph(title)}\n\n{table(['r', 'removed', 'relabeled'], rows, names=())}"


def preview_text(found: Preview) -> str:
    """What an edit does to labels, to the accuracy and to predictions."""
    graph, numbers = found.edited.graph, found.edited.graph.predicts_numbers
    changes = [[full_name(graph, one.node), _label(one.was.label), _label(one.becomes.label)] for one in found.changes]
    before, after = found.validation_before, found.validation_after
    figures = [
        ["R2" if numbers else "accuracy", *(_figure(one.accuracy, numbers) for one in (before, after))],
        ["mean absolute error" if numbers else "log loss", f"{before.loss:.4f}", f"{after.loss:.4f}"],
        ["nodes", f"{before.nodes:,}", f"{after.nodes:,}"],
    ]
    shown = found.changed[:MOST_SHOWN]
    was, now = (shown_answers(graph, one.of_nodes(shown)) for one in (found.before, found.after))
    rows = [[full_name(graph, node), *answers] for node, *answers in zip(shown.tolist(), was, now)]
    changed = f"{count(len(found.changed), 'prediction')} of {len(found.compared):,} would change"
    if len(found.before.nodes) < graph.num_nodes:
        changed += f"; the graph has {graph.num_nodes:,} nodes, and these are evenly spread"
    if rows:
        changed += "\n" + table(["node", "before", "after"], rows, names=(0, 1, 2))
        changed += "\n..." if len(found.changed) > MOST_SHOWN else ""
    return "\n\n".join(
        [
            table(["labeled node", "was", "becomes"], changes, names=(0, 1, 2)),
            table(["validation", "before", "after"], figures),
            changed,
            "The encoder learned from the old labels, so similarities stay as they are.",
        ]
    )


def history_text(memory: Memory) -> str:
    """All edits, oldest first."""
    lines, numbers = [], memory.trained.graph.predicts_numbers
    for entry in memory.history:
        figures = [_figure(one, numbers) for one in (entry.accuracy_before, entry.accuracy_after)]
        accuracy = f"validation {'R2' if numbers else 'accuracy'} {figures[0]} to {figures[1]}"
        changed = count(entry.predictions_changed, "prediction") + " changed"
        lines.append(f"{entry.number}  {entry.when}  {entry.by}: {entry.action}, {accuracy}, {changed}")
        lines += [f"   reason: {entry.reason}"] if entry.reason else []
        for change in entry.changes:
            name = full_name(memory.trained.graph, change.node)
            lines.append(f"   {name}: {_label(change.was.label)} to {_label(change.becomes.label)}")
    return "\n".join(lines)


def _figure(value: float | None, numbers: bool) -> str:
    """An accuracy, or R2 if numbers are predicted."""
    if not numbers:
        return percent(value)
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"


def _label(label: str | None) -> str:
    return "not labeled" if label is None else label
