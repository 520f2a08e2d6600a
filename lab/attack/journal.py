"""The flips of an attack in a file, in their order: what an interrupted attack goes on from, and what it did.

Flips are chosen one after the other, so the first flips of a long attack are those of a short one with the same seed.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.attack.config import MetattackConfig
from se_gnn.errors import InputError
from se_gnn.files import check_format, parse_json, read_file, replace_file, writing_to
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.storage import digest_of

NAME = "attack.json"
FORMAT = "se-gnn-attack"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Journal:
    """The file `attack.json` of one attack: on one graph, with one set of settings and one seed."""

    path: Path
    graph_name: str
    config: MetattackConfig
    seed: int
    digest: str  # of the graph

    @classmethod
    def of(cls, folder: str | Path, graph: Graph, config: MetattackConfig, seed: int) -> Journal:
        """The journal in a folder."""
        return cls(Path(folder) / NAME, graph.name, config, seed, digest_of(graph))

    def read(self) -> IntArray:
        """The flips so far, [R, 2]; none without a file. A file of another attack is refused."""
        if not self.path.exists():
            return np.empty((0, 2), np.int64)
        about = parse_json(read_file(self.path), self.path)
        check_format(about, self.path, expected=FORMAT, newest=VERSION)
        if any(about.get(key) != value for key, value in self._about().items()):
            raise InputError(
                f"{self.path} belongs to an attack on another graph, or with other settings or another seed;"
                " name another folder"
            )
        try:
            return np.array(about["flips"], dtype=np.int64).reshape(-1, 2)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{self.path} cannot be read: {error}") from error

    def write(self, flips: IntArray) -> None:
        """Write down all flips; a kill at any moment leaves the old file or the new one, whole."""
        content = json.dumps({**self._about(), "flips": flips.tolist()}).encode()
        with writing_to(self.path.parent):
            replace_file(self.path, content)

    def _about(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "graph": self.graph_name,
            "graph_sha256": self.digest,
            "method": "metattack",
            "settings": dataclasses.asdict(self.config),
            "seed": self.seed,
        }
