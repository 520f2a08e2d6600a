"""The SQLite file of ratings: made in one transaction, and recognized before it is touched.

An answer that was acknowledged is on the disk: write-ahead log, synchronous FULL, one transaction per answer.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path

from lab.rating.plan import RatingPlan
from lab.rating.prepare import Pair
from se_gnn.errors import InputError

APPLICATION = 0x53476E72  # "SGnr" in the header of the file: it is one of ours
VERSION = 1
SECONDS = 30.0  # how long a transaction waits for another process
_MAGIC = b"SQLite format 3\x00"


def connect(path: Path) -> sqlite3.Connection:
    """A connection that threads may share behind a lock; transactions are begun by hand."""
    connection = sqlite3.connect(path, timeout=SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it, on the disk, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def is_prepared(path: Path) -> bool:
    """Whether a file of ratings is there; False where there is nothing yet. Other files are refused, and not changed.

    A file without any table is what is left when the preparation was stopped while it wrote.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder; name a file of ratings")
        if not path.exists() or not path.stat().st_size:
            return False
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if magic != _MAGIC:
        raise InputError(f"{path} is not a file of ratings, nor an SQLite file at all; name another one")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=SECONDS)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path} is damaged, or cannot be read: {error}") from error
    if application != APPLICATION and not tables:
        return False
    if application != APPLICATION:
        raise InputError(f"{path} is an SQLite file of something else, not of ratings; name another one")
    if version > VERSION:
        raise InputError(f"{path} was written by a newer se-gnn (version {version}, this one reads {VERSION})")
    return True


def write_pairs(path: Path, plan: RatingPlan, pairs: Iterable[Pair]) -> None:
    """Make the file, with all pairs, in one transaction."""
    rows = [
        (
            pair.item, pair.method, pair.model, pair.target, pair.neighbor, pair.pictures.target,
            pair.pictures.neighbor, *pair.pictures.notes, json.dumps(pair.classes),
        )
        for pair in pairs
    ]  # fmt: skip
    columns = "item, method, model, target, neighbor, target_svg, neighbor_svg, target_note, neighbor_note, classes"
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            with transaction(connection):
                for statement in _statements():
                    connection.execute(statement)
                connection.execute("INSERT INTO about VALUES ('plan', ?)", [plan.to_json()])
                marks = ", ".join("?" * 10)
                connection.executemany(f"INSERT INTO pair ({columns}) VALUES ({marks})", rows)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be written: {error}") from error


def read_plan(connection: sqlite3.Connection, path: Path) -> RatingPlan:
    """The plan that a file was prepared with."""
    try:
        text = connection.execute("SELECT value FROM about WHERE key = 'plan'").fetchone()["value"]
        return RatingPlan.from_json(text)
    except (sqlite3.Error, TypeError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged: its plan cannot be read ({error})") from error


def _statements() -> list[str]:
    text = resources.files("lab.rating").joinpath("schema.sql").read_text(encoding="utf-8")
    plain = "\n".join(line.partition("--")[0] for line in text.splitlines())
    return [statement for statement in plain.split(";") if statement.strip()]
