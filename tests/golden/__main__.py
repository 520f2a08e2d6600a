"""`PYTHONPATH=tests python -m golden [DATASET ...]` writes the golden files again; see `test_golden.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from golden.answers import DATASETS, PRESETS, answers
from golden.files import path_of, write

if __name__ == "__main__":
    for dataset in sys.argv[1:] or DATASETS:
        for preset in PRESETS:
            with tempfile.TemporaryDirectory() as folder:
                write(path_of(dataset, preset), answers(dataset, preset, Path(folder)))
            print(path_of(dataset, preset).name)
