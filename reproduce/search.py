"""Choose settings of a preset on validation nodes alone; the test nodes are never looked at.

python reproduce/search.py cora paper --seeds 2 similarity.num_nearest=25,40,50 contrast.node_loss_weight=0.01,0.1
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools

import numpy as np

from se_gnn.config import Config
from se_gnn.datasets import load_dataset
from se_gnn.training import train


def main() -> None:
    """Try every combination and print them, best first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("preset")
    parser.add_argument("grid", nargs="*", help="section.key=value,value,...; join keys that move together with +")
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_intermixed_args()
    axes = []
    for axis in args.grid:
        keys, _, values = axis.partition("=")
        axes.append([[f"{key}={value}" for key in keys.split("+")] for value in values.split(",")])
    results = []
    for combination in itertools.product(*axes):
        settings = list(itertools.chain.from_iterable(combination))
        config = Config.preset(args.preset, dataset=args.dataset).override(settings)
        scores = []
        for seed in range(args.seeds):
            graph = load_dataset(args.dataset, seed=seed)
            blind = dataclasses.replace(graph, test=np.empty(0, np.int64))
            scores.append(train(blind, config, seed=seed).metrics["val_accuracy"])
        results.append((float(np.mean(scores)), settings))
        print(f"{results[-1][0]:.4f}  {' '.join(settings)}", flush=True)
    print("\nbest first:")
    for score, settings in sorted(results, key=lambda item: -item[0]):
        print(f"{score:.4f}  {' '.join(settings)}")


if __name__ == "__main__":
    main()
