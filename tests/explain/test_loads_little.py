"""What a person waits for before a node is explained."""

from __future__ import annotations

import subprocess
import sys

NOT_NEEDED = ("se_gnn.training", "se_gnn.similarity.search", "scipy.optimize", "sklearn")


def test_explaining_loads_neither_training_nor_the_search():
    code = (
        "import sys, se_gnn.explain, se_gnn.model.folder, se_gnn.device; "
        f"print([name for name in {NOT_NEEDED} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
