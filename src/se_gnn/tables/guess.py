"""What the columns of tables are likely to be: ids, ends of edges, labels, roles.

A table whose two columns hold ids of other tables is a table of edges; the others are tables of nodes. Names of columns
decide only between columns whose values would do. Everything is a proposal that people confirm.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph.arrays import Float64Array
from se_gnn.graph.split import PART_WORDS
from se_gnn.tables.source import Table, memory_of, read_table
from se_gnn.tables.values import Parsed, as_names, parse_column

MOSTLY = 0.8  # share of the values of a column that must be ids of nodes
NEARLY = 0.95  # share of different values, from which on a column is one of ids in which some are given again
SYMMETRIC = 0.9  # share of edges that are given in both directions, from which on they have no direction
MOST_CLASSES, MOST_TYPES = 20, 20
CLEARLY_CLASSES = 2.0  # score of a column of classes, from which on no number is considered
LEAST_WORDS = 4  # of a caption on average, from which on its words are learned from
MOST_MEMORY = 4 << 30  # bytes of tables that are looked at
LOOKED_AT = 100_000  # rows of an edge table, to see what it could carry besides
SECONDS = (1e8, 1e11)  # what Unix seconds lie between

# Names of columns in English, German, French and Spanish, without accents.
_IDS = ("id", "key", "code", "nr", "no", "nummer", "number", "account", "konto", "kennung", "node", "name", "codigo")
_SOURCES = (
    "source", "src", "from", "von", "payer", "sender", "absender", "zahler", "quelle", "start", "origin", "rater",
    "author", "citing", "follower", "caller", "buyer", "auftraggeber", "supplier", "lieferant", "werber", "referrer",
    "lender", "donor", "parent", "manager", "fournisseur", "vendeur", "expediteur", "emetteur", "depart", "origen",
    "emisor", "remitente", "proveedor", "desde", "actor",
)  # fmt: skip
_TARGETS = (
    "target", "dst", "dest", "to", "nach", "an", "payee", "receiver", "recipient", "empfaenger", "empfanger", "ziel",
    "end", "destination", "ratee", "paper", "cited", "followee", "callee", "seller", "zahlungsempfanger", "customer",
    "kunde", "geworbener", "referred", "borrower", "beneficiary", "child", "employee", "client", "acheteur",
    "destinataire", "arrivee", "destino", "receptor", "destinatario", "cliente", "hasta", "film", "movie",
)  # fmt: skip
_GENERIC = ("source", "src", "from", "von", "start", "origin")  # written for edges without a direction as well
_LABELS = (
    "label", "class", "target", "klasse", "fraud", "betrug", "status", "state", "risk", "risiko", "category",
    "kategorie", "topic", "thema", "outcome", "churn", "activity", "segment", "group", "gruppe", "y", "genre", "genero",
    "classe", "clase", "etiquette", "etiqueta", "defaillance", "fraude", "statut", "estado", "riesgo", "tarif",
)  # fmt: skip
_WEIGHTS = (
    "weight", "gewicht", "count", "anzahl", "strength", "frequency", "times", "amount", "betrag", "sum", "summe",
    "volume", "umsatz", "wert", "value", "quantity", "qty", "menge", "montant", "importe", "monto", "cantidad", "poids",
    "peso", "praemie", "pramie",
)  # fmt: skip
_TYPES = (
    "type", "typ", "kind", "art", "rel", "means", "category", "kategorie", "channel", "kanal", "zweck", "tipo", "role",
    "papel", "rolle",
)  # fmt: skip
_TIMES = ("time", "zeit", "date", "datum", "day", "tag", "timestamp", "when", "created", "at", "zeitpunkt", "fecha")
_CAPTIONS = (
    "name", "title", "titel", "caption", "holder", "inhaber", "bezeichnung", "kunde", "customer", "nom", "raison",
    "titre", "nombre", "titulo", "denominacion",
)  # fmt: skip
_SPLITS = ("split", "part", "set", "fold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A proposal for :func:`~se_gnn.tables.read_tables`: the tables, the settings, and the reason for each."""

    nodes: dict[str, str]
    edges: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[tuple[str, str], ...] = ()

    @property
    def several(self) -> bool:
        """Whether there are several types of nodes or edges."""
        return len(self.nodes) > 1 or len(self.edges) > 1

    @property
    def tables(self) -> tuple[Any, Any]:
        """Nodes and edges as :func:`~se_gnn.tables.read_tables` takes them."""
        if self.several:
            return (self.nodes if len(self.nodes) > 1 else next(iter(self.nodes.values()))), self.edges
        return next(iter(self.nodes.values())), next(iter(self.edges.values()))

    def command(self, out: Path) -> str:
        """The `se-gnn import` command that does the same, for people to edit."""
        words = ["se-gnn", "import"]
        typed = len(self.nodes) > 1
        for name, path in self.nodes.items():
            words += ["--nodes", f"{name}={path}" if typed else path]
        for name, path in self.edges.items():
            words += ["--edges", f"{name}={path}" if self.several else path]
        given = dict(self.settings)
        for name in ("id", "label", "target_number", "source", "target"):
            column = given.get(name)
            if isinstance(column, dict):
                column = ",".join(f"{kind}={one}" for kind, one in column.items())
            words += [f"--{name.replace('_', '-')}", column] if column is not None else []
        words += ["--column", f"{given['split']}=split"] if "split" in given else []
        if given.get("directed"):
            words.append("--directed")
        if given.get("caption"):
            words += ["--column", f"{given['caption']}=caption"]
        for name, kind in given.get("kinds", {}).items():
            words += ["--column", f"{name}={kind}"]
        for role in ("weight", "type", "time"):
            if given.get(f"edge_{role}"):
                words += ["--edge-column", f"{given[f'edge_{role}']}={role}"]
        words += ["--set", "drop_dangling=true"] if given.get("drop_dangling") else []
        return shlex.join([*words, "--out", str(out)])


@dataclass(frozen=True, eq=False)
class _Column:
    """A column, and its values as ids are compared."""

    table: Table
    name: str
    names: pa.Array

    @cached_property
    def values(self) -> pa.Array:
        """Its different values."""
        return pc.unique(self.names.drop_null())

    def unique(self, share: float = 1.0) -> bool:
        """Whether every row has a value of its own, or at least a ``share`` of them."""
        return self.names.null_count == 0 and len(self.values) >= share * len(self.names) > share

    @cached_property
    def _parsed(self) -> Parsed | None:
        try:
            return parse_column(self.table, self.name)
        except InputError:
            return None

    @property
    def kind(self) -> str:
        """What it holds; empty if that cannot be read without further settings."""
        return "" if self._parsed is None else self._parsed.kind

    @property
    def numbers(self) -> Float64Array:
        """Its numbers or dates, without those that are missing."""
        parsed = self._parsed
        return np.empty(0) if parsed is None or parsed.numbers is None else parsed.numbers[~parsed.missing]

    @property
    def num_missing(self) -> int:
        """Rows without a value, also those that say so in a word, as NA."""
        return self.names.null_count if self._parsed is None else int(self._parsed.missing.sum())

    def share_in(self, other: _Column) -> float:
        """Share of its values that another column has, too."""
        known = self.names.drop_null()
        return 0.0 if not len(known) else (pc.sum(pc.is_in(known, value_set=other.names)).as_py() or 0) / len(known)


class _Look:
    """A table and its columns."""

    def __init__(self, table: Table, path: str = "") -> None:
        self.table, self.path, self.stem, self.file = table, path, Path(path).stem, Path(path).name
        self.columns = [_Column(table, name, as_names(table, name)) for name in table.columns]

    def ids(self) -> list[_Column]:
        """Columns that can name the nodes, the likeliest first.

        Without one: columns in which some values are given again; reading the table says which.
        """
        found = [one for one in self.columns if one.unique()] or [one for one in self.columns if one.unique(NEARLY)]
        return sorted(found, key=lambda one: -_hint(one.name, _IDS))


def _hint(name: str, words: Sequence[str]) -> int:
    """How much a name says that a column is something: 2 where it is one of the words, 1 where one is part of it."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    parts = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", plain).lower())
    if len(parts) == 1 and parts[0] in words:
        return 3
    if any(part in words for part in parts):
        return 2
    return int(any(part.startswith(word) or part.endswith(word) for part in parts for word in words if len(word) > 2))


def guess_tables(paths: Sequence[str], *, label: str | None = None, **options: Any) -> Guess:
    """Propose what the columns of some tables are.

    Args:
        paths: CSV or Parquet files, at least one of nodes and one of edges, in any order.
        label: the column to predict, classes or numbers; None: the likeliest one.
        options: how CSV files are read: ``separator``, ``encoding``.
    """
    if len(paths) < 2:
        raise InputError("give at least two tables: one row per node in the first, one row per edge in the second")
    if sum(map(memory_of, paths)) > MOST_MEMORY:
        raise InputError("these tables are too large to look at; name their columns with `se-gnn import`")
    looks = [_Look(read_table(path, what="a table", **options), path) for path in paths]
    nodes, edges = _parted(looks)
    settings: dict[str, Any] = {}
    reasons: list[tuple[str, str]] = []
    ids = {look.stem: column.name for look, column in nodes}
    settings["id"] = next(iter(ids.values())) if len(set(ids.values())) == 1 else ids
    for look, column in nodes:
        rows = "different in every row" if column.unique() else "some are given again, which is an error"
        reasons.append((f"nodes {look.file}", f"IDs in column {column.name!r} ({rows})"))
    _label(nodes, settings, reasons, label)
    _edge_roles(edges, settings, reasons)
    _unknown_ends(nodes, edges, settings, reasons)
    taken = [one for one in settings.values() if isinstance(one, str)]
    others = [c for look, own in nodes for c in look.columns if c is not own and c.name not in taken]
    texts = [
        c for c in others if c.kind in ("category", "text") and len(c.values) > max(MOST_CLASSES, len(c.names) / 20)
    ]
    named = [c for c in texts if _hint(c.name, _CAPTIONS)]
    if named:
        predicted = settings.get("label", settings.get("target_number"))
        best = max(named, key=lambda c: (predicted in c.table.columns, _hint(c.name, _CAPTIONS)))
        settings["caption"] = best.name
        learned = "not used as an attribute"
        if _words(best) >= LEAST_WORDS:
            settings["kinds"], learned = {best.name: "text"}, "its words are attributes, too"
        reasons.append(("caption", f"column {best.name!r}: shown to people; {learned}"))
    return Guess(
        nodes={look.stem: look.path for look, _ in nodes},
        edges={look.stem: look.path for look, _, _ in edges},
        settings=settings,
        reasons=tuple(reasons),
    )


def _words(column: _Column) -> float:
    """Words per cell, on average."""
    cells = column.names.drop_null()
    return (pc.mean(pc.list_value_length(pc.utf8_split_whitespace(cells))).as_py() or 0.0) if len(cells) else 0.0


def _parted(looks: list[_Look]) -> tuple[list[tuple[_Look, _Column]], list[tuple[_Look, _Column, _Column]]]:
    """Tables of nodes with their ids, and tables of edges with their ends."""
    known = [one for look in looks for one in look.ids()]
    edges = []
    for look in looks:
        others = [one for one in known if one.table is not look.table]
        ends = [
            (max((column.share_in(one), _hint(one.name, _IDS)) for one in others), column)
            for column in look.columns
            if others
        ]
        ends = [(share, column) for share, column in ends if share[0] >= MOSTLY]
        if len(ends) >= 2:
            edges.append((look, *_ends([column for _, column in ends])))
    if len(edges) == len(looks):  # every table could be one of edges: the one with the most rows is
        edges = [max(edges, key=lambda edge: len(edge[0].table))]
    if not edges:
        listed = "; ".join(f"{look.path} has {', '.join(map(repr, look.table.columns))}" for look in looks)
        raise InputError(
            "no table looks like edges: a table of edges has two columns that hold the IDs of a table of nodes, which "
            f"has a column with a different ID in every row. {listed}. Name the columns with `se-gnn import`"
        )
    nodes = []
    for look in looks:
        if all(look is not edge for edge, _, _ in edges):
            ends_of = [end for _, *two in edges for end in two]
            best = max(look.ids(), key=lambda one: max(end.share_in(one) for end in ends_of), default=None)
            if best is None:
                raise InputError(f"{look.path} has no ID column: every row needs a different value")
            nodes.append((look, best))
    return nodes, edges


def _ends(columns: list[_Column]) -> tuple[_Column, _Column]:
    """Source and target among columns that hold ids: by their names, else the first two."""
    source = max(columns, key=lambda one: (_hint(one.name, _SOURCES), -columns.index(one)))
    rest = [one for one in columns if one is not source]
    target = max(rest, key=lambda one: (_hint(one.name, _TARGETS), -rest.index(one)))
    if not _hint(source.name, _SOURCES) and columns.index(target) < columns.index(source):
        source, target = target, source
    return source, target


def _label(
    nodes: list[tuple[_Look, _Column]], settings: dict[str, Any], reasons: list[tuple[str, str]], label: str | None
) -> None:
    """The column that is predicted: the one that people name, else the likeliest class, else a number with gaps."""
    columns = [one for look, own in nodes for one in look.columns if one is not own]
    named = [one for one in columns if _hint(one.name, _SPLITS)]
    split = next((one for one in named if all(text.lower() in PART_WORDS for text in one.values.to_pylist())), None)
    if split is not None:
        settings["split"] = split.name
        reasons.append(("split", f"column {split.name!r} says train, validation or test"))
    if label is not None:
        best = next((one for one in columns if one.name == label), None)
        if best is None:
            names = [one.name for one in columns]
            hint = f"{did_you_mean(label, names)}; there are: {', '.join(map(repr, names))}"
            raise InputError(f"--label: no node table has a column {label!r}{hint}")
        number = best.kind == "number" and len(best.values) > MOST_CLASSES
    else:
        best, number = _likeliest(columns, split)
    settings["target_number" if number else "label"] = best.name
    empty = f"; {best.num_missing:,} empty rows will be predicted" if best.num_missing else ""
    values: list[str] = best.values.to_pylist()
    shown = ", ".join(map(repr, sorted(values)[:4])) + (", ..." if len(values) > 4 else "")
    what = "a number" if number else f"{len(values)} classes ({shown})"
    other = "" if label is not None else " (--label COLUMN predicts another one)"
    reasons.append(("predict", f"column {best.name!r}: {what}{empty}{other}"))


def _likeliest(columns: list[_Column], split: _Column | None) -> tuple[_Column, bool]:
    """The column that looks most like what is to be predicted, and whether it is a number."""
    scored = [(_class_score(one, last=one is columns[-1]), one) for one in columns if one is not split]
    score, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    if best is not None and score >= CLEARLY_CLASSES:
        return best, False
    numbers = [one for one in columns if one.kind == "number"]
    with_gaps = [one for one in numbers if one.num_missing and len(one.values) > MOST_CLASSES]
    if len(with_gaps) == 1:
        return with_gaps[0], True
    if best is not None and score > 0:
        return best, False
    listed = ", ".join(repr(one.name) for one in columns) or "none besides the IDs"
    raise InputError(f"no column is clearly the one to predict; name it with --label COLUMN (columns: {listed})")


def _class_score(column: _Column, *, last: bool) -> float:
    """How much a column looks like the classes to predict; 0: not at all."""
    labeled = len(column.names) - column.names.null_count
    few = 2 <= len(column.values) <= min(MOST_CLASSES, max(2, labeled // 4))
    hint, number = _hint(column.name, _LABELS), column.kind == "number"
    if not few or column.kind in ("", "date", "text") or (number and not hint):
        return 0.0
    return 2.0 * hint + bool(column.names.null_count) + last + 0.5 * (not number)


def _edge_roles(
    edges: list[tuple[_Look, _Column, _Column]], settings: dict[str, Any], reasons: list[tuple[str, str]]
) -> None:
    """Ends, direction, weight, type and time of the edges."""
    sources, targets = ({look.stem: two[place].name for look, *two in edges} for place in (0, 1))
    for end, names in (("source", sources), ("target", targets)):
        settings[end] = names if len(set(names.values())) > 1 else next(iter(names.values()))
    for look, source, target in edges:
        reasons.append((f"edges {look.file}", f"from {source.name!r} to {target.name!r}, which hold IDs of nodes"))
    source, target = edges[0][1:]
    others = [one for look, *two in edges for one in look.columns if all(one is not end for end in two)]
    both = _both_ways(source, target)
    directional = all(_hint(u.name, _SOURCES) and _hint(v.name, _TARGETS) for _, u, v in edges)
    plain = source.name.lower() in _GENERIC and not others
    if directional and not plain and both < SYMMETRIC:
        settings["directed"] = True
        reasons.append(("directed", f"only {both:.0%} of the edges are given in both directions"))
    taken: set[str] = set()
    for role, words, fits in (("time", _TIMES, _is_time), ("type", _TYPES, _is_type), ("weight", _WEIGHTS, _is_weight)):
        if role == "type" and len(edges) > 1:
            continue
        found = [one for one in others if one.name not in taken and _hint(one.name, words) and fits(one)]
        if found:
            best = max(found, key=lambda one: (_hint(one.name, words), -_words_place(one.name, words)))
            taken.add(best.name)
            settings[f"edge_{role}"] = best.name
            reasons.append((role, f"column {best.name!r} of the edges"))
    rest = [one.name for one in others if one.name not in taken]
    if rest:
        reasons.append(("attributes", f"of the edges: {', '.join(map(repr, dict.fromkeys(rest)))}"))


def _unknown_ends(
    nodes: list[tuple[_Look, _Column]],
    edges: list[tuple[_Look, _Column, _Column]],
    settings: dict[str, Any],
    reasons: list[tuple[str, str]],
) -> None:
    """Leave out edges that refer to unknown nodes: most ends are known, or the tables would not be these."""
    known = pa.concat_arrays([own.names.cast(pa.string()) for _, own in nodes])
    for look, *ends in edges:
        inside = [pc.is_in(end.names, value_set=known).to_numpy(zero_copy_only=False) for end in ends]
        unknown = int((~(inside[0] & inside[1])).sum())
        if unknown:
            settings["drop_dangling"] = True
            rows = f"{unknown:,} of {len(look.table):,} rows of {look.file}"
            reasons.append(("left out", f"{rows} refer to nodes that are in no table"))


def _words_place(name: str, words: Sequence[str]) -> int:
    """Position of the first word that a name holds."""
    return next((place for place, word in enumerate(words) if word in name.lower()), len(words))


def _both_ways(source: _Column, target: _Column) -> float:
    """Share of the edges whose reverse is there, too."""
    ids = pc.unique(pa.concat_arrays([source.names, target.names])).drop_null()
    u, v = (pc.fill_null(pc.index_in(one.names, value_set=ids), -1).to_numpy(zero_copy_only=False).astype(np.int64)
            for one in (source, target))  # fmt: skip
    there = np.isin(u * len(ids) + v, v * len(ids) + u)
    return float(there.mean()) if len(there) else 0.0


def _is_time(column: _Column) -> bool:
    known = column.numbers
    seconds = len(known) > 0 and SECONDS[0] < known.min() <= known.max() < SECONDS[1]
    return column.kind == "date" or (column.kind == "number" and bool(seconds))


def _is_type(column: _Column) -> bool:
    return column.kind in ("category", "boolean") and 2 <= len(column.values) <= MOST_TYPES


def _is_weight(column: _Column) -> bool:
    known = column.numbers
    return column.kind == "number" and len(known) > 0 and bool(0 < known.min() < known.max())


def suggested_edges(table: Table, ends: tuple[str, str], roles: Iterable[str], *, directed: bool) -> str:
    """What edges could carry besides what they do, as options of `se-gnn import`; empty: nothing.

    Args:
        table: the edges.
        ends: its columns source and target.
        roles: what the edges carry already: weight, type, time.
        directed: whether they have a direction already.
    """
    look = _Look(table.head(LOOKED_AT))
    by_name = {one.name: one for one in look.columns}
    found: dict[str, Any] = {}
    _edge_roles([(look, by_name[ends[0]], by_name[ends[1]])], found, [])
    words = ["--directed"] if found.get("directed") and not directed else []
    for role in ("weight", "type", "time"):
        if f"edge_{role}" in found and role not in roles:
            words += ["--edge-column", f"{found[f'edge_{role}']}={role}"]
    return shlex.join(words)
