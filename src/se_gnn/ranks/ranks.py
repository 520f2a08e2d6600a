"""The ranks of a run: what they say to each other goes through the key-value store that `torchrun` starts.

No wait is without end. A wait is over when what is waited for is there; when another rank has reported that it stopped;
when an awaited rank has given no sign of life for `SILENCE` seconds; or when no awaited rank has made progress
for `patience` seconds. In the last three cases it is an error that says which rank, on every rank.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from se_gnn.errors import InputError, shortened
from se_gnn.ranks.joining import Gathering, connect, restarts_counted, started_by_torchrun

if TYPE_CHECKING:
    from torch import Tensor

SILENCE = 60.0  # seconds without a sign of life after which a rank counts as gone
PATIENCE = 3600.0  # seconds without progress of a rank that is alive
BEAT = 1.0  # seconds between signs of life
STEP = 0.05  # seconds between two looks at the store
PIECE = 4 << 20  # bytes of a value in the store, which takes 8 MB at most
FAREWELL = 30.0  # seconds that a rank that stops leaves the others to notice

_STOPPED, _NOTICED, _ALIVE, _DONE = "stopped", "noticed", "alive", "done"


class RankStopped(InputError):
    """Another rank ended, or cannot be reached: this one stops, too."""


@contextlib.contextmanager
def _connected() -> Iterator[None]:
    """Store and ranks are reached through the network: what goes wrong there is one clear error."""
    try:
        yield
    except (RuntimeError, OSError) as error:  # torch's DistError is a RuntimeError
        line = re.sub(r"^\[\S*\] ", "", str(error).partition("\n")[0])  # gloo begins with a line of its source
        reason = shortened(line.partition(". This is typically")[0], 200, quoted=False)
        raise RankStopped(f"the connection to the other ranks is lost: {reason}") from error


class Ranks:
    """One process among ``size``, and how it talks to the others.

    Args:
        rank: number of this process, from 0.
        size: how many there are.
        local_size: how many there are on this machine.
        restarted: whether a supervisor has started the ranks again after one of them had ended.
        store: key-value store of `torch.distributed`; None if there is one process.
        patience: how long to wait for a stalled rank, in seconds.
        silence: longest wait for a sign of life, in seconds.
    """

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        local_size: int = 1,
        store: Any = None,
        *,
        restarted: bool = False,
        patience: float = PATIENCE,
        silence: float = SILENCE,
    ) -> None:
        self.rank, self.size, self.local_size, self.store = rank, size, local_size, store
        self.restarted, self.patience, self.silence = restarted, patience, silence
        self._ended = threading.Event()
        self._claims: dict[str, int] = {}
        self._gathering: Gathering | None = None  # connected when it is first asked for

    @property
    def first(self) -> bool:
        """Whether this is the rank that prints messages and writes the files that exist once."""
        return self.rank == 0

    @property
    def several(self) -> bool:
        """Whether there is anybody to talk to."""
        return self.size > 1

    @property
    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def check_same(self, values: Mapping[str, str]) -> None:
        """Refuse to work with ranks that have other values; the error, on every rank, says which of them differ."""
        if not self.several:
            return
        given = [json.loads(text) for text in self._exchanged("values", json.dumps(dict(values)).encode())]
        for rank, theirs in enumerate(given):
            for name in [name for name in {**given[0], **theirs} if theirs.get(name) != given[0].get(name)]:
                raise InputError(
                    f"all ranks must have the same {name}: rank 0 has {shortened(given[0].get(name))}, rank {rank} has "
                    f"{shortened(theirs.get(name))}"
                )

    def claim(self, name: str) -> int:
        """The next number that no rank has had yet, from 0."""
        if not self.several:
            self._claims[name] = self._claims.get(name, -1) + 1
            return self._claims[name]
        self.check()
        with _connected():
            return int(self.store.add(f"claim/{name}", 1)) - 1

    @_connected()
    def broadcast(self, name: str, content: bytes) -> None:
        """Let the others know something, under a name that is used once; the store takes some megabytes at a time."""
        for number, low in enumerate(range(0, len(content), PIECE)):
            self.store.set(f"{name}/piece/{number}", content[low : low + PIECE])
        self.store.set(name, str(-(-len(content) // PIECE)))

    def receive(self, name: str, awaited: list[int] | None = None) -> bytes:
        """What a rank broadcast under a name; ``awaited`` are the ranks that it may come from, None: any other."""
        self._wait(name, self._others if awaited is None else awaited)
        with _connected():
            pieces = range(int(self.store.get(name)))
            return b"".join(bytes(self.store.get(f"{name}/piece/{number}")) for number in pieces)

    def gathered(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all ranks, in the order of the ranks, each of the shape of this one; through the host."""
        if not self.several or not tensor.numel():
            return [tensor] * self.size
        if self._gathering is None:
            self.barrier("gathering")  # so that connecting is quick
            with _connected():
                self._gathering = Gathering(self.store, self.rank, self.size, limit=self.patience + self.silence)
        self.check()
        gathering = self._gathering
        try:
            with _connected():
                gathering.begin(tensor)
            self._until(_connected()(lambda: gathering.arrived(STEP)), self._others, every=True)
        except BaseException:
            gathering.abandon()
            self._gathering = None
            self.check()  # a rank that stopped has reported why, before its connection was lost
            raise
        return [part.to(tensor.device) for part in gathering.parts]

    def summed(self, tensor: Tensor) -> Tensor:
        """The sum over the ranks, in the order of the ranks: the same bits on each of them."""
        total, *others = self.gathered(tensor)
        for other in others:
            total = total + other
        return total

    def heartbeat(self) -> None:
        """Tell the others that this rank makes progress."""
        if self.several:
            with _connected():
                self.store.add(f"{_DONE}/{self.rank}", 1)

    def barrier(self, name: str) -> None:
        """Wait until every rank has come to this place."""
        if self.several:
            self._exchanged(f"barrier/{name}", b"here")

    def _exchanged(self, name: str, content: bytes) -> list[bytes]:
        """What each rank gives under a name, in the order of the ranks."""
        self.broadcast(f"{name}/{self.rank}", content)
        return [self.receive(f"{name}/{rank}", [rank]) for rank in range(self.size)]

    @_connected()
    def check(self) -> None:
        """Stop where another rank has stopped."""
        if self.several and self.store.check([_STOPPED]):
            text = bytes(self.store.get(_STOPPED)).decode(errors="replace")
            self.store.set(f"{_NOTICED}/{self.rank}", b"yes")
            raise RankStopped(text)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Within it this rank gives signs of life, and an error in it stops all ranks, each with its text."""
        if not self.several:
            yield
            return
        beating = threading.Thread(target=self._beat, daemon=True)
        beating.start()
        try:
            yield
            self._leave()
        except RankStopped:
            raise
        except BaseException as error:
            self._farewell(error)
            raise
        finally:
            self._ended.set()
            beating.join(2 * BEAT)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            try:
                self.store.add(f"{_ALIVE}/{self.rank}", 1)
            except Exception:  # the store is gone: whoever waits next will say so
                return

    def _leave(self) -> None:
        """The first rank goes last: where no `torchrun` keeps the store, it is the one that does."""
        if not self.first:
            self.broadcast(f"left/{self.rank}", b"yes")
            return
        with contextlib.suppress(Exception):  # the work is done
            self._linger("left")

    def _farewell(self, error: BaseException) -> None:
        """Tell the others why this rank stops, and give them time to say so, before a supervisor ends them."""
        text = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}".rstrip(": ")
        if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
            text = "it was interrupted"
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        with contextlib.suppress(Exception):  # the error itself is what has to be reported
            self.store.set(f"{_NOTICED}/{self.rank}", b"yes")
            if self.store.add(f"first-{_STOPPED}", 1) > 1:
                return  # another one stopped before, and waits for us
            self.store.set(_STOPPED, f"rank {self.rank} stopped: {text}".encode())
            self._linger(_NOTICED)

    def _linger(self, sign: str) -> None:
        """Wait for a sign of all other ranks, but not for long."""
        limit = time.monotonic() + FAREWELL
        while time.monotonic() < limit and not self.store.check([f"{sign}/{rank}" for rank in self._others]):
            time.sleep(STEP)

    def _wait(self, name: str, awaited: list[int]) -> None:
        """Until the name is in the store."""

        @_connected()
        def there() -> bool:
            found = bool(self.store.check([name]))
            if not found:
                time.sleep(STEP)
            return found

        self._until(there, awaited)

    def _until(self, arrived: Callable[[], bool], awaited: list[int], *, every: bool = False) -> None:
        """Until it has arrived, which is asked again and again and takes `STEP` to say no; see the head of this file.

        With ``every`` all of the awaited ranks are needed, and one that is gone is enough to stop.
        """
        counts: dict[str, int] = {}
        looked, moved = -BEAT, dict[str, float]()
        while not arrived():
            self.check()
            now = time.monotonic()
            if now - looked >= BEAT:
                looked = now
                for kind, count in self._counts(awaited).items():
                    if counts.get(kind) != count:
                        counts[kind], moved[kind] = count, now
                for some in [[rank] for rank in awaited] if every else [awaited]:
                    if now - max(moved[f"{_ALIVE}/{rank}"] for rank in some) > self.silence:
                        why = f"given no sign of life for {self.silence:g} s: it has ended, or is out of reach"
                        raise InputError(f"{_named(some)} has {why}")
                if now - max(moved[f"{_DONE}/{rank}"] for rank in awaited) > self.patience:
                    why = f"made no progress for {self.patience:g} s: set SE_GNN_WAIT to more seconds"
                    raise InputError(f"{_named(awaited)} has {why}")

    @_connected()
    def _counts(self, awaited: list[int]) -> dict[str, int]:
        """Signs of life, and of progress, of each awaited rank so far."""
        kinds = [f"{kind}/{rank}" for rank in awaited for kind in (_ALIVE, _DONE)]
        return {kind: int(self.store.add(kind, 0)) for kind in kinds}


def _named(ranks: list[int]) -> str:
    return "rank " + " or ".join(map(str, ranks))


def alone() -> Ranks:
    """One process."""
    return Ranks()


@contextlib.contextmanager
def joined() -> Iterator[Ranks]:
    """The ranks that `torchrun` started, or one process; within it an error of one rank stops all.

    The environment variable ``SE_GNN_WAIT`` says how many seconds to wait for a rank that is alive but stalled.
    """
    if not started_by_torchrun():
        yield Ranks(restarted=restarts_counted() > 0)  # of one rank, too, torchrun gives the same command again
        return
    ranks = Ranks(**connect(), patience=float(os.environ.get("SE_GNN_WAIT", PATIENCE)))
    with ranks.together():
        yield ranks
