"""The model that is served: one snapshot at a time, read whole or not at all.

A request takes the snapshot once and works with it to its end. When the folder's manifest changes, the new model is
read and checked beside the old one, and put in its place in one step; one that cannot be read is refused, and the old
one stays.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from se_gnn.apps.service.models import MapAnswer
from se_gnn.apps.service.node_table import ClassTable, LinkTable, NodeTable, NumberTable, placed
from se_gnn.errors import InputError
from se_gnn.explain import Comparison
from se_gnn.files import sha256
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.spread import listed_nodes
from se_gnn.graph.storage import graph_digest
from se_gnn.labels.novelty import Judge, page_novelty
from se_gnn.model import Model, Prediction
from se_gnn.model.folder import is_links_folder, load_model, model_digest
from se_gnn.model.numbers import Calibration, NumberPrediction, calibrate_intervals, predict
from se_gnn.report.page import asked_for

if TYPE_CHECKING:
    from se_gnn.links import SEGNNLinkPredictor

BLOCK = 4096  # nodes that are scored at a time
CHECK_SECONDS = 2.0
MOST_COMPARISONS = 64
MOST_EXPLANATIONS = 8  # that are shown beside those with other settings
MOST_TABLES = 4  # with a node of a large graph that is not listed
MOST_BYTES = 128 * 2**20  # of all comparisons that are kept
LARGEST_BYTES = 32 * 2**20  # of one that is kept

_ONE_AT_A_TIME = threading.Lock()
_log = logging.getLogger("se_gnn.service")


@contextmanager
def turn() -> Iterator[None]:
    """Run kernels within it; threads take turns if numba has neither OpenMP nor TBB, or it would end the process."""
    if _alone():
        with _ONE_AT_A_TIME:
            yield
    else:
        yield


def _alone() -> bool:
    try:
        return bool(numba.threading_layer() == "workqueue")  # type: ignore[attr-defined]
    except ValueError:  # no kernel has run yet
        return True


class Comparisons:
    """The nodes that were looked at last, compared with all cases, so that moving a slider compares nothing again."""

    def __init__(self, trained: Model) -> None:
        self._trained, self._lock = trained, threading.Lock()
        self._kept: OrderedDict[int, Comparison] = OrderedDict()
        # under the model's own settings, without what attributes do
        self.own = lru_cache(MOST_EXPLANATIONS)(lambda node: self.of(node).explain(1)[0])

    def of(self, node: int) -> Comparison:
        """The comparison of one node."""
        with self._lock:
            if node in self._kept:
                self._kept.move_to_end(node)
                return self._kept[node]
        found = Comparison.of(self._trained, node)
        if found.num_bytes <= LARGEST_BYTES:
            with self._lock:
                self._kept[node] = found
                while len(self._kept) > MOST_COMPARISONS or self.num_bytes > MOST_BYTES:
                    self._kept.popitem(last=False)
        return found

    @property
    def num_bytes(self) -> int:
        """Size of all that are kept."""
        return sum(one.num_bytes for one in self._kept.values())


class Snapshot:
    """One model, ready to answer; the table of its nodes and the map come a little later.

    The table has all nodes. Of a large graph it has those that a page lists; others are predicted when asked for.
    """

    def __init__(self, model: Model | SEGNNLinkPredictor, digest: str | None) -> None:
        self._model, self.digest = model, digest
        self.prediction: Prediction | NumberPrediction | None = None
        self.table: NodeTable | None = None
        self.map: MapAnswer | None = None
        self.novelty: Judge | None = None  # None: it is not judged
        self._once: dict[str, Any] = {}
        self._tables = lru_cache(MOST_TABLES)(self._table_with)
        self.graph = model.graph if isinstance(model, Model) else model.graph_
        if isinstance(model, Model):
            with turn():
                model.ranker  # noqa: B018 - computed once, before any request

    @cached_property
    def comparisons(self) -> Comparisons:
        """Nodes that were looked at last, compared with all cases."""
        return Comparisons(self.trained)

    @cached_property
    def intervals(self) -> Calibration | None:
        """How far the intervals of numbers reach; None: there is nothing to calibrate on, or classes are predicted."""
        return calibrate_intervals(self.trained) if self.graph.predicts_numbers else None

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What is made for pages once, and kept as long as the model is served."""
        if name not in self._once:
            self._once[name] = make()
        return self._once[name]

    @property
    def predicts_links(self) -> bool:
        """Whether pairs are asked for, not nodes."""
        return not isinstance(self._model, Model)

    @property
    def trained(self) -> Model:
        """The model; refused if it predicts links."""
        if not isinstance(self._model, Model):
            raise InputError("this model predicts links: ask for a pair (/v1/pairs), or for recommendations of a node")
        return self._model

    @property
    def links(self) -> SEGNNLinkPredictor:
        """The model of links; refused if nodes are predicted."""
        if isinstance(self._model, Model):
            raise InputError("this model predicts nodes, not links: se-gnn train --task links makes one that does")
        return self._model

    @property
    def ready(self) -> bool:
        """Whether the nodes of the table have been predicted, judged and placed on the map."""
        return self.map is not None

    def prepare(self, stop: threading.Event | None = None) -> None:
        """Predict the nodes of the table, judge which are too unlike anything known, place them on the map.

        Ends early on request.
        """
        if self.ready:
            return
        if self.predicts_links:
            table: NodeTable = LinkTable(self.graph)
            table.points = placed(self.links.trained_.attributes.embeddings().numpy())
        else:
            listed, blocks = listed_nodes(self.graph), []
            if len(listed) < self.graph.num_nodes:
                with turn():
                    self.trained.ranker.hold(np.union1d(listed, asked_for(self.graph)))
            for low in range(0, len(listed), BLOCK):
                if stop is not None and stop.is_set():
                    return
                with turn():
                    blocks.append(predict(self.trained, listed[low : low + BLOCK]))
            self.prediction = type(blocks[0]).joined(blocks)  # type: ignore[arg-type]
            with turn():
                self.novelty = page_novelty(self.trained)
                table = self._table(self.prediction)
            table.points = placed(self.trained.embedded.rows(listed).cpu().numpy())
        self.table, self.map = table, table.map()  # last: before, an answer could still become none

    def predicted(self, nodes: IntArray) -> Prediction | NumberPrediction:
        """What is predicted of the listed nodes and of some others."""
        found = self.prediction
        assert found is not None  # with the table
        others = np.setdiff1d(nodes, found.nodes)
        if not len(others):
            return found
        both = type(found).joined([found, predict(self.trained, others)])  # type: ignore[list-item]
        return both.rows(np.argsort(both.nodes))

    def table_with(self, node: int) -> NodeTable:
        """The table, with a row for a node that may not be listed."""
        assert self.table is not None
        return self.table if self.table.at(node) >= 0 else self._tables(node)

    def _table_with(self, node: int) -> NodeTable:
        found, listed = self.predicted(np.array([node])), self.table
        assert listed is not None
        assert listed.points is not None
        table = self._table(found)
        table.points = np.insert(listed.points, table.at(node), np.nan, axis=0)
        return table

    def _table(self, found: Prediction | NumberPrediction) -> NodeTable:
        table: NodeTable
        if isinstance(found, NumberPrediction):
            table = NumberTable(self.graph, found, self.intervals)
        else:
            table = ClassTable(self.graph, found)
        if self.novelty is not None:
            table.judge(self.novelty.of(found.nodes).abstains)
        return table


class Store:
    """Holds the current snapshot; with a folder, watches it."""

    def __init__(self, snapshot: Snapshot, folder: Path | None = None, graph: Path | None = None) -> None:
        self.snapshot, self.folder, self.graph_folder = snapshot, folder, graph  # the snapshot: what is served now
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.refused: str | None = None  # why the folder's model is not the one that is served

    @classmethod
    def of_folder(cls, folder: str | Path, graph: Path | None = None) -> Store:
        """The model of a folder, as `se-gnn train` writes it, on its own graph or on that of another folder."""
        return cls(_read(Path(folder), graph), Path(folder), graph)

    @classmethod
    def of_model(cls, trained: Model | SEGNNLinkPredictor) -> Store:
        """A model that is in memory."""
        return cls(Snapshot(trained, "memory"))

    def start(self) -> None:
        """Prepare the table, then watch the folder, in a thread of its own."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._work, name="se-gnn-store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def refresh(self) -> bool:
        """Take the folder's model, if it is another one and can be read; whether it was taken."""
        if self.folder is None:
            return False
        try:
            if _digest(self.folder, self.graph_folder) == self.snapshot.digest:
                self.refused = None
                return False
            fresh = _read(self.folder, self.graph_folder)
            fresh.prepare(self._stop)
        except (InputError, OSError) as error:
            if self.refused is None:
                _log.warning("the changed model folder is refused, the old model is served: %s", error)
            self.refused = str(error)
            return False
        self.snapshot, self.refused = fresh, None
        return True

    def _work(self) -> None:
        self.snapshot.prepare(self._stop)
        while not self._stop.wait(CHECK_SECONDS):
            self.refresh()


def _read(folder: Path, graph: Path | None) -> Snapshot:
    """The model in a folder; one that is replaced while it is read is read again, and otherwise refused."""
    if graph is not None and is_links_folder(folder):
        raise InputError(f"{folder} holds a model of links, which belongs to its own graph: fit it on the other one")
    for _ in range(3):
        before = _digest(folder, graph)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a write that is about to end
            links = is_links_folder(folder)
            model = _links_model(folder) if links else load_model(folder, graph)
        if before == _digest(folder, graph):
            return Snapshot(model, before)
    raise InputError(f"{folder} changes while it is read")


def _links_model(folder: Path) -> SEGNNLinkPredictor:
    from se_gnn.links import SEGNNLinkPredictor  # with scikit-learn, which takes a second to load

    return SEGNNLinkPredictor.load(folder)


def _digest(folder: Path, graph: Path | None) -> str | None:
    """What tells one model of a folder, on one graph, from the next; None if there is none."""
    try:
        own = model_digest(folder)
        return own if graph is None else sha256(f"{own} {graph_digest(graph)}".encode())
    except InputError:
        return None
