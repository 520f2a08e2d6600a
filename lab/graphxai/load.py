"""GraphXAI, imported from a clone: its generator of graphs with ground truth, its explainers and its metrics.

GraphXAI is not a dependency, and nothing of it is copied here. What its code of 2023 needs to run with today's packages
is set when it is imported.
"""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import importlib
import importlib.util
import io
import os
import random
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from se_gnn.errors import InputError

WHERE = "https://github.com/mims-harvard/GraphXAI"
FOLDER = "GRAPHXAI"  # environment variable


def load_graphxai() -> Any:
    """GraphXAI's generator, explainers and metrics, from the clone that ``GRAPHXAI`` names or from where it is."""
    folder = os.environ.get(FOLDER)
    if folder is not None and folder not in sys.path:
        sys.path.insert(0, folder)
    if importlib.util.find_spec("graphxai") is None:
        raise InputError(f"graphxai is not here: git clone {WHERE}, and set {FOLDER} to the folder of the clone")
    _shims()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = {name: importlib.import_module(f"graphxai.{name}") for name in ("datasets", "explainers", "utils")}
        file = Path(str(importlib.import_module("graphxai").__file__)).parents[1] / "formal" / "metrics.py"
        if not file.exists():
            raise InputError(f"{file} is missing: an installed graphxai has no metrics, so set {FOLDER} to a clone")
        spec = importlib.util.spec_from_file_location("graphxai_formal_metrics", file)
        assert spec is not None
        assert spec.loader is not None
        metrics = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(metrics)
        swapping = importlib.import_module("graphxai.utils.perturb.nx_modified")
    # it draws a new seed from the operating system each time: leave ours
    vars(swapping)["random"] = types.SimpleNamespace(seed=lambda _: None, choice=random.choice)
    return types.SimpleNamespace(**parts, metrics=metrics)


def _shims() -> None:
    """Names that GraphXAI imports and that are gone, or that belong to packages only other explainers of it use."""
    moved = importlib.import_module("torch_geometric.utils._subgraph")
    sys.modules.setdefault("torch_geometric.utils.subgraph", moved)
    vars(collections).setdefault("Iterable", collections.abc.Iterable)
    if "ipdb" not in sys.modules and importlib.util.find_spec("ipdb") is None:
        sys.modules["ipdb"] = types.ModuleType("ipdb")
    unused = types.ModuleType("graphxai.explainers.pgm_explainer")
    if unused.__name__ not in sys.modules and importlib.util.find_spec("pgmpy") is None:
        vars(unused)["PGMExplainer"] = None
        sys.modules[unused.__name__] = unused


@contextlib.contextmanager
def quiet(*seed: int) -> Iterator[None]:
    """GraphXAI prints, warns and draws from the global generators; these are left as they were."""
    number = int(np.random.SeedSequence(seed).generate_state(1)[0])
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
        torch.random.fork_rng(devices=[]),
    ):
        warnings.simplefilter("ignore")
        random.seed(number)
        np.random.seed(number)  # noqa: NPY002
        torch.manual_seed(number)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
