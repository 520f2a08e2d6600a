"""The model that is served: one snapshot at a time, read whole or not at all.

A request takes the snapshot once and works with it to its end. When the folder's manifest changes, the new model is
read and checked beside the old one, and put in its place in one step; one that cannot be read is refused, and the old
one stays.
"""

from __future__ import annotations

import logging
import threading
import warnings
from pathlib import Path

import numpy as np

from se_gnn.apps.service.comparisons import Comparisons
from se_gnn.apps.service.node_map import NodeMap
from se_gnn.apps.service.node_table import NodeTable
from se_gnn.apps.service.turns import turn
from se_gnn.errors import InputError
from se_gnn.explain import Explainer
from se_gnn.files import SMALL, read_current, sha256
from se_gnn.graph import Graph
from se_gnn.labels.novelty import novelty_of_all
from se_gnn.model import Prediction, TrainedModel
from se_gnn.model.folder import MANIFEST, load_model

BLOCK = 4096  # nodes that are scored at a time
CHECK_SECONDS = 2.0

_log = logging.getLogger("se_gnn.service")


class Snapshot:
    """One model, ready to answer; the table of all nodes and the map come a little later."""

    def __init__(self, trained: TrainedModel, digest: str | None) -> None:
        self.trained, self.digest = trained, digest
        self.explainer = Explainer(trained)
        self.comparisons = Comparisons(self.explainer)
        self.prediction: Prediction | None = None
        self.table: NodeTable | None = None
        self.map: NodeMap | None = None
        with turn():
            trained.ranker  # noqa: B018 - computed once, before any request

    @property
    def graph(self) -> Graph:
        """The graph of the model."""
        return self.trained.graph

    @property
    def ready(self) -> bool:
        """Whether all nodes have been scored."""
        return self.map is not None

    def prepare(self, stop: threading.Event | None = None) -> None:
        """Score all nodes and place them on the map; ends early when it is told to stop."""
        if self.ready:
            return
        blocks = []
        for low in range(0, self.graph.num_nodes, BLOCK):
            if stop is not None and stop.is_set():
                return
            with turn():
                blocks.append(self.trained.predict(np.arange(low, min(low + BLOCK, self.graph.num_nodes))))
        self.prediction = Prediction.joined(blocks)
        placed = NodeMap(self.trained.embeddings.cpu().numpy(), self.graph, self.prediction)
        table = NodeTable(self.graph, self.prediction)
        table.place(placed.points)
        self.table, self.map = table, placed
        judged = novelty_of_all(self.trained)
        if judged is not None:
            table.judge(judged.abstains)


class Store:
    """Holds the current snapshot; with a folder, watches it."""

    def __init__(self, snapshot: Snapshot, folder: Path | None = None) -> None:
        self._snapshot, self._folder = snapshot, folder
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.refused: str | None = None  # why the folder's model is not the one that is served

    @classmethod
    def of_folder(cls, folder: str | Path) -> Store:
        """The model of a folder, as `se-gnn train` writes it."""
        return cls(_read(Path(folder)), Path(folder))

    @classmethod
    def of_model(cls, trained: TrainedModel) -> Store:
        """A model that is in memory."""
        return cls(Snapshot(trained, "memory"))

    @property
    def snapshot(self) -> Snapshot:
        """What is served now."""
        return self._snapshot

    def start(self) -> None:
        """Score all nodes, then watch the folder, in a thread of its own."""
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
        if self._folder is None:
            return False
        try:
            if _manifest_digest(self._folder) == self._snapshot.digest:
                self.refused = None
                return False
            fresh = _read(self._folder)
            fresh.prepare(self._stop)
        except (InputError, OSError) as error:
            if self.refused is None:
                _log.warning("the changed model folder is refused, the old model is served: %s", error)
            self.refused = str(error)
            return False
        self._snapshot, self.refused = fresh, None
        return True

    def _work(self) -> None:
        self._snapshot.prepare(self._stop)
        while not self._stop.wait(CHECK_SECONDS):
            self.refresh()


def _read(folder: Path) -> Snapshot:
    """The model in a folder; one that is replaced while it is read is read again, and otherwise refused."""
    for _ in range(3):
        before = _manifest_digest(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a write that is about to end
            trained = load_model(folder)
        if before == _manifest_digest(folder):
            return Snapshot(trained, before)
    raise InputError(f"{folder} changes while it is read")


def _manifest_digest(folder: Path) -> str | None:
    """What tells one model of a folder from the next; None where there is no manifest."""
    try:
        return sha256(read_current(folder, MANIFEST, limit=SMALL))
    except InputError:
        return None
