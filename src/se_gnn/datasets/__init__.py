"""Data sets by name, what each is, and the one function that loads them; those that are embedded need no download.

Nothing heavy is imported before a data set is asked for, so that listing them is instant.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, cast

from se_gnn.errors import InputError, did_you_mean, shortened

if TYPE_CHECKING:
    from se_gnn.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What people see of a data set before it is loaded."""

    name: str  # with RATE in it where there are several rates
    description: str
    embedded: bool = False  # nothing to download
    by_hand: bool = False  # its files are not downloaded, people put them into the data folder
    module: str  # where `load(name, *, seed, data_dir)` is
    rates: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that :func:`load_dataset` takes."""
        return tuple(self.name.replace("RATE", rate) for rate in self.rates) or (self.name,)


_EMBEDDED = {
    "digits": "1,797 handwritten digits, each joined to its 5 nearest; 10 labeled per class",
    "ba-shapes": "700 nodes: 80 planted houses on a random graph; the edges that matter are known",
}
_PUBLIC = {
    "cora": "2,708 machine learning papers, 7 topics; public split",
    "citeseer": "2,110 computer science papers, 6 fields, largest component; 10 / 10 / 80 split",
    "pubmed": "19,717 papers on diabetes, 3 types; public split",
    "citeseer-planetoid": "3,327 papers, some without citations; public split",
    "cora-nettack": "2,485 papers, largest component; 10 / 10 / 80 split",
    "amazon-photo": "7,650 products, 8 categories; 20 labeled per class",
    "amazon-computers": "13,752 products, 10 categories; 20 labeled per class",
    "coauthor-cs": "18,333 authors, 15 fields; 20 labeled per class",
    "coauthor-physics": "34,493 authors, 5 fields; 20 labeled per class",
}
_infos = [
    DatasetInfo(name=name, description=description, embedded=known is _EMBEDDED, module=f"se_gnn.datasets.{module}")
    for module, known in (("embedded", _EMBEDDED), ("public", _PUBLIC))
    for name, description in known.items()
]


# how the names begin that `lab.datasets` registers, so that an error can say where these data sets are
_IN_THE_LAB = (
    "syn-cora", "ba-shapes-pgexplainer", "citeseer-metattack", "cora-metattack", "ogbn-arxiv", "bitcoin-otc",
    "amazon-fraud", "acm", "dblp", "grid-game", "shared-authors", "airports", "counties", "amazon-photo-100",
    "coauthor-physics-100",
)  # fmt: skip


_LISTED = len(_infos)  # an error names the data sets of the package, not those registered later


def register_datasets(infos: Iterable[DatasetInfo]) -> None:
    """Make more data sets known to :func:`load_dataset`; one that is known already is left as it is.

    The data sets of the research lab, which is not part of the installed package, come in this way.
    """
    known = {info.name for info in _infos}
    _infos.extend(info for info in infos if info.name not in known)


def dataset_infos() -> tuple[DatasetInfo, ...]:
    """The data sets that :func:`load_dataset` knows, embedded ones first.

    >>> [info.name for info in dataset_infos() if info.embedded]
    ['digits', 'ba-shapes']
    """
    return tuple(_infos)


def dataset_names() -> tuple[str, ...]:
    """Every name that :func:`load_dataset` takes, each rate of an attacked graph on its own."""
    return tuple(name for info in _infos for name in info.names)


def load_dataset(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """Load a data set by its name.

    Args:
        name: as listed by :func:`dataset_infos`; capitals and ``_`` for ``-`` are forgiven.
        seed: random seed for the graph and split of `ba-shapes` and the split of `digits`, `amazon-...` and
            `coauthor-...`. The others come with a published split and do not depend on it.
        data_dir: folder with downloaded data; else the environment variable `SE_GNN_DATA`, else the user's cache
            folder, to which missing files are downloaded.

    >>> load_dataset("ba-shapes")
    Graph('ba-shapes': 700 nodes, 2105 edges, 2 dense features, 4 classes, 560/70/70 train/validation/test)
    """
    exact = _exact(name)
    info = next((info for info in _infos if exact in info.names), None)
    if info is None:
        raise InputError(unknown_dataset(name))
    if not isinstance(seed, Integral) or seed < 0:
        rule = "at least 0" if isinstance(seed, Integral) else "a whole number"
        raise InputError(f"seed must be {rule}, got {seed!r}")
    module = importlib.import_module(info.module)
    graph = cast("Graph", module.load(exact, seed=int(seed), data_dir=data_dir))
    return graph.replace(dataset=exact)


def dataset_name(data: str) -> str | None:
    """The exact name of a data set, or None for the folder of a stored graph; anything else is an error.

    A folder that has the name of a data set is written as a path: ./digits.
    """
    from se_gnn.graph.storage import holds_graph

    if _exact(data) in dataset_names():
        return _exact(data)
    if data and holds_graph(data):
        return None
    if data and Path(data).is_dir():
        raise InputError(f"{data} is a folder without a stored graph (graph.json and graph.*.npy)")
    raise InputError(unknown_dataset(data, ", or a stored graph's folder"))


def load_data(data: str, seed: int) -> Graph:
    """The data set of this name, or the graph stored in this folder."""
    from se_gnn.graph.storage import load_graph

    name = dataset_name(data)
    return load_graph(data) if name is None else load_dataset(name, seed=seed)


def unknown_dataset(name: str, instead: str = "") -> str:
    """What an error says of a name that is not registered; ``instead`` is what else could have been given."""
    exact = _exact(name)
    if exact.startswith(_IN_THE_LAB):
        return (
            f"data set {shortened(name)} is not part of the installed se-gnn, but of the lab in its repository: in a "
            "checkout, run `python -m lab` in place of `se-gnn`, or load it with `lab.datasets.load_dataset`"
        )
    listed = ", ".join(info.name for info in _infos[:_LISTED])
    known = listed if len(_infos) <= _LISTED else f"{listed}, ... (`se-gnn datasets` lists all)"
    return f"unknown data set {shortened(name)}{did_you_mean(exact, dataset_names())}; known: {known}{instead}"


def _exact(name: str) -> str:
    return name.lower().replace("_", "-")
