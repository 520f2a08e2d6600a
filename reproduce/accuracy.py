"""Test accuracy and precision@5 of the presets, seed by seed; every figure of the README's table comes from here.

python reproduce/accuracy.py run cora authors --seeds 5    # trains, writes results/accuracy-cora-authors.json
python reproduce/accuracy.py render                        # puts all results into the table of README.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- accuracy: reproduce/accuracy.py render -->", "<!-- end of accuracy -->"


def run(dataset: str, preset: str, seeds: int) -> None:
    """Train once a seed and write down what the test nodes say."""
    from se_gnn.config import Config
    from se_gnn.datasets import load_dataset
    from se_gnn.training import train

    config = Config.preset(preset, dataset=dataset)
    runs = []
    for seed in range(seeds):
        metrics = train(load_dataset(dataset, seed=seed), config, seed=seed, progress=True).metrics
        print(
            f"seed {seed}: test {metrics['test_accuracy']:.4f}, precision@5 {metrics['precision_at_5']:.4f}", flush=True
        )
        runs.append(metrics)
    result = {
        "dataset": dataset,
        "preset": preset,
        "command": f"python reproduce/accuracy.py run {dataset} {preset} --seeds {seeds}",
        "commit": subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, CPU",
        "config": config.to_dict(),
        "runs": runs,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"accuracy-{dataset}-{preset}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {path}")


def render() -> None:
    """Rewrite the table of the README from the result files."""
    rows = ["| data set | preset | test accuracy | precision@5 | seeds |", "| --- | --- | --- | --- | --- |"]
    for path in sorted(RESULTS.glob("accuracy-*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        accuracy, precision = (_spread(result["runs"], key) for key in ("test_accuracy", "precision_at_5"))
        rows.append(
            f"| {result['dataset']} | `{result['preset']}` | {accuracy} | {precision} | {_seeds(result['runs'])} |"
        )
    before, rest = README.read_text(encoding="utf-8").split(START)
    after = rest.split(END)[1]
    README.write_text(f"{before}{START}\n{chr(10).join(rows)}\n{END}{after}", encoding="utf-8")


def _spread(runs: list[dict[str, Any]], key: str) -> str:
    values = 100 * np.array([run[key] for run in runs])
    return f"{values.mean():.1f} ± {values.std():.1f}"


def _seeds(runs: list[dict[str, Any]]) -> str:
    seeds = [run["seed"] for run in runs]
    return f"{min(seeds)}-{max(seeds)}"


def main() -> None:
    """Run or render."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("dataset")
    one.add_argument("preset")
    one.add_argument("--seeds", type=int, default=5)
    commands.add_parser("render")
    args = parser.parse_args()
    if args.command == "run":
        run(args.dataset, args.preset, args.seeds)
    else:
        render()


if __name__ == "__main__":
    main()
