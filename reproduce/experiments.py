"""All tables and figures by name; each module has `TITLE`, `series()` and `render(store, pictures)`.

One that has `ELSEWHERE` is not part of `docs/understanding/results.md`.
"""

from __future__ import annotations

from types import ModuleType

from reproduce import (
    agreement,
    amazon_fraud,
    audit,
    authors_settings,
    bitcoin_otc,
    counties,
    coverage,
    default,
    edge_signal,
    faithfulness,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    foreign_cases,
    graphxai,
    honesty,
    kinds,
    labels,
    left_out,
    links,
    more_seeds,
    recipes,
    rivals,
    suggest,
    table_1,
    table_2,
    table_3,
    table_4,
    table_5,
    truth,
)

EXPERIMENTS: dict[str, ModuleType] = {
    module.__name__.removeprefix("reproduce.").replace("_", "-"): module
    for module in (
        default,
        rivals,
        table_1,
        table_2,
        more_seeds,
        authors_settings,
        figure_3,
        table_3,
        table_4,
        table_5,
        figure_4,
        figure_5,
        figure_6,
        figure_7,
        truth,
        agreement,
        faithfulness,
        graphxai,
        audit,
        honesty,
        labels,
        recipes,
        coverage,
        left_out,
        suggest,
        edge_signal,
        bitcoin_otc,
        amazon_fraud,
        kinds,
        foreign_cases,
        links,
        counties,
    )
}


def file_names() -> dict[str, str]:
    """By the name of a series the experiment in whose file its results are: the first that shows it."""
    found: dict[str, str] = {}
    for name, experiment in EXPERIMENTS.items():
        for series in experiment.series():
            found.setdefault(series.name, name)
    return found


def on_results_page() -> dict[str, ModuleType]:
    """Those that `docs/understanding/results.md` shows."""
    return {name: module for name, module in EXPERIMENTS.items() if not hasattr(module, "ELSEWHERE")}
