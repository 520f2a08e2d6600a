"""A file of ratings, and its store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.rating import RatingStore
from rating_file import make_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_file(tmp_path / "ratings.sqlite")


@pytest.fixture
def store(file: Path) -> Iterator[RatingStore]:
    opened = RatingStore(file)
    yield opened
    opened.close()
