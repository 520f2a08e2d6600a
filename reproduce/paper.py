"""The numbers that the paper prints, out of `paper.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

PAPER = Path(__file__).with_name("paper.toml")


@cache
def printed(part: str) -> dict[str, Any]:
    """What the paper prints in one of its parts, such as ``table_2``."""
    section: dict[str, Any] = tomllib.loads(PAPER.read_text(encoding="utf-8"))[part]
    return section


def words(part: str) -> str:
    """What the paper says about one of its figures, whose numbers it does not print."""
    about = printed(part)
    return f"The paper says: {about['text']} It does not print {about['not_printed']}."
