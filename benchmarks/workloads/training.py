"""A training epoch with validation, against other ways to spend one."""

from __future__ import annotations

from benchmarks import ours
from benchmarks.baselines.dense import DenseTraining
from benchmarks.baselines.gcn import GCNTraining
from benchmarks.cases import Case
from benchmarks.graphs import load_graph, with_dense_features
from benchmarks.measure import Disagreement, Outcome, RunSettings, Side, alternate, round_ratios
from benchmarks.profile import shares
from se_gnn.training import TrainingRun

TOLERANCE = 1e-3  # of the classification loss; the dense distances come from a matrix product in float32
WARM_UP = 5  # epochs


def against_dense(case: Case, run: RunSettings) -> Outcome:
    """Our epoch with sparse features against the dense formulation, which reads dense ones."""
    graph = load_graph(case.dataset, seed=run.seed)
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    step = ours.epochs(graph, chosen, seed=run.seed)
    dense = DenseTraining(with_dense_features(graph), chosen, seed=run.seed)
    # same weights and same sampled references: the first loss must be the same; this also warms both up
    difference = abs(step()["class_loss"] - dense.step()["class_loss"])
    if not difference <= TOLERANCE:
        raise Disagreement(f"the classification losses of the first epoch differ by {difference}")
    sides = {"ours": Side(step), "dense": Side(dense.step)}
    samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    return Outcome(
        figures={"speedup": round_ratios(samples["dense"], samples["ours"])},
        samples=samples,
        details={
            "difference of the first classification loss": difference,
            "edges in labeled local graphs": len(dense.voter.labeled.edges),
            "where the time of our epoch goes": shares(step, of=TrainingRun.run_draws, times=1 if run.quick else 20),
        },
    )


def against_gcn(case: Case, run: RunSettings) -> Outcome:
    """Our epoch against one of a plain GCN."""
    graph = load_graph(case.dataset, seed=run.seed)
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    step = ours.epochs(graph, chosen, seed=run.seed)
    gcn = GCNTraining(with_dense_features(graph), seed=run.seed)
    for _ in range(1 if run.quick else WARM_UP):
        step()
        gcn.step()
    sides = {"ours": Side(step), "gcn": Side(gcn.step)}
    samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    return Outcome(figures={"time": round_ratios(samples["ours"], samples["gcn"])}, samples=samples)
