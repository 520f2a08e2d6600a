"""Raters, their answers, and what each is asked next."""

from __future__ import annotations

import datetime
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lab.rating.database import connect, is_prepared, read_plan, transaction
from lab.rating.schedule import order_of
from se_gnn.display.text import printable_name
from se_gnn.errors import InputError

Answer = Literal["similar", "different", "skipped"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
MOST_RATERS = 10_000
LONGEST_NAME, LONGEST_KEY = 60, 64


class ConflictError(InputError):
    """A page asked for something that another page has already decided."""


@dataclass(frozen=True, slots=True)
class Rater:
    """Somebody who rates, known to the browser by a secret."""

    id: int
    name: str
    secret: str


@dataclass(frozen=True, slots=True)
class Question:
    """A pair as a rater sees it: nothing says which method it is of."""

    pair: int
    target: str
    neighbor: str
    target_svg: str
    neighbor_svg: str
    target_note: str
    neighbor_note: str
    classes: str  # JSON


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of a rater."""

    question: Question | None  # None: all is answered
    answered: int
    skipped: int
    total: int
    last: int | None  # the pair that can be taken back


@dataclass(frozen=True, slots=True)
class Rating:
    """An answer, with the method that the rater did not know."""

    rater: str
    model: str
    method: str
    pair: int
    target: str
    neighbor: str
    answer: Answer
    at: str


class RatingStore:
    """A prepared file of ratings. One connection behind a lock; other processes may read and write it as well."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not is_prepared(self.path):
            raise InputError(f"{self.path} is not there yet: `python -m lab rate DIR --out {self.path}` makes it")
        self._lock = threading.Lock()
        self._connection = connect(self.path)
        self.plan = read_plan(self._connection, self.path)
        rows = self._connection.execute("SELECT id, item, method FROM pair").fetchall()
        self._pairs = {(row["item"], row["method"]): row["id"] for row in rows}

    def close(self) -> None:
        """Let the file go."""
        with self._lock:
            self._connection.close()

    def rater_named(self, name: str) -> Rater:
        """The rater of a name, new or known: whoever gives the same name later goes on."""
        shown = printable_name(" ".join(name.split()))
        if not 1 <= len(shown) <= LONGEST_NAME:
            raise InputError(f"a name must have between 1 and {LONGEST_NAME} characters, got {len(shown)}")
        with self._lock, transaction(self._connection):
            known = self._connection.execute("SELECT * FROM rater WHERE folded = ?", [shown.casefold()]).fetchone()
            if known is not None:
                return Rater(known["id"], known["name"], known["secret"])
            if self._connection.execute("SELECT count(*) FROM rater").fetchone()[0] >= MOST_RATERS:
                raise InputError(f"there are {MOST_RATERS} raters already, which is as many as a file holds")
            secret = secrets.token_urlsafe(24)
            row = (shown, shown.casefold(), secret, _now())
            made = self._connection.execute(
                "INSERT INTO rater (name, folded, secret, since) VALUES (?, ?, ?, ?)", row
            ).lastrowid
            assert made is not None
            return Rater(made, shown, secret)

    def rater_of(self, secret: str) -> Rater | None:
        """The rater that a browser knows the secret of."""
        with self._lock:
            row = self._connection.execute("SELECT * FROM rater WHERE secret = ?", [secret]).fetchone()
        return None if row is None else Rater(row["id"], row["name"], row["secret"])

    def standing(self, rater: Rater) -> Standing:
        """What the rater is asked next, and how much is done."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT pair, answer FROM answer WHERE rater = ? AND undone_at IS NULL ORDER BY id", [rater.id]
            ).fetchall()
            done = {row["pair"] for row in rows}
            asked = next((pair for pair in self.order(rater) if pair not in done), None)
            found = None
            if asked is not None:
                found = self._connection.execute("SELECT * FROM pair WHERE id = ?", [asked]).fetchone()
        question = None if found is None else Question(found["id"], *(found[name] for name in Question.__slots__[1:]))
        skipped = sum(row["answer"] == "skipped" for row in rows)
        return Standing(question, len(rows), skipped, len(self._pairs), rows[-1]["pair"] if rows else None)

    def order(self, rater: Rater) -> list[int]:
        """All pairs, in the order in which the rater is asked."""
        plan = self.plan
        order = order_of(
            rater.id - 1,
            num_items=plan.items * len(plan.models),
            num_methods=len(plan.methods),
            seed=plan.seed,
        )
        return [self._pairs[one] for one in order]

    def record(self, rater: Rater, pair: int, answer: str, key: str) -> None:
        """Keep an answer; when this returns it is on the disk. The same key again changes nothing.

        Raises:
            ConflictError: the rater has answered this pair before, from another page.
        """
        if answer not in ANSWERS:
            raise InputError(f"answer must be one of {', '.join(ANSWERS)}")
        _check_key(key)
        with self._lock, transaction(self._connection):
            same = self._connection.execute("SELECT rater, pair, answer FROM answer WHERE key = ?", [key]).fetchone()
            if same is not None:
                if tuple(same) == (rater.id, pair, answer):
                    return
                raise ConflictError("this page was answered before; its first answer counts, and can be undone")
            if not self._connection.execute("SELECT 1 FROM pair WHERE id = ?", [pair]).fetchone():
                raise InputError("there is no such pair")
            taken = "SELECT 1 FROM answer WHERE rater = ? AND pair = ? AND undone_at IS NULL"
            if self._connection.execute(taken, [rater.id, pair]).fetchone():
                raise ConflictError("this pair was answered on another page; that answer counts, and can be undone")
            row = (rater.id, pair, answer, key, _now())
            self._connection.execute("INSERT INTO answer (rater, pair, answer, key, at) VALUES (?, ?, ?, ?, ?)", row)

    def undo(self, rater: Rater, pair: int, key: str) -> None:
        """Take the last answer back, which must be that to ``pair``. The same key again changes nothing."""
        _check_key(key)
        with self._lock, transaction(self._connection):
            if self._connection.execute("SELECT 1 FROM answer WHERE undo_key = ?", [key]).fetchone():
                return
            last = self._connection.execute(
                "SELECT id, pair FROM answer WHERE rater = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1", [rater.id]
            ).fetchone()
            if last is None or last["pair"] != pair:
                raise ConflictError("this is not the last answer any more; the page shows where you are")
            self._connection.execute(
                "UPDATE answer SET undo_key = ?, undone_at = ? WHERE id = ?", [key, _now(), last["id"]]
            )

    def ratings(self) -> list[Rating]:
        """All answers that count, in the order in which they were given."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT rater.name, pair.model, pair.method, pair.id AS pair, pair.target, pair.neighbor, answer, at "
                "FROM answer JOIN rater ON rater.id = answer.rater JOIN pair ON pair.id = answer.pair "
                "WHERE undone_at IS NULL ORDER BY answer.id"
            ).fetchall()
        models, methods = self.plan.models, self.plan.methods
        return [
            Rating(
                row["name"], models[row["model"]][0], methods[row["method"]], row["pair"], row["target"],
                row["neighbor"], row["answer"], row["at"],
            )
            for row in rows
        ]  # fmt: skip


def _check_key(key: str) -> None:
    if not (1 <= len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise InputError(f"key must have between 1 and {LONGEST_KEY} ASCII characters")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
