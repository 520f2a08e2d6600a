"""Choose settings of SE-GNN on validation nodes alone; the test nodes are never looked at.

python -m reproduce.search cora authors learning_rate=0.01,0.003 num_layers=2,3

Tries every combination with some seeds, adds a row per training to searches/se-gnn.jsonl, and prints the combinations,
best first. What was tried already, with whichever grid, is not tried again, so that an interrupted search goes on.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shlex
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

from sklearn.model_selection import ParameterGrid
from tqdm import tqdm

from lab.datasets import load_dataset
from reproduce.runner import Making
from reproduce.tried import Searches
from se_gnn.errors import InputError
from se_gnn.settings.reading import asked_settings
from se_gnn.training import fit


def main(arguments: list[str] | None = None) -> int:
    """Try every combination and keep all of them."""
    from reproduce.__main__ import TRIAL, source_commit

    given = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("preset")
    parser.add_argument("grid", nargs="*", help="name=value,value,...; join names that move together with +")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time, each in a process of its own")
    parser.add_argument("--trial", action="store_true", help=f"source with changes: keep the search in {TRIAL}")
    args = parser.parse_intermixed_args(given)
    try:
        commit = source_commit(None, trial=args.trial)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    making = Making(f"python -m reproduce.search {shlex.join(given)}", commit, args.device)
    searches = Searches("se-gnn", TRIAL) if args.trial else Searches("se-gnn")
    tried = [{"preset": args.preset, **settings} for settings in combinations(args.grid)]
    missing = [(one, seed) for one in tried for seed in range(args.seeds) if not searches.has(args.dataset, one, seed)]
    with ProcessPoolExecutor(args.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {
            pool.submit(val_accuracy, args.dataset, settings, seed, args.device): (settings, seed)
            for settings, seed in missing
        }
        for future in tqdm(as_completed(running), total=len(running), unit="training", dynamic_ncols=True):
            settings, seed = running[future]
            searches.add(args.dataset, settings, {seed: future.result()}, making)
    for one in searches.best_first(args.dataset):
        if one.settings in tried:
            words = " ".join(f"{key}={value}" for key, value in one.settings.items() if key != "preset")
            print(f"{one.mean:.4f}  {len(one.val_accuracy)} seeds  {words}")
    return 0


def combinations(grid: list[str]) -> list[dict[str, str]]:
    """Every combination of the values, as settings by name.

    >>> combinations(["x=1,2", "y+z=3"])
    [{'x': '1', 'y': '3', 'z': '3'}, {'x': '2', 'y': '3', 'z': '3'}]
    """
    axes = dict(axis.split("=", 1) for axis in grid)
    found = ParameterGrid({keys: values.split(",") for keys, values in axes.items()})
    return [{key: one[keys] for keys in axes for key in keys.split("+")} for one in found]


def val_accuracy(dataset: str, settings: dict[str, str], seed: int, device: str) -> float:
    """Of the best epoch of one training; ``settings`` are the preset and changes to it."""
    assignments = [f"{name}={value}" for name, value in settings.items() if name != "preset"]
    asked = asked_settings(settings["preset"], None, assignments)
    graph = load_dataset(dataset, seed=seed)
    blind = graph.with_split(train=graph.train, validation=graph.validation)
    validation = fit(blind, asked, seed=seed, device=device).facts.validation or {}
    return float(validation["accuracy"])


if __name__ == "__main__":
    sys.exit(main())
