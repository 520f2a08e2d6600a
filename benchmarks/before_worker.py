"""Work on Cora with whatever source is on the path; tasks come as lines on the standard input (`benchmarks.before`)."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import torch

from se_gnn.datasets import load_dataset
from se_gnn.model import Model
from se_gnn.settings import Settings
from se_gnn.training.trainer import TrainingRun


def explain_one(trained: Any, node: int) -> object:
    """One explanation, by the function of today or by the class of earlier versions."""
    from se_gnn import explain

    return (
        explain.explain(trained, node)[0] if hasattr(explain, "explain") else explain.Explainer(trained).explain(node)
    )


def main() -> None:
    """Answer each line with a number."""
    torch.set_num_threads(1)
    graph = load_dataset("cora")
    run = TrainingRun(graph, Settings.of("paper").resolve(graph), seed=0, device=torch.device("cpu"), folder=None)
    trained = Model(run.model, graph, run.settings)
    explained = 0
    for line in sys.stdin:
        task, count = json.loads(line)
        start = time.process_time()
        answer = 0.0
        if task in ("epoch", "loss"):
            for _ in range(count):
                answer = run.step()["loss"]
        elif task == "explanation":
            for node in graph.test[explained : explained + count]:
                explain_one(trained, int(node))
            explained += count
        if task in ("epoch", "explanation"):
            answer = time.process_time() - start
        if task == "memory":
            answer = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        print(json.dumps(answer), flush=True)


main()
