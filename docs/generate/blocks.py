"""Parts of a page between two marks, which a command writes."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def replaced(text: str, name: str, content: str, command: str | None = None) -> str:
    r"""A page with the part between the marks of ``name`` replaced; ``command`` writes it, if that has another name.

    >>> replaced("a\n<!-- x: python -m docs.generate x -->\nold\n<!-- end of x -->\nb", "x", "new").splitlines()
    ['a', '<!-- x: python -m docs.generate x -->', 'new', '<!-- end of x -->', 'b']
    """
    start, end = f"<!-- {name}: python -m docs.generate {command or name} -->", f"<!-- end of {name} -->"
    before, rest = text.split(start)
    return f"{before}{start}\n{content}\n{end}{rest.split(end)[1]}"
