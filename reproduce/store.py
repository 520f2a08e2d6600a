"""Results on disk: one JSON file a job, written in one step, with what made it."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduce.job import Job, Series
from se_gnn.files import parse_json, read_file, replace_file, writing_to

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one job."""

    seed: int
    measures: dict[str, Any]
    seconds: float
    made: dict[str, Any]  # command, commit, machine, device, date


class Store:
    """The results in a folder."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder

    def path(self, job: Job) -> Path:
        """The file of a job."""
        return self.folder / f"{job.name}.json"

    def get(self, job: Job) -> Result | None:
        """The result of a job; None where there is none yet, or one that was made with other settings."""
        path = self.path(job)
        return _read(path, job.series) if path.exists() else None

    def of(self, series: Series) -> list[Result]:
        """The results of all seeds that were run with these settings, by seed."""
        found = [_read(path, series) for path in (self.folder / series.name).glob("seed-*.json")]
        return sorted((result for result in found if result is not None), key=lambda result: result.seed)

    def put(self, job: Job, result: Result) -> None:
        """Keep a result; a kill at any moment leaves no half of it."""
        series = job.series
        about = {name: getattr(series, name) for name in ("kind", "dataset", "method", "noise", "variant")}
        content = {
            "job": {**about, "seed": job.seed},
            "measures": result.measures,
            "seconds": round(result.seconds, 2),
            "made": result.made,
            "settings": series.settings,
        }
        path = self.path(job)
        with writing_to(path.parent):
            replace_file(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())

    def usual_seconds(self, series: Series) -> float | None:
        """How long jobs of that method on that data set took, whatever their settings; None where none was run."""
        alike = rf"{series.dataset}(\+[^/]*)?/{series.method}(\+[^/]*)?/seed-\d+\.json"
        folder = self.folder / series.kind
        found = [path for path in folder.glob("*/*/*.json") if re.fullmatch(alike, str(path.relative_to(folder)))]
        return statistics.mean(float(parse_json(read_file(path), path)["seconds"]) for path in found) if found else None


def _read(path: Path, series: Series) -> Result | None:
    content = parse_json(read_file(path), path)
    if not _same(content["settings"], series.settings):
        return None
    return Result(content["job"]["seed"], content["measures"], content["seconds"], content["made"])


def _same(stored: Any, wanted: Any) -> bool:
    """Whether settings are the same; one that did not exist when the result was made is one that is off, None."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return stored.keys() <= wanted.keys() and all(_same(stored.get(key), value) for key, value in wanted.items())
    return bool(stored == wanted)
