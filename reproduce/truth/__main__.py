"""Check explanations of a trained model, or of a data set and a preset, and print what was found.

python -m reproduce.truth cora --preset authors --nodes 50
python -m reproduce.truth model/                             # a folder that `se-gnn train` wrote

`python -m reproduce run truth` does it for all test nodes of four graphs and every preset, and keeps the findings.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from lab.datasets import load_dataset
from reproduce.measures.truth import findings_of, some_nodes
from se_gnn.model.folder import load_model
from se_gnn.settings.presets import PRESETS
from se_gnn.settings.reading import asked_settings
from se_gnn.training import fit


def main() -> int:
    """Print the findings as JSON; 1 where a statement is false."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder, or the name of a data set to train on")
    parser.add_argument("--preset", choices=list(PRESETS), default="best")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting to change")
    parser.add_argument("--nodes", type=int, help="how many test nodes, evenly spaced (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if Path(args.model).is_dir():
        trained = load_model(args.model)
    else:
        asked = asked_settings(args.preset, None, args.set)
        trained = fit(load_dataset(args.model, seed=args.seed), asked, seed=args.seed)
    found = findings_of(trained, some_nodes(trained.graph.test, args.nodes))
    print(json.dumps(found, indent=1))
    return int(any(found["false_statements"].values()))


if __name__ == "__main__":
    sys.exit(main())
