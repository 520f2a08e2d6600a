"""The rows of a table as it was given, kept to be shown: one text per row and column.

A row is a node, or an edge. Every different text is stored once, whichever column it is in, so that a million rows
stay small. Shapes: N rows, C columns, T different texts, B bytes of all texts together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError

NO_TEXT = -1  # code of a cell without a value


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RawTable:
    """The cells of a node table or an edge table as text; :meth:`from_columns` makes one.

    Args:
        columns: names of the columns, in the order of the table.
        codes: which text each cell holds, -1 where it is empty.
        offsets: where each text begins in ``text``, and where the last one ends.
        text: all texts one after the other, UTF-8.

    Shapes:
        - **codes:** :math:`(N, C)`
        - **offsets:** :math:`(T + 1,)`
        - **text:** :math:`(B,)`

    >>> raw = RawTable.from_columns({"country": ["DE", None, "DE"], "note": ["paid late", "refund", None]})
    >>> raw.row(0), raw.row(1)
    ({'country': 'DE', 'note': 'paid late'}, {'country': None, 'note': 'refund'})
    """

    columns: tuple[str, ...]
    codes: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    text: npt.NDArray[np.uint8]

    def __post_init__(self) -> None:
        for name, kind in (("codes", np.int32), ("offsets", np.int64), ("text", np.uint8)):
            if getattr(self, name).dtype != kind:
                raise InputError(f"raw {name} must be {np.dtype(kind)}, got {getattr(self, name).dtype}")
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.columns):
            raise InputError(f"raw must have {len(self.columns)} cells per node, got codes of shape {self.codes.shape}")
        if len(set(self.columns)) != len(self.columns):
            raise InputError(f"raw must have each column once, got {', '.join(map(repr, self.columns))}")
        offsets = self.offsets
        whole = offsets.ndim == 1 and len(offsets) and offsets[0] == 0 and offsets[-1] == len(self.text)
        if not whole or (np.diff(offsets) < 0).any():
            raise InputError("raw must have offsets that cut its text from beginning to end")
        if self.codes.size and not NO_TEXT <= self.codes.min() <= self.codes.max() < len(offsets) - 1:
            raise InputError(f"raw must have codes from {NO_TEXT} to {len(offsets) - 2}, got {self.codes.max()}")
        for array in (self.codes, offsets, self.text):
            array.setflags(write=False)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[str | None]]) -> RawTable:
        """Cells by column; None where there is no value."""
        places: dict[str, int] = {}
        num_rows = len(next(iter(columns.values()), ()))
        codes = np.full((num_rows, len(columns)), NO_TEXT, np.int32)
        for i, (name, cells) in enumerate(columns.items()):
            if len(cells) != num_rows:
                raise InputError(f"raw must have {num_rows} cells per column, column {name!r} has {len(cells)}")
            codes[:, i] = [NO_TEXT if cell is None else places.setdefault(cell, len(places)) for cell in cells]
        texts = [text.encode(errors="replace") for text in places]
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)]).astype(np.int64)
        text = np.frombuffer(b"".join(texts), np.uint8)
        return cls(columns=tuple(columns), codes=codes, offsets=offsets, text=text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RawTable):
            return NotImplemented
        arrays = ((getattr(self, name), getattr(other, name)) for name in ("codes", "offsets", "text"))
        return self.columns == other.columns and all(np.array_equal(one, two) for one, two in arrays)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.codes)

    def joined(self, later: RawTable) -> RawTable:
        """These rows, then those of another table with the same columns; the texts of both are kept.

        >>> one, two = RawTable.from_columns({"a": ["x"]}), RawTable.from_columns({"a": ["y", None]})
        >>> [one.joined(two).row(i)["a"] for i in range(3)]
        ['x', 'y', None]
        """
        if self.columns != later.columns:
            raise InputError(f"raw must have the columns {self.columns} in both tables, got {later.columns}")
        moved = np.where(later.codes == NO_TEXT, NO_TEXT, later.codes + len(self.offsets) - 1).astype(np.int32)
        return RawTable(
            columns=self.columns,
            codes=np.concatenate([self.codes, moved]),
            offsets=np.concatenate([self.offsets, self.offsets[-1] + later.offsets[1:]]),
            text=np.concatenate([self.text, later.text]),
        )

    def take(self, rows: npt.NDArray[Any]) -> RawTable:
        """Some rows, in their order, by position or mask; all texts are kept.

        >>> RawTable.from_columns({"a": ["x", "y"]}).take(np.array([1])).row(0)
        {'a': 'y'}
        """
        return dataclasses.replace(self, codes=self.codes[rows])

    def row(self, node: int) -> dict[str, str | None]:
        """The cells of one node by column; None where there is no value."""
        return {name: self._text(code) for name, code in zip(self.columns, self.codes[node].tolist())}

    def _text(self, code: int) -> str | None:
        if code == NO_TEXT:
            return None
        return self.text[self.offsets[code] : self.offsets[code + 1]].tobytes().decode(errors="replace")
