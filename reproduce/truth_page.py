"""The page `truth`: errors and false statements in explanations, agreement between seeds, and the same bits."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from reproduce import agreement, bits, faithfulness, graphxai, truth
from reproduce.markdown import paragraphs
from reproduce.page import machine_list, made_by
from reproduce.store import Store

PAGE = Path(__file__).resolve().parents[1] / "docs" / "understanding" / "truth.md"
INTRODUCTION = """\
# Are the explanations true?

An explanation has two parts. The vote, everything computed from the embeddings, is exact; this page checks every
number of it. The embeddings come from a learned encoder, so whether two nodes *should* be similar cannot be proved.
We can only measure how much the evidence varies between training seeds and how it affects the predictions.

    make reproduce-truth              # computes every explanation again; takes a while
    make reproduce-agreement          # evidence of five training seeds, beside other explainers
    make reproduce-faithfulness       # what happens to predictions when the evidence changes
    make reproduce-graphxai           # explanations beside a ground truth; needs a clone of GraphXAI, see below
    python -m reproduce.bits          # same seed, same bits
    python -m reproduce.truth cora --preset authors --nodes 50    # a quick look
    python -m reproduce render        # this page, from the rows in reproduce/results/

The last command writes this page, so every number comes from a result file."""


def write_truth(store: Store, page: Path = PAGE) -> None:
    """Write the page."""
    machines: list[str] = []
    sections = [
        paragraphs(f"## {experiment.TITLE}", experiment.render(store, page.parent), _made(experiment, store, machines))
        for experiment in (truth, agreement, faithfulness, graphxai)
    ]
    same = f"## Same seed, same bits\n\n{bits.render()}"
    where = paragraphs("## Machines", machine_list(machines)) if machines else ""
    page.write_text(paragraphs(INTRODUCTION, *sections, same, where) + "\n", encoding="utf-8")


def _made(experiment: ModuleType, store: Store, machines: list[str]) -> str:
    """What made the results; what was not run is said above."""
    name = experiment.__name__.removeprefix("reproduce.")
    return made_by(name, experiment, store, machines) if any(store.of(one) for one in experiment.series()) else ""
