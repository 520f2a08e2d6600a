"""Choose the settings of a baseline on validation nodes alone; the test nodes are never looked at.

python reproduce/search_baselines.py gcn cora    # tries baseline_grids.toml, writes searches/gcn-cora.json

What was tried already is not tried again, so that an interrupted search goes on. The best settings go into
`src/se_gnn/baselines/tuned.json`, where `se_gnn.baselines.tuned` finds them.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from se_gnn.baselines import BASELINES, Baseline, baseline
from se_gnn.baselines import tuned as tuned_settings
from se_gnn.datasets import load_dataset
from se_gnn.explain.metrics import accuracy
from se_gnn.files import replace_file
from se_gnn.graph import AttributedGraph

HERE = Path(__file__).parent
GRIDS = HERE / "baseline_grids.toml"
Settings = dict[str, Any]


def main() -> None:
    """Try every combination and keep the best."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baseline", choices=list(BASELINES))
    parser.add_argument("dataset")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto")
    args = parser.parse_args()
    search(args.baseline, args.dataset, args.seeds, args.device)


def search(name: str, dataset: str, seeds: int, device: str = "cpu") -> None:
    """Validation accuracy of each combination, the mean over some seeds; of equal ones the first wins."""
    path = HERE / "searches" / f"{name}-{dataset}.json"
    path.parent.mkdir(exist_ok=True)
    tried: list[Settings] = json.loads(path.read_text(encoding="utf-8"))["tried"] if path.exists() else []
    grid = tomllib.loads(GRIDS.read_text(encoding="utf-8"))[name]
    votes = list(_combinations(grid.pop("vote", {})))
    for settings in tqdm(list(_combinations(grid)), desc=f"{name} on {dataset}", unit="setting"):
        wanted = [{**settings, **vote} for vote in votes]
        if all(any(_is(row, one, seeds) for row in tried) for one in wanted):
            continue
        scores = [_scores(name, dataset, settings, votes, seed, device) for seed in range(seeds)]
        tried = [row for row in tried if row["settings"] not in wanted]  # with fewer seeds
        for one, values in zip(wanted, zip(*scores)):
            tried.append({"settings": one, "seeds": seeds, "val_accuracy": list(values)})
        best = max(tried, key=lambda row: np.mean(row["val_accuracy"]))
        command = f"python reproduce/search_baselines.py {name} {dataset} --seeds {seeds} --device {device}"
        result = {"command": command, "chosen": best["settings"], "tried": tried}
        replace_file(path, (json.dumps(result, indent=1) + "\n").encode())
    best = max(tried, key=lambda row: np.mean(row["val_accuracy"]))
    print(f"{np.mean(best['val_accuracy']):.4f}  {best['settings']}")
    _keep_all()


def _combinations(grid: dict[str, list[Any]]) -> Iterator[Settings]:
    return (dict(zip(grid, values)) for values in itertools.product(*grid.values()))


def _is(row: Settings, settings: Settings, seeds: int) -> bool:
    return bool(row["settings"] == settings and row["seeds"] >= seeds)


def _scores(name: str, dataset: str, settings: Settings, votes: list[Settings], seed: int, device: str) -> list[float]:
    """Validation accuracy with each way to vote; the network is trained once."""
    graph = load_dataset(dataset, seed=seed)
    blind = graph.with_split(train=graph.train, val=graph.val)
    fitted = baseline(name, **settings).fit(blind, seed=seed, device=device)
    return [_val_accuracy(fitted, blind, vote) for vote in votes]


def _val_accuracy(fitted: Baseline, graph: AttributedGraph, vote: Settings) -> float:
    fitted.settings = dataclasses.replace(fitted.settings, **vote)
    return accuracy(fitted.predict()[graph.val], graph.labels[graph.val])


def _keep_all() -> None:
    """What every search so far chose; other searches may run at the same time."""
    known: Settings = {}
    for path in (HERE / "searches").glob("*.json"):
        name, dataset = path.stem.rsplit("-", 1)
        known.setdefault(name, {})[dataset] = json.loads(path.read_text(encoding="utf-8"))["chosen"]
    replace_file(tuned_settings.FILE, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode())


if __name__ == "__main__":
    main()
