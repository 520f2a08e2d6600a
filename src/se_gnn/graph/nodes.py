"""The nodes of a graph: features, names, captions, types, and the rows of the table they came from.

Nodes are found by position (an integer) or by name (a text), without guessing between the two: in a table whose ids are
1, 2, 3, ... the name "1" is the node at position 0. Names are kept in Unicode's composed form (NFC), because two forms
of one text look the same to everybody. Shapes: N nodes, F features.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.graph.arrays import Int32Array, IntArray, as_features, check_features, check_length, check_unique
from se_gnn.graph.columns import Column, RawTable, check_columns
from se_gnn.graph.rows import Rows, Texts, as_rows, stack

MOST_DIGITS = 18  # of a position: Python refuses to read numbers of thousands
MOST_LISTED = 5  # nodes that share a caption
CLOSE_AMONG = 10_000  # names that are looked through for a close one


@dataclass(frozen=True, eq=False, kw_only=True)
class Nodes:
    """What is known of each node besides its edges and what is predicted; checked on construction, read-only after."""

    features: Rows  # node attributes X, dense or sparse (CSR), float32, [N, F]; in memory or mapped
    names: Sequence[str]  # what each node is called, once each; people find a node by it
    feature_names: tuple[str, ...] | None = None  # what people see for each feature
    columns: tuple[Column, ...] | None = None  # the columns of a table that the features were, each with its encoding
    # what people see for each node where names are codes: any text, several nodes may share one
    captions: Sequence[str] | None = None
    raw: RawTable | None = None  # the rows of the table as it was given, kept to be shown
    types: Int32Array | None = None  # type of each node, a position in `type_names`, [N]; None: all are of one type
    type_names: tuple[str, ...] = ()  # what people see for each type
    # rows and columns, where the features of a node are the pixels of a picture
    image_shape: tuple[int, int] | None = None
    # what the tables call their id, caption, source, target and so on: pairs of role and column
    roles: tuple[tuple[str, str], ...] = ()
    verified: InitVar[bool] = False  # values were checked when the files were opened; only sizes are looked at

    def __post_init__(self, verified: bool) -> None:
        object.__setattr__(self, "features", as_rows(self.features))
        if not verified:
            self._check_values()
        count, size = self.features.shape
        check_length("node_names", self.names, "entry per node", count)
        check_length("feature_names", self.feature_names, "entry per feature", size)
        check_length("captions", self.captions, "entry per node", count)
        check_length("raw", self.raw, "row per node", count)
        check_length("node_types", self.types, "entry per node", count)
        if self.columns is not None:
            check_columns(self.columns, size)
        if self.image_shape is not None and self.image_shape[0] * self.image_shape[1] != size:
            raise InputError(f"image_shape must have {size} pixels, got {self.image_shape}")
        self._check_types()

    def _check_values(self) -> None:
        features = self.features.whole()
        check_features(features)
        (features if isinstance(features, np.ndarray) else features.data).setflags(write=False)
        object.__setattr__(self, "names", unique_names(self.names))
        captions = None if self.captions is None else tuple(self.captions)
        if captions is not None and not all(isinstance(caption, str) for caption in captions):
            raise InputError("captions must be texts, the empty one where a node has none")
        object.__setattr__(self, "captions", captions)

    def _check_types(self) -> None:
        types, names = self.types, self.type_names
        if (types is None) != (not names):
            raise InputError("node_types and node_type_names must be given together")
        check_unique("node_type_names", names)
        if types is None:
            return
        if types.ndim != 1 or types.dtype != np.int32 or types.min() < 0 or types.max() >= len(names):
            raise InputError(
                f"node_types must be int32 from 0 to {len(names) - 1}, positions in node_type_names, got {types.dtype} "
                f"of shape {types.shape} from {types.min()} to {types.max()}"
            )
        types.setflags(write=False)

    def __len__(self) -> int:
        return self.features.shape[0]

    def take(self, ids: IntArray) -> Nodes:
        """Some nodes in memory, in the order asked for."""
        return dataclasses.replace(
            self,
            features=as_rows(as_features(self.features.take(ids))),
            names=tuple(self.names[i] for i in ids.tolist()),
            captions=None if self.captions is None else tuple(self.captions[i] for i in ids.tolist()),
            raw=None if self.raw is None else self.raw.take(ids),
            types=None if self.types is None else self.types[ids],
        )

    def joined(self, later: Nodes) -> Nodes:
        """These nodes, then more with the same features and types; mapped files are not changed."""
        captions = None
        if self.captions is not None or later.captions is not None:
            captions = _after(_or_empty(self.captions, len(self)), _or_empty(later.captions, len(later)))
        return dataclasses.replace(
            self,
            features=as_rows(stack(self.features, later.features)),
            names=_after(self.names, later.names),
            captions=captions,
            raw=None if self.raw is None else self.raw.joined(later.raw or self.raw.empty(len(later))),
            types=None if self.types is None or later.types is None else np.concatenate([self.types, later.types]),
            verified=True,
        )

    def blocks_by_type(self) -> dict[str, IntArray] | None:
        """The features of each type of nodes, where each type has its own; None: the features are those of all nodes.

        They are known by their names: those of the type ``paper`` are ``paper``, which marks it, and ``paper: year``.
        """
        if self.feature_names is None or not self.type_names:
            return None
        names = self.feature_names
        own = {
            node_type: [i for i, name in enumerate(names) if name == node_type or name.startswith(f"{node_type}: ")]
            for node_type in self.type_names
        }
        if sum(map(len, own.values())) != len(names):
            return None
        return {node_type: np.array(features, np.int64) for node_type, features in own.items()}

    def of_type(self, name: str) -> IntArray:
        """Ids of the nodes of a type, ascending."""
        if self.types is None or name not in self.type_names:
            raise InputError(f"node type must be one of {', '.join(self.type_names) or 'none'}, got {name!r}")
        return np.flatnonzero(self.types == self.type_names.index(name)).astype(np.int64)

    def caption(self, node: int) -> str:
        """What people see for a node: its caption, or its name where it has none."""
        return (self.captions[node] if self.captions is not None else "") or self.names[node]

    def id_of(self, node: Any) -> int:
        """Position of one node: an integer is a position, a text is a name."""
        if isinstance(node, str):
            (found,) = self._find([node])
            if found < 0:
                hint = did_you_mean(node, [*self.names[:CLOSE_AMONG], *(self.captions or ())[:CLOSE_AMONG]])
                shown = ", ".join(self.names[:3])
                raise InputError(f"unknown node {str(node)!r}{hint}; the graph has {len(self):,} nodes: {shown}, ...")
            return found
        if isinstance(node, bool | np.bool_) or not isinstance(node, int | np.integer):
            plain = node.item() if isinstance(node, np.generic) else node
            raise InputError(f"a node must be a position (a whole number) or a name (text), got {plain!r}")
        if not 0 <= node < len(self):
            raise InputError(f"unknown node {int(node)}: positions go from 0 to {len(self) - 1:,}; names are text")
        return int(node)

    def find(self, text: str) -> int:
        """The node that people mean by a text: a name, a caption that only one node has, or ``#17``, a position.

        A name that begins with ``#`` is written with another one: ``##17`` is the node named ``#17``.
        """
        if text.startswith("#") and not text.startswith("##"):
            return self._at_position(text)
        name = text.removeprefix("#")
        if self.captions is None or self.known([name]):
            return self.id_of(name)
        if isinstance(self.captions, Texts):
            captioned = self.captions.places(name).tolist()
        else:
            captioned = [node for node, caption in enumerate(self.captions) if caption == name]
        if len(captioned) > 1:
            listed = ", ".join(self.text_of(node) for node in captioned[:MOST_LISTED])
            more = ", ..." if len(captioned) > MOST_LISTED else ""
            raise InputError(
                f"{len(captioned):,} nodes have the caption {shortened(name)}; name one of them instead: {listed}{more}"
            )
        return captioned[0] if captioned else self.id_of(name)

    def text_of(self, node: int) -> str:
        """A node as :meth:`find` reads it: its name."""
        name = self.names[node]
        return f"#{name}" if name.startswith("#") else name

    def _at_position(self, text: str) -> int:
        digits = text[1:].strip()
        if not (digits.isascii() and digits.isdigit()):
            raise InputError(
                f"#POSITION must be a whole number such as #17, got {shortened(text)}; a name that begins with # is "
                f"written with another one, {shortened('#' + text)}"
            )
        if len(digits) > MOST_DIGITS:
            raise InputError(f"#POSITION must be between 0 and {len(self) - 1:,}, got {shortened(text)}")
        return self.id_of(int(digits))

    def ids_of(self, nodes: Any) -> IntArray:
        """Positions of some nodes, in their order: positions, names, or a boolean mask with one entry per node."""
        if isinstance(nodes, str | int | np.integer):
            nodes = [nodes]
        if isinstance(nodes, list | tuple) and any(isinstance(node, str) for node in nodes):
            array = np.empty(len(nodes), dtype=object)  # `asarray` would turn the positions of a mixed list into text
            array[:] = nodes
        else:
            array = np.asarray(nodes)
        if array.ndim != 1:
            raise InputError(f"nodes must be a list of positions or names, got shape {array.shape}")
        if array.dtype == bool:
            if len(array) != len(self):
                raise InputError(f"a mask must have one entry per node ({len(self):,}), got {len(array):,}")
            return np.flatnonzero(array).astype(np.int64)
        if array.dtype.kind in "iu":
            outside = array[(array < 0) | (array >= len(self))]
            if len(outside):
                self.id_of(int(outside[0]))  # says what is wrong with it
            return array.astype(np.int64)
        given = array.tolist()
        named = [i for i, node in enumerate(given) if isinstance(node, str)]
        found = dict(zip(named, self._find([given[i] for i in named])))
        return np.array([found[i] if found.get(i, -1) >= 0 else self.id_of(node) for i, node in enumerate(given)], int)

    def known(self, names: Iterable[str]) -> list[str]:
        """Those of some names that a node has, in their order."""
        asked = list(names)
        return [name for name, place in zip(asked, self._find(asked)) if place >= 0]

    def _find(self, names: Sequence[str]) -> list[int]:
        wanted = [composed(str(name)) for name in names]
        if isinstance(self.names, Texts):
            found: list[int] = self.names.find(wanted).tolist()
            return found
        return [self._places.get(name, -1) for name in wanted]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}


def _or_empty(texts: Sequence[str] | None, count: int) -> Sequence[str]:
    return Texts(np.zeros(count + 1, np.int64), np.empty(0, np.uint8)) if texts is None else texts


def _after(first: Sequence[str], second: Sequence[str]) -> Sequence[str]:
    """Texts of one sequence, then of another: in memory a tuple, else mapped ones with others after them."""
    if isinstance(first, Texts) and not first.in_memory:
        return first.joined(Texts.of(second))
    return (*first, *second)


def composed(name: str) -> str:
    r"""A name in Unicode's composed form (NFC).

    >>> composed("e\u0301") == "\u00e9"
    True
    """
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of nodes in composed form; refused where one comes twice."""
    given = tuple(names)
    wrong = next((name for name in given if not isinstance(name, str)), None)
    if wrong is not None:
        raise InputError(f"node_names must be texts, got {wrong!r}")
    found = tuple(map(composed, given))
    if len(set(found)) != len(found):
        check_unique("node_names", given)
        first: dict[str, str] = {}
        two = next((first[form], name) for name, form in zip(given, found) if first.setdefault(form, name) != name)
        shown = " and ".join(map(ascii, sorted(two)))
        raise InputError(f"node_names must be unique: {shown} are two forms of the same text (Unicode NFC)")
    return found
