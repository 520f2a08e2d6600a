"""Choose the settings of a baseline on validation nodes alone; the test nodes are never looked at.

python -m reproduce.search_baselines gcn cora    # tries baseline_grids.toml, adds rows to searches/gcn.jsonl

What was tried already is not tried again, so that an interrupted search goes on. The best settings go into
`lab/baselines/tuned.json`, where `lab.baselines.tuned` finds them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tomllib
from pathlib import Path

from sklearn.model_selection import ParameterGrid
from tqdm import tqdm

from lab.baselines import BASELINES, Baseline, baseline
from lab.baselines import tuned as tuned_settings
from lab.datasets import load_dataset
from lab.metrics import accuracy
from reproduce.runner import Making
from reproduce.tried import FOLDER, Searches, Settings
from se_gnn.errors import InputError
from se_gnn.files import replace_file
from se_gnn.graph import Graph

GRIDS = Path(__file__).with_name("baseline_grids.toml")


def main(arguments: list[str] | None = None) -> int:
    """Try every combination and keep the best."""
    from reproduce.__main__ import source_commit

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baseline", choices=list(BASELINES))
    parser.add_argument("dataset")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto")
    parser.add_argument("--commit", help="commit of the source, where it is not a repository")
    args = parser.parse_args(arguments)
    try:
        commit = source_commit(args.commit, trial=False)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    command = f"python -m reproduce.search_baselines {args.baseline} {args.dataset} --seeds {args.seeds}"
    search(Searches(args.baseline), args.dataset, args.seeds, Making(command, commit, args.device))
    write_tuned()
    return 0


def search(searches: Searches, dataset: str, seeds: int, making: Making) -> None:
    """Validation accuracy of each combination with each seed."""
    name = searches.path.stem
    grid = tomllib.loads(GRIDS.read_text(encoding="utf-8"))[name]
    votes = list(ParameterGrid(grid.pop("vote", {})))
    for settings in tqdm(in_order(grid), desc=f"{name} on {dataset}", unit="setting"):
        missing = [seed for seed in range(seeds) if not all(_has(searches, dataset, settings, votes, seed))]
        scores = {seed: _scores(name, dataset, settings, votes, seed, making.device) for seed in missing}
        for i, vote in enumerate(votes if missing else []):
            by_seed = {seed: of_votes[i] for seed, of_votes in scores.items()}
            searches.add(dataset, {**settings, **vote}, by_seed, making)
    best = searches.best_first(dataset, seeds=seeds)[0]
    print(f"{best.mean:.4f}  {best.settings}")


def in_order(grid: dict[str, list[object]]) -> list[Settings]:
    """Every combination, the last setting changing fastest.

    >>> in_order({"b": [1, 2], "a": [3]})
    [{'b': 1, 'a': 3}, {'b': 2, 'a': 3}]
    """
    positions = {key: range(len(values)) for key, values in grid.items()}
    found = sorted(ParameterGrid(positions), key=lambda one: [one[key] for key in grid])
    return [{key: grid[key][one[key]] for key in grid} for one in found]


def _has(searches: Searches, dataset: str, settings: Settings, votes: list[Settings], seed: int) -> list[bool]:
    return [searches.has(dataset, {**settings, **vote}, seed) for vote in votes]


def _scores(name: str, dataset: str, settings: Settings, votes: list[Settings], seed: int, device: str) -> list[float]:
    """Validation accuracy with each way to vote; the network is trained once."""
    graph = load_dataset(dataset, seed=seed)
    blind = graph.with_split(train=graph.train, validation=graph.validation)
    fitted = baseline(name, **settings).fit(blind, seed=seed, device=device)
    return [_val_accuracy(fitted, blind, vote) for vote in votes]


def _val_accuracy(fitted: Baseline, graph: Graph, vote: Settings) -> float:
    fitted.settings = dataclasses.replace(fitted.settings, **vote)
    return accuracy(fitted.predict()[graph.validation], graph.labels[graph.validation])


def chosen(folder: Path = FOLDER) -> dict[str, dict[str, Settings]]:
    """What the searches chose, by baseline and data set."""
    found: dict[str, dict[str, Settings]] = {}
    for name in sorted(BASELINES):
        searches = Searches(name, folder)
        for dataset in searches.datasets:
            found.setdefault(name, {})[dataset] = searches.best_first(dataset)[0].settings
    return found


def write_tuned() -> None:
    """Put what was chosen where `lab.baselines.tuned` finds it."""
    replace_file(tuned_settings.FILE, (json.dumps(chosen(), indent=1, sort_keys=True) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
