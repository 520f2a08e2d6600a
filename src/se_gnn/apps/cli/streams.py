"""Standard input, output and error, which whoever starts us may have closed."""

from __future__ import annotations

import os
import sys


def open_standard_streams() -> None:
    """Put nothing in the place of each stream that is closed.

    Else the next file that is opened takes its number, and what is printed ends up in that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 (open until the end)
