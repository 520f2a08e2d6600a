"""Which nodes to label next: test accuracy by the number of labels, chosen by `suggest` or at random, on Cora."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import NOT_APPLICABLE, paragraphs, spread, table
from reproduce.methods import ONE_RUN, se_gnn_settings
from reproduce.store import Store

TITLE = "What to label next: accuracy by the number of labels"
ELSEWHERE = True  # on docs/understanding/measurements.md
DATASET = "cora"
CHOICES = {"suggested": "suggested", "random": "drawn at random"}
LABELS = (7, 14, 28, 42, 56, 70, 105, 140)  # one per class at first, 140 as in the public split
MORE = (210, 280)  # that drawn ones may need
ABOUT = """\
The table shows the mean and standard deviation of the test accuracy over the seeds on Cora, with the default preset
limited to one recipe and one encoder. Both methods start with the same labels: one node of each class, drawn by the
seed. Then nodes are chosen among all nodes outside the validation and test sets, get their labels, and the model is
retrained, up to the 140 labels of the public split. Random choice goes on to 280. *Full split* uses the 20 labeled
nodes per class of the public split."""


def chosen_by(choice: str) -> Series:
    """Labels that come by one way of choosing; ``full`` is the public split."""
    labels = [*LABELS, *MORE] if choice == "random" else list(LABELS)
    settings = {"config": se_gnn_settings(DATASET, "best", **ONE_RUN), "labels": labels, "choice": choice}
    return Series(kind="suggest", dataset=DATASET, method="se-gnn", variant=choice, settings=settings)


def series() -> list[Series]:
    """Both ways, and the full split."""
    return [chosen_by(choice) for choice in (*CHOICES, "full")]


def render(store: Store, pictures: Path) -> str:
    """A row per way of choosing that was run."""
    rows = []
    for choice, name in CHOICES.items():
        found = store.of(chosen_by(choice))
        if found:
            reached = len(chosen_by(choice).settings["labels"])
            cells = [spread(found, "accuracy", item=i, usual=10) for i in range(reached)]
            rows.append([name, *cells, *[NOT_APPLICABLE] * (len(LABELS) + len(MORE) - reached)])
    if not rows:
        return "> Not run yet: `make reproduce-suggest`."
    whole = store.of(chosen_by("full"))
    full = f"Full split: {spread(whole, 'accuracy', item=0, usual=10)}." if whole else ""
    return paragraphs(ABOUT, table(["labels", *map(str, LABELS + MORE)], rows), full)
