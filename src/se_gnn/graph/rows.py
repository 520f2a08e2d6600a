"""One row per node or edge, in memory or in mapped files, behind one small interface.

Rows in memory are an array, and :meth:`Rows.whole` is that array. Rows of mapped files are read by id or in blocks, and
the pages that were read are given back after each block; the whole of them is refused, because it may be larger than
the memory. Shapes: N rows, B bytes of all texts together.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.files.npy import Array, forget, read_rows, take_rows
from se_gnn.files.writing import nameless_file, room_for_scratch
from se_gnn.graph.arrays import BoolArray, IntArray, as_features, dense, row_entries, row_starts

BLOCK = 64 << 20  # bytes of a block, unless noted otherwise
_ENTRY = 8  # bytes of a column and a value of sparse rows
FEW = 8  # texts that are looked up one by one
SAMPLE = 10_000  # most rows of a sample


class Rows(ABC):
    """Rows of numbers: ``take`` gives some, ``blocks`` gives all of them one block after the other."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> None:
        self.shape, self.dtype, self.what = shape, dtype, what  # ``what``: what an error calls them

    @abstractmethod
    def take(self, ids: IntArray) -> Any:
        """Some rows in memory, in the order asked for; sparse rows as a CSR matrix."""

    @abstractmethod
    def blocks(self, budget: int = BLOCK) -> Iterator[tuple[int, Any]]:
        """All rows in their order: the first row of each block, and its rows, in about ``budget`` bytes."""

    def whole(self) -> Any:
        """All rows as one array in memory; refused where they are mapped from files."""
        raise InputError(
            f"{self.what} are mapped from files, because they may not fit in memory, and this needs all of them at "
            "once: use a part of the graph, as Graph.subgraph makes it"
        )

    @property
    def in_memory(self) -> bool:
        """Whether all rows are one array in memory."""
        return False

    @property
    def sparse(self) -> bool:
        """Whether rows are those of a CSR matrix."""
        return bool(sp.issparse(self.take(np.empty(0, np.int64))))

    def indexed(self) -> Any:
        """What some rows can be read from by indexing: the array in memory, or these rows."""
        return self.whole() if self.in_memory else self

    def sample(self) -> Any:
        """Rows to take means and spreads from: all in memory; of mapped ones at most `SAMPLE`, evenly spaced."""
        return self.whole() if self.in_memory else self.take(np.arange(0, len(self), -(-len(self) // SAMPLE) or 1))

    def read(self) -> Any:
        """All rows, read into memory wherever they are; the caller knows that there is room."""
        found = [block for _, block in self.blocks()]
        if not found:
            return self.take(np.empty(0, np.int64))
        return sp.csr_array(sp.vstack(found)) if sp.issparse(found[0]) else np.concatenate(found)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Any) -> Any:
        if isinstance(ids, tuple):  # columns of all rows
            return self.whole()[ids]
        if isinstance(ids, int | np.integer):
            return self.take(np.array([ids]))[0]
        return self.take(np.arange(*ids.indices(len(self))) if isinstance(ids, slice) else np.asarray(ids))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.whole(), dtype)


class _ArrayRows(Rows):
    """An array or a CSR matrix in memory, or a mapped array, whose pages are given back after each block."""

    def __init__(self, array: Any, what: str) -> None:
        super().__init__(tuple(array.shape), array.dtype, what)
        self.array = array

    @property
    def in_memory(self) -> bool:
        return not isinstance(self.array, np.memmap)

    def whole(self) -> Any:
        return self.array if self.in_memory else super().whole()

    def take(self, ids: IntArray) -> Any:
        if self.in_memory:
            return self.array[ids]
        ascending, place = np.unique(_positions(ids, len(self)), return_inverse=True)
        return take_rows(self.array, ascending)[place]

    def blocks(self, budget: int = BLOCK) -> Iterator[tuple[int, Any]]:
        step = max(1, budget // max(1, self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))))
        for low in range(0, len(self), step):
            yield low, read_rows(self.array, low, min(low + step, len(self)))


class MappedSparseRows(Rows):
    """Sparse rows whose columns and values are mapped arrays; where each row begins is in memory."""

    def __init__(self, data: Array, indices: Array, indptr: IntArray, width: int, what: str) -> None:
        super().__init__((len(indptr) - 1, width), data.dtype, what)
        self.data, self.indices, self.indptr, self.width = data, indices, indptr, width

    def take(self, ids: IntArray) -> sp.csr_array:
        """Some rows in memory, read from the pages that hold them."""
        ascending, place = np.unique(_positions(ids, len(self)), return_inverse=True)
        ptr, entries = row_entries(self.indptr, ascending)
        found = (take_rows(self.data, entries), take_rows(self.indices, entries), ptr)
        return sp.csr_array(found, shape=(len(ascending), self.width))[place]

    def blocks(self, budget: int = BLOCK) -> Iterator[tuple[int, sp.csr_array]]:
        """All rows, read block by block."""
        for low, high in row_ranges(self.indptr, budget // _ENTRY):
            ptr = self.indptr[low : high + 1]
            first, last = int(ptr[0]), int(ptr[-1])
            found = (read_rows(self.data, first, last), read_rows(self.indices, first, last), ptr - first)
            yield low, sp.csr_array(found, shape=(high - low, self.width))


class _Stacked(Rows):
    """Rows, and further ones after them: a mapped graph and the nodes that joined it."""

    def __init__(self, first: Rows, second: Rows) -> None:
        super().__init__((len(first) + len(second), *first.shape[1:]), first.dtype, first.what)
        self.first, self.second = first, second

    def take(self, ids: IntArray) -> Any:
        positions, split = _positions(ids, len(self)), len(self.first)
        later = positions >= split
        found = stacked(self.first.take(positions[~later]), self.second.take(positions[later] - split))
        return found[np.argsort(np.argsort(later, kind="stable"))]

    def blocks(self, budget: int = BLOCK) -> Iterator[tuple[int, Any]]:
        yield from self.first.blocks(budget)
        for low, block in self.second.blocks(budget):
            yield len(self.first) + low, block


def as_rows(rows: Any, what: str = "these rows") -> Rows:
    """An array, mapped or not, or a CSR matrix as rows; rows stay what they are. ``what``: what an error calls them."""
    return rows if isinstance(rows, Rows) else _ArrayRows(rows, what)


def features_like(known: Rows, features: Any) -> Rows:
    """Features as rows in memory, dense or sparse as those that are known."""
    return as_rows(as_features(sp.csr_array(features)) if known.sparse else dense(features))


def take(rows: Any, ids: IntArray) -> Any:
    """Some rows of an array, or of rows."""
    return as_rows(rows).take(ids)


def stack(first: Any, second: Any) -> Any:
    """The rows of one array after those of another; one array where both are in memory, else stacked rows."""
    one, two = as_rows(first), as_rows(second)
    return stacked(one.whole(), two.whole()) if one.in_memory and two.in_memory else _Stacked(one, two)


def stacked(first: Any, second: Any) -> Any:
    """One array above the other, sparse or dense as the first is."""
    if not sp.issparse(first):
        return np.concatenate([first, second.toarray() if sp.issparse(second) else second]).astype(first.dtype)
    return sp.csr_array(sp.vstack([first, sp.csr_array(second)], format="csr"), dtype=first.dtype)


def filtered(rows: Any, kept: BoolArray) -> Any:
    """The rows that a mask keeps, in their order; those of mapped files go to a file that is removed with them."""
    given = as_rows(rows)
    if given.in_memory:
        return given.whole()[kept]
    blocks = (block[kept[low : low + len(block)]] for low, block in given.blocks())
    return as_rows(mapped_scratch(blocks, given.dtype, given.shape[1:]), given.what)


def mapped_scratch(blocks: Iterable[Array], dtype: Any, row_shape: tuple[int, ...] = ()) -> Array:
    """Blocks of rows, one after the other, in a mapped file without a name; it is removed with the array."""
    count = 0
    with room_for_scratch(), nameless_file() as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype).data)
            count += len(block)
        file.flush()
        shape = (count, *row_shape)
        return np.memmap(file, dtype, "r", shape=shape) if np.prod(shape) else np.empty(shape, dtype)


def row_ranges(indptr: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Consecutive rows of a CSR matrix that have at most ``most`` entries together, or one row that has more.

    >>> list(row_ranges(np.array([0, 2, 3, 9, 9]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    low, count = 0, len(indptr) - 1
    while low < count:
        high = max(low + 1, int(np.searchsorted(indptr, indptr[low] + max(1, most), side="right")) - 1)
        yield low, high
        low = high


def _positions(ids: Any, count: int) -> IntArray:
    array = np.asarray(ids)
    positions = np.flatnonzero(array) if array.dtype == bool else array.astype(np.int64)
    positions = np.where(positions < 0, positions + count, positions)
    if len(positions) and not 0 <= positions.min() <= positions.max() < count:
        raise IndexError(f"rows must be from 0 to {count - 1}")
    return positions


class Texts(Sequence[str]):
    """Texts one after the other in one array of bytes (UTF-8), in memory or mapped; each is decoded when asked for.

    Args:
        offsets: where each text begins in ``text``, and where the last one ends.
        text: the bytes of all texts.

    Shapes:
        - **offsets:** :math:`(N + 1,)`, **text:** :math:`(B,)`

    >>> texts = Texts.of(["one", "", "three"])
    >>> len(texts), texts[2], texts.find(["three", "four", "one"]).tolist()
    (3, 'three', [2, -1, 0])
    """

    __slots__ = ("offsets", "text")

    def __init__(self, offsets: IntArray, text: npt.NDArray[np.uint8]) -> None:
        self.offsets, self.text = offsets, text

    @classmethod
    def of(cls, texts: Iterable[str], *, errors: str = "surrogatepass") -> Texts:
        """Texts in memory, from strings."""
        encoded = [text.encode(errors=errors) for text in texts]
        return cls(row_starts(list(map(len, encoded))), np.frombuffer(b"".join(encoded), np.uint8))

    @property
    def in_memory(self) -> bool:
        """Whether the bytes are in memory."""
        return as_rows(self.text).in_memory

    def joined(self, later: Texts) -> Texts:
        """These texts, then more; mapped files are not changed."""
        return Texts(stack(self.offsets, self.offsets[-1] + later.offsets[1:]), stack(self.text, later.text))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        if not -len(self) <= place < len(self):
            raise IndexError(f"texts go from 0 to {len(self) - 1}")
        place %= len(self)
        return _decode(self.text[self.offsets[place] : self.offsets[place + 1]].tobytes())

    def __iter__(self) -> Iterator[str]:
        step = 1 << 16
        for low in range(0, len(self), step):
            offsets = np.asarray(self.offsets[low : low + step + 1])
            content = self.text[offsets[0] : offsets[-1]].tobytes()
            for first, last in itertools.pairwise((offsets - offsets[0]).tolist()):
                yield _decode(content[first:last])
            forget(self.offsets, self.text)

    def find(self, texts: Sequence[str]) -> IntArray:
        """Position of each of some texts, -1 where it is not there; without a table of all texts in memory."""
        if len(texts) <= FEW:
            return np.array([next(iter(self.places(text).tolist()), -1) for text in texts], np.int64)
        wanted, places = set(texts), dict[str, int]()
        for place, text in enumerate(self):
            if text in wanted:
                places.setdefault(text, place)
        return np.array([places.get(text, -1) for text in texts], np.int64)

    def places(self, text: str) -> IntArray:
        """Positions of all texts that equal one: those that are as long, then those that end alike, byte by byte."""
        wanted = text.encode(errors="surrogatepass")
        starts = read_rows(self.offsets, 0, len(self.offsets))
        left = np.flatnonzero(np.diff(starts) == len(wanted))
        for i in reversed(range(len(wanted))):
            left = left[self.text[starts[left] + i] == wanted[i]]
        forget(self.text)
        return left


def _decode(content: bytes) -> str:
    try:
        return content.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return content.decode(errors="replace")
