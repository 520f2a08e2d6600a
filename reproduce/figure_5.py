"""Figure 5: accuracy on Citeseer when edges are poisoned or random."""

from __future__ import annotations

from pathlib import Path

from reproduce import chart
from reproduce.job import Series
from reproduce.markdown import measured, paragraphs, spread, table
from reproduce.methods import NAMES, classify
from reproduce.paper import words
from reproduce.store import Store

TITLE = "Figure 5: robustness on Citeseer"
METHODS = ("gcn", "pro-gnn", "se-gnn")
NOISES = {"metattack": "Metattack", "random": "random noise"}
RATES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
NOTE = """\
*Metattack* uses the poisoned graphs that the authors of Pro-GNN published, one for each rate. *Random noise* adds
that share of random edges, drawn by the seed."""


def at_rate(method: str, noise: str, rate: float) -> Series:
    """A method on Citeseer; without noise it is the series of Table 2."""
    return classify("citeseer", method, noise=f"{noise}-{rate:g}" if rate else "")


def series() -> list[Series]:
    """Every method at every rate."""
    return [at_rate(method, noise, rate) for method in METHODS for noise in NOISES for rate in RATES]


def render(store: Store, pictures: Path) -> str:
    """The curves and a table of each kind of noise."""
    figure, axes = chart.panels([name.capitalize() for name in NOISES.values()], columns=2)
    tables = []
    for (noise, name), panel in zip(NOISES.items(), axes):
        results = {method: [store.of(at_rate(method, noise, rate)) for rate in RATES] for method in METHODS}
        lines = {method: [100 * measured(one, "accuracy") for one in by_rate] for method, by_rate in results.items()}
        chart.draw_lines(panel, [100 * rate for rate in RATES], lines, xlabel="perturbed (%)", ylabel="accuracy (%)")
        rows = [[NAMES[method], *(spread(one, "accuracy") for one in results[method])] for method in METHODS]
        tables.append(table([name, *(f"{rate:.0%}" for rate in RATES)], rows))
    picture = chart.finish(figure, pictures / "figure-5.svg", alt="accuracy under attack and under random noise")
    return paragraphs(words("figure_5"), NOTE, picture, *tables)
