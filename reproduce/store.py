"""Results on disk: a JSON-lines file per experiment, a row per job, with all that made it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reproduce.job import IDENTITY, Job, Series, series_name
from reproduce.json_lines import Row, append_row, read_rows, write_rows
from reproduce.settings_digest import digest_of, same_settings

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one job."""

    seed: int
    measures: dict[str, Any]
    seconds: float
    made: dict[str, Any]  # command, commit, machine, device, date


class Store:
    """The results in a folder. Of several rows for a job and its settings the last one counts."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder

    @cached_property
    def rows(self) -> dict[str, list[Row]]:
        """All rows by the name of their series."""
        found: dict[str, list[Row]] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            for row in read_rows(path):
                found.setdefault(series_name(row["job"]), []).append(row)
        return found

    def get(self, job: Job) -> Result | None:
        """The result of a job; None where there is none yet, or one that was made with other settings."""
        return next((result for result in self.of(job.series) if result.seed == job.seed), None)

    def of(self, series: Series) -> list[Result]:
        """The results of all seeds that were run with these settings, by seed."""
        current = [row for row in self.rows.get(series.name, []) if same_settings(row["settings"], series.settings)]
        by_seed = {row["job"]["seed"]: row for row in current}
        return [Result(seed, row["measures"], row["seconds"], row["made"]) for seed, row in sorted(by_seed.items())]

    def num_stale(self, series: Series) -> int:
        """How many rows of a series were made with other settings."""
        return sum(not same_settings(row["settings"], series.settings) for row in self.rows.get(series.name, []))

    def put(self, job: Job, result: Result) -> None:
        """Keep a result; a kill at any moment leaves no half of it."""
        row: Row = {
            "job": {**{part: getattr(job.series, part) for part in IDENTITY}, "seed": job.seed},
            "measures": result.measures,
            "seconds": round(result.seconds, 2),
            "made": result.made,
            "digest": digest_of(job.series.settings),
            "settings": job.series.settings,
        }
        known = self.rows.setdefault(job.series.name, [])  # read before it is written
        append_row(self.folder / f"{job.experiment}.jsonl", row)
        known.append(row)

    def keep(self, wanted: Callable[[Row], bool]) -> int:
        """Remove every other row; returns how many went."""
        gone = 0
        for path in sorted(self.folder.glob("*.jsonl")):
            rows = read_rows(path)
            kept = [row for row in rows if wanted(row)]
            if len(kept) < len(rows):
                write_rows(path, kept)
                gone += len(rows) - len(kept)
        self.__dict__.pop("rows", None)
        return gone

    def usual_seconds(self, series: Series) -> float | None:
        """How long jobs of that method on that data set took, whatever their settings; None where none was run."""
        alike = ("kind", "dataset", "method")
        found = [
            row["seconds"]
            for rows in self.rows.values()
            for row in rows
            if all(row["job"][part] == getattr(series, part) for part in alike)
        ]
        return statistics.mean(found) if found else None
