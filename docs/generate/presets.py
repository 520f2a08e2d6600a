"""The settings of the presets as tables, from `se_gnn.settings`."""

from __future__ import annotations

from typing import Any

from docs.generate.blocks import ROOT, replaced
from se_gnn.settings import Settings
from se_gnn.settings.presets import PRESETS
from se_gnn.settings.sections import OWNERS

PAGE = ROOT / "docs" / "understanding" / "method.md"


def preset_tables() -> str:
    """Every setting in every preset, and what depends on a data set."""
    presets = {name: Settings.of(name).resolve().values() for name in PRESETS}
    lines = [f"| setting | {' | '.join(f'`{name}`' for name in presets)} |", f"| --- |{' --- |' * len(presets)}"]
    for name in OWNERS:
        cells = (_shown(values[name]) if name in values else "not read" for values in presets.values())
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
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
    presets = PRESETS.items()
    return [(name, data, dict(values)) for name, preset in presets for data, values in preset.by_dataset.items()]


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
