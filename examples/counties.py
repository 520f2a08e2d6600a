"""Predict the median income of US counties from the counties they are like, and show the comparables.

`python examples/counties.py [FOLDER]` reads `counties_2012.csv`, `counties_2016.csv` and `borders.csv` from the folder
(default: `counties` in the folder that SE_GNN_DATA names): a row per county, and a row per pair of neighbors. It
imports the tables, trains, explains a county, lists surprising values, and predicts 2016 without training again.
"""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import Any

from se_gnn import SEGNNRegressor, read_tables
from se_gnn.errors import InputError

COLUMNS = {"id": "county", "source": "county", "target": "neighbor", "caption": "name"}


def main(
    folder: Path, *, target: str = "median_income", unit: str = "USD", progress: bool = True, **settings: Any
) -> None:
    """From CSV files to explained numbers; ``settings`` are those of the regressor."""
    files = [folder / name for name in ("counties_2012.csv", "counties_2016.csv", "borders.csv")]
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None:
        raise InputError(f"{missing} is missing; its columns: county, name and numbers (borders.csv: county, neighbor)")
    imported = read_tables(files[0], files[2], target_number=target, unit=unit, **COLUMNS)
    print(imported.summary)

    regressor = SEGNNRegressor(calibration=0.5, progress=progress, **settings).fit(imported.graph)
    for decision in regressor.settings_.decisions:
        print(textwrap.fill(f"decided: {decision}", 80))
    test = regressor.evaluate()["test"]
    numbers = regressor.graph_.numbers
    print(f"\nTest counties: R2 {test['r2']:.3f}, mean absolute error {numbers.text(test['mae'])}")
    print(f"{test['interval_coverage']:.0%} of the 90% intervals hold the true number\n")
    print(textwrap.fill(regressor.explain(int(regressor.graph_.test[0]), 3).sentence(), 80))

    audit = regressor.audit()
    print("\nKnown values that are furthest from what the other counties say:")
    for i in audit.order[:3].tolist():
        known, said = (numbers.text(float(value[i])) for value in (audit.values, audit.predicted))
        print(f"  {regressor.graph_.caption(int(audit.nodes[i]))}: {known}, the others say {said}")

    later = read_tables(files[1], files[2], target_number=target, unit=unit, like=regressor.graph_, **COLUMNS).graph
    print(f"\n2016, without training again: R2 {regressor.with_graph(later).score(later.test):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(os.environ.get("SE_GNN_DATA", ".")) / "counties")
