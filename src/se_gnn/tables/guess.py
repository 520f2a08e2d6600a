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
    reasons: list[tuple[str, str]] = field(default_factory=list)

    @property
    def several(self) -> bool:
        """Whether there are several types of nodes or edges."""
        return len(self.nodes) > 1 or len(self.edges) > 1

    @property
    def tables(self) -> tuple[Any, Any]:
        """Nodes and edges as :func:`~se_gnn.tables.read_tables` takes them."""
        nodes = self.nodes if len(self.nodes) > 1 else next(iter(self.nodes.values()))
        return nodes, self.edges if self.several else next(iter(self.edges.values()))

    def command(self, out: Path) -> str:
        """The `se-gnn import` command that does the same, for people to edit."""
        given, words = self.settings, ["se-gnn", "import"]
        for option, tables, typed in (("nodes", self.nodes, len(self.nodes) > 1), ("edges", self.edges, self.several)):
            for name, path in tables.items():
                words += [f"--{option}", f"{name}={path}" if typed else path]
        for name in ("id", "label", "target_number", "source", "target"):
            column = given.get(name)
            if isinstance(column, dict):
                column = ",".join(f"{kind}={one}" for kind, one in column.items())
            words += [f"--{name.replace('_', '-')}", column] if column is not None else []
        words += _edge_options(given, ["directed"])
        roles = [(given[role], role) for role in ("split", "caption") if role in given]
        for column, role in (*roles, *given.get("kinds", {}).items()):
            words += ["--column", f"{column}={role}"]
        words += _edge_options(given, ["weight", "type", "time"])
        words += ["--set", "drop_dangling=true"] if "drop_dangling" in given else []
        return shlex.join([*words, "--out", str(out)])


def _edge_options(settings: dict[str, Any], roles: Iterable[str]) -> list[str]:
    """What edges carry, as options of `se-gnn import`."""
    words = ["--directed"] if "directed" in settings and "directed" in roles else []
    for role in roles:
        if f"edge_{role}" in settings:
            words += ["--edge-column", f"{settings[f'edge_{role}']}={role}"]
    return words


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
    def parsed(self) -> Parsed:
        """What it holds; of kind "" if that cannot be read without further settings."""
        try:
            return parse_column(self.table, self.name)
        except InputError:
            return Parsed(kind="", texts=self.names)

    @property
    def kind(self) -> str:
        """What it holds."""
        return self.parsed.kind

    @property
    def numbers(self) -> Float64Array:
        """Its numbers or dates, without those that are missing."""
        return np.empty(0) if self.parsed.numbers is None else self.parsed.numbers[~self.parsed.missing]

    @property
    def num_missing(self) -> int:
        """Rows without a value, also those that say so in a word, as NA."""
        return int(self.parsed.missing.sum())

    def share_in(self, other: _Column) -> float:
        """Share of its values that another column has, too."""
        known = self.names.drop_null()
        return 0.0 if not len(known) else (pc.sum(pc.is_in(known, value_set=other.names)).as_py() or 0) / len(known)

    def hint(self, words: Sequence[str]) -> int:
        """How much its name says that it is something: 3 if it is one of the words, less if a part of it is."""
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode()
        parts = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", plain).lower())
        if any(part in words for part in parts):
            return 3 if len(parts) == 1 else 2
        return int(
            any(part.startswith(word) or part.endswith(word) for part in parts for word in words if len(word) > 2)
        )


Ends = tuple[_Column, _Column]


def guess_tables(paths: Sequence[str], *, label: str | None = None) -> Guess:
    """Propose what the columns of some tables are.

    Args:
        paths: CSV or Parquet files, at least one of nodes and one of edges, in any order.
        label: the column to predict, classes or numbers; None: the likeliest one.
    """
    if len(paths) < 2:
        raise InputError("give at least two tables: one row per node in the first, one row per edge in the second")
    if sum(map(memory_of, paths)) > MOST_MEMORY:
        raise InputError("these tables are too large to look at; name their columns with `se-gnn import`")
    tables = {path: _columns(read_table(path, what="a table")) for path in paths}
    nodes, edges = _parted(tables)
    found = Guess(nodes={Path(path).stem: path for path in nodes}, edges={Path(path).stem: path for path in edges})
    ids = {Path(path).stem: column.name for path, column in nodes.items()}
    found.settings["id"] = next(iter(ids.values())) if len(set(ids.values())) == 1 else ids
    for path, column in nodes.items():
        rows = "different in every row" if column.unique() else "some are given again, which is an error"
        found.reasons.append((f"nodes {Path(path).name}", f"IDs in column {column.name!r} ({rows})"))
    others = [one for path, own in nodes.items() for one in tables[path] if one is not own]
    predicted = _label(found, others, label)
    _edges(found, edges, [one for path, two in edges.items() for one in tables[path] if one not in two])
    _unknown_ends(found, list(nodes.values()), edges)
    _caption(found, others, predicted)
    return found


def _columns(table: Table) -> list[_Column]:
    return [_Column(table, name, as_names(table, name)) for name in table.columns]


def _ids(columns: list[_Column]) -> list[_Column]:
    """Columns that can name the nodes, the likeliest first.

    Without one: columns in which some values are given again; reading the table says which.
    """
    found = [one for one in columns if one.unique()] or [one for one in columns if one.unique(NEARLY)]
    return sorted(found, key=lambda one: -one.hint(_IDS))


def _parted(tables: dict[str, list[_Column]]) -> tuple[dict[str, _Column], dict[str, Ends]]:
    """Tables of nodes with their ids, and tables of edges with their ends."""
    edges: dict[str, Ends] = {}
    for path, columns in tables.items():
        known = [one for other in tables if other != path for one in _ids(tables[other])]
        ends = [one for one in columns if any(one.share_in(ids) >= MOSTLY for ids in known)]
        if len(ends) >= 2:
            edges[path] = _ends(ends)
    if len(edges) == len(tables):  # every table could be one of edges: the one with the most rows is
        largest = max(edges, key=lambda path: len(edges[path][0].table))
        edges = {largest: edges[largest]}
    if not edges:
        listed = "; ".join(f"{path} has {', '.join(repr(one.name) for one in own)}" for path, own in tables.items())
        raise InputError(
            "no table looks like edges: a table of edges has two columns that hold the IDs of a table of nodes, which "
            f"has a column with a different ID in every row. {listed}. Name the columns with `se-gnn import`"
        )
    nodes, all_ends = {}, [end for two in edges.values() for end in two]
    for path, columns in tables.items():
        if path not in edges:
            best = max(_ids(columns), key=lambda one: max(end.share_in(one) for end in all_ends), default=None)
            if best is None:
                raise InputError(f"{path} has no ID column: every row needs a different value")
            nodes[path] = best
    return nodes, edges


def _ends(columns: list[_Column]) -> Ends:
    """Source and target among columns that hold ids: by their names, else the first two."""
    source = max(columns, key=lambda one: one.hint(_SOURCES))
    target = max((one for one in columns if one is not source), key=lambda one: one.hint(_TARGETS))
    if not source.hint(_SOURCES) and columns.index(target) < columns.index(source):
        source, target = target, source
    return source, target


def _label(found: Guess, columns: list[_Column], label: str | None) -> _Column:
    """The column that is predicted: the one that people name, else the likeliest class, else a number with gaps."""
    named = [one for one in columns if one.hint(_SPLITS)]
    split = next((one for one in named if all(text.lower() in PART_WORDS for text in one.values.to_pylist())), None)
    if split is not None:
        found.settings["split"] = split.name
        found.reasons.append(("split", f"column {split.name!r} says train, validation or test"))
    if label is not None:
        names = [one.name for one in columns]
        if label not in names:
            hint = f"{did_you_mean(label, names)}; there are: {', '.join(map(repr, names))}"
            raise InputError(f"--label: no node table has a column {label!r}{hint}")
        best = columns[names.index(label)]
        number = best.kind == "number" and len(best.values) > MOST_CLASSES
    else:
        best, number = _likeliest(columns, split)
    found.settings["target_number" if number else "label"] = best.name
    empty = f"; {best.num_missing:,} empty rows will be predicted" if best.num_missing else ""
    values: list[str] = best.values.to_pylist()
    shown = ", ".join(map(repr, sorted(values)[:4])) + (", ..." if len(values) > 4 else "")
    what = "a number" if number else f"{len(values)} classes ({shown})"
    other = "" if label is not None else " (--label COLUMN predicts another one)"
    found.reasons.append(("predict", f"column {best.name!r}: {what}{empty}{other}"))
    return best


def _likeliest(columns: list[_Column], split: _Column | None) -> tuple[_Column, bool]:
    """The column that looks most like what is to be predicted, and whether it is a number."""
    scored = [(_class_score(one, last=one is columns[-1]), one) for one in columns if one is not split]
    score, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    numbers = [one for one in columns if one.kind == "number" and one.num_missing and len(one.values) > MOST_CLASSES]
    if score < CLEARLY_CLASSES and len(numbers) == 1:
        return numbers[0], True
    if best is not None and score > 0:
        return best, False
    listed = ", ".join(repr(one.name) for one in columns) or "none besides the IDs"
    raise InputError(f"no column is clearly the one to predict; name it with --label COLUMN (columns: {listed})")


def _class_score(column: _Column, *, last: bool) -> float:
    """How much a column looks like the classes to predict; 0: not at all."""
    labeled = len(column.names) - column.names.null_count
    few = 2 <= len(column.values) <= min(MOST_CLASSES, max(2, labeled // 4))
    hint, number = column.hint(_LABELS), column.kind == "number"
    if not few or column.kind in ("", "date", "text") or (number and not hint):
        return 0.0
    return 2.0 * hint + bool(column.names.null_count) + last + 0.5 * (not number)


def _edges(found: Guess, edges: dict[str, Ends], others: list[_Column]) -> None:
    """Ends, direction, weight, type and time of the edges."""
    for end, place in (("source", 0), ("target", 1)):
        names = {Path(path).stem: two[place].name for path, two in edges.items()}
        found.settings[end] = names if len(set(names.values())) > 1 else next(iter(names.values()))
    for path, (source, target) in edges.items():
        why = f"from {source.name!r} to {target.name!r}, which hold IDs of nodes"
        found.reasons.append((f"edges {Path(path).name}", why))
    source, target = next(iter(edges.values()))
    both = _both_ways(source, target)
    directional = all(u.hint(_SOURCES) and v.hint(_TARGETS) for u, v in edges.values())
    plain = source.name.lower() in _GENERIC and not others
    if directional and not plain and both < SYMMETRIC:
        found.settings["directed"] = True
        found.reasons.append(("directed", f"only {both:.0%} of the edges are given in both directions"))
    taken: set[str] = set()
    for role, words, fits in (("time", _TIMES, _is_time), ("type", _TYPES, _is_type), ("weight", _WEIGHTS, _is_weight)):
        fitting = [one for one in others if one.name not in taken and one.hint(words) and fits(one)]
        if fitting and (role != "type" or len(edges) == 1):
            best = max(fitting, key=lambda one: (one.hint(words), -_words_place(one.name, words)))
            taken.add(best.name)
            found.settings[f"edge_{role}"] = best.name
            found.reasons.append((role, f"column {best.name!r} of the edges"))
    rest = dict.fromkeys(repr(one.name) for one in others if one.name not in taken)
    if rest:
        found.reasons.append(("attributes", f"of the edges: {', '.join(rest)}"))


def _unknown_ends(found: Guess, ids: list[_Column], edges: dict[str, Ends]) -> None:
    """Leave out edges that refer to unknown nodes: most ends are known, or the tables would not be these."""
    known = pa.concat_arrays([own.names.cast(pa.string()) for own in ids])
    for path, ends in edges.items():
        inside = [pc.is_in(end.names, value_set=known).to_numpy(zero_copy_only=False) for end in ends]
        unknown = int((~(inside[0] & inside[1])).sum())
        if unknown:
            found.settings["drop_dangling"] = True
            rows = f"{unknown:,} of {len(inside[0]):,} rows of {Path(path).name}"
            found.reasons.append(("left out", f"{rows} refer to nodes that are in no table"))


def _caption(found: Guess, others: list[_Column], predicted: _Column) -> None:
    """A column of many texts whose name says that people know the nodes by it."""
    taken = found.settings.values()
    named = [
        one
        for one in others
        if one.hint(_CAPTIONS)
        and not any(one.name == name for name in taken)
        and one.kind in ("category", "text")
        and len(one.values) > max(MOST_CLASSES, len(one.names) / 20)
    ]
    if not named:
        return
    best = max(named, key=lambda one: (one.table is predicted.table, one.hint(_CAPTIONS)))
    found.settings["caption"] = best.name
    learned = "not used as an attribute"
    words = pc.mean(pc.list_value_length(pc.utf8_split_whitespace(best.names.drop_null()))).as_py()  # of a cell
    if words >= LEAST_WORDS:
        found.settings["kinds"], learned = {best.name: "text"}, "its words are attributes, too"
    found.reasons.append(("caption", f"column {best.name!r}: shown to people; {learned}"))


def _words_place(name: str, words: Sequence[str]) -> int:
    """Position of the first word that a name holds."""
    return next((place for place, word in enumerate(words) if word in name.lower()), len(words))


def _both_ways(source: _Column, target: _Column) -> float:
    """Share of the edges whose reverse is there, too."""
    ids = pc.unique(pa.concat_arrays([source.names, target.names]))
    u, v = (pc.index_in(one.names, value_set=ids).to_numpy().astype(np.int64) for one in (source, target))
    return float(np.isin(u * len(ids) + v, v * len(ids) + u).mean())


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
    """What edges could carry besides their ``roles`` of weight, type and time, as options of `se-gnn import`."""
    columns = _columns(table.head(LOOKED_AT))
    source, target = (next(one for one in columns if one.name == end) for end in ends)
    found = Guess(nodes={}, edges={})
    _edges(found, {table.name: (source, target)}, [one for one in columns if one.name not in ends])
    free = [role for role in ("weight", "type", "time") if role not in roles]
    return shlex.join(_edge_options(found.settings, free if directed else ["directed", *free]))
