"""Which results are still of use: shown somewhere, made with the settings of today and from committed source."""

from __future__ import annotations

from collections.abc import Callable

from reproduce import attack
from reproduce.experiments import EXPERIMENTS
from reproduce.job import series_name
from reproduce.json_lines import Row
from reproduce.settings_digest import same_settings


def wanted_rows() -> Callable[[Row], bool]:
    """Says of a row whether to keep it."""
    shown = [one for experiment in EXPERIMENTS.values() for one in experiment.series()]
    settings = {one.name: one.settings for one in [*shown, *attack.series()]}

    def wanted(row: Row) -> bool:
        current = settings.get(series_name(row["job"]))
        if current is None or str(row["made"]["commit"]).endswith("with changes"):
            return False
        return same_settings(row["settings"], current)

    return wanted
