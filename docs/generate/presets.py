"""The settings of the presets as tables, out of `se_gnn.config`."""

from __future__ import annotations

from typing import Any

from docs.generate.blocks import ROOT, replaced
from se_gnn.config import PRESETS, Config

PAGE = ROOT / "docs" / "method.md"


def preset_tables() -> str:
    """Every setting in every preset, and what depends on a data set."""
    presets = {name: _flat(Config.preset(name).to_dict()) for name in PRESETS}
    lines = [f"| setting | {' | '.join(f'`{name}`' for name in presets)} |", f"| --- |{' --- |' * len(presets)}"]
    for key in next(iter(presets.values())):
        lines.append(f"| `{key}` | {' | '.join(_shown(values[key]) for values in presets.values())} |")
    lines += [
        "",
        "For these data sets a preset has other settings:",
        "",
        "| preset, data set | settings |",
        "| --- | --- |",
    ]
    for name, dataset, changes in _by_dataset():
        words = ", ".join(f"`{key}` {_shown(value)}" for key, value in changes.items())
        lines.append(f"| `{name}`, `{dataset}` | {words} |")
    return "\n".join(lines)


def write_presets() -> None:
    """Put the tables into the page."""
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), "presets", preset_tables()), encoding="utf-8")


def _by_dataset() -> list[tuple[str, str, dict[str, Any]]]:
    """Preset, data set and what differs from the preset in general."""
    found = []
    for name, (_, by_dataset) in PRESETS.items():
        general = _flat(Config.preset(name).to_dict())
        for dataset in by_dataset:
            own = _flat(Config.preset(name, dataset=dataset).to_dict())
            found.append((name, dataset, {key: value for key, value in own.items() if value != general[key]}))
    return found


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{section}.{key}": value
        for section, values in settings.items()
        if isinstance(values, dict)
        for key, value in values.items()
    }


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
