"""All tables and figures by name; each module has `TITLE`, `series()` and `render(store, pictures)`."""

from __future__ import annotations

from types import ModuleType

from reproduce import (
    authors_settings,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    more_seeds,
    presets,
    table_1,
    table_2,
    table_4,
    table_5,
)

EXPERIMENTS: dict[str, ModuleType] = {
    module.__name__.removeprefix("reproduce.").replace("_", "-"): module
    for module in (
        table_1,
        table_2,
        more_seeds,
        authors_settings,
        figure_3,
        table_4,
        table_5,
        figure_4,
        figure_5,
        figure_6,
        figure_7,
        presets,
    )
}
