"""Figures as files: the same input, the same bytes."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from se_gnn.errors import InputError
from se_gnn.files import replace_file, writing_to
from se_gnn.plot.settings import neutral

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# no date, and ids that do not depend on the run
_METADATA: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def save_figure(figure: Figure, path: str | Path, *, dots_per_inch: int = 150) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of ``path``, over a file that is there."""
    target = Path(path)
    with writing_to(target.parent):
        replace_file(target, figure_bytes(figure, target.suffix.removeprefix("."), dots_per_inch=dots_per_inch))


def figure_bytes(figure: Figure, kind: str, *, dots_per_inch: int = 150) -> bytes:
    """A figure as the content of a ``png``, ``svg`` or ``pdf`` file."""
    kind = kind.lower()
    if kind not in _METADATA:
        raise InputError(f"a picture must end in .png, .svg or .pdf, got {f'.{kind}' if kind else 'no ending'}")
    content = io.BytesIO()
    # fonts of type 42: journals refuse type 3
    with neutral(svg__hashsalt="se-gnn", pdf__fonttype=42), warnings.catch_warnings():
        # a name in a script that the font does not have is drawn as boxes
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support")
        figure.savefig(content, format=kind, dpi=dots_per_inch, metadata=_METADATA[kind])
    return content.getvalue()
