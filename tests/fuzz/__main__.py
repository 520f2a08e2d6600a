"""`make fuzz`: 100,000 cases; ends with an error where one is not refused cleanly."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from fuzz.runner import fuzz


def main() -> int:
    """Run, and print what became of the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run one case, by its number")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.cases) if given.only is None else [given.only]
    shared = Path("/dev/shm")  # memory, where there is such a folder
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        found = fuzz(numbers, Path(folder), seed=given.seed)
    print(found)
    return 1 if found.failures or found.megabytes > 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
