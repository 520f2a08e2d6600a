"""Two small tables that are fine, to be spoiled by tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from se_gnn.tables import Imported, ImportSettings, read_tables

NODES = """\
account,country,balance,opened,verified,note,fraud
A-0,DE,10.50,2020-01-31,yes,paid in time,no
A-1,FR,,2021-02-01,no,late again and again,no
A-2,DE,312.50,2020-03-05,yes,paid in full,yes
A-3,,7.25,2022-11-11,no,asked for a refund,no
A-4,FR,1.00,2020-01-01,yes,never heard of,yes
A-5,DE,99.99,2019-12-31,no,late by a day,
"""
EDGES = """\
from,to,amount
A-0,A-1,5
A-1,A-0,7
A-2,A-3,1
A-2,A-3,2
A-4,A-4,9
A-3,A-4,2
"""
Import = Callable[..., Imported]


@pytest.fixture
def load(tmp_path: Path) -> Import:
    """Import the two tables, changed as a test wants, from CSV files."""

    def call(
        nodes: str | bytes = NODES, edges: str | bytes = EDGES, *, strict: bool = False, **options: object
    ) -> Imported:
        paths = []
        for name, text in (("nodes.csv", nodes), ("edges.csv", edges)):
            (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
            paths.append(tmp_path / name)
        usual = {"id": "account", "label": "fraud", "source": "from", "target": "to"}
        return read_tables(*paths, ImportSettings(**{**usual, **options}), strict=strict)

    return call
