"""What the measurements should show, judged on the results."""

from __future__ import annotations

from dataclasses import dataclass

from reproduce import authors_settings, default, figure_5, table_2, table_5
from reproduce.job import Series
from reproduce.markdown import MISSING, NOT_APPLICABLE, measured, paragraphs, table
from reproduce.methods import CLASSIFIERS, DATASET_NAMES, NAMES, classify
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Goals"
NEAR = 1.5  # points that a baseline may be away from the print


@dataclass(frozen=True, slots=True)
class Goal:
    """A mean over the seeds, in percent, or its distance to another one, and the least it should be."""

    text: str
    series: Series
    measure: str
    least: float
    above: Series | None = None
    best: Series | None = None  # the same with the preset `best`, to compare

    def value(self, store: Store) -> float | None:
        """What was measured; None where something was not run."""
        mean = _mean(store, self.series, self.measure)
        if self.above is None or mean is None:
            return mean
        other = _mean(store, self.above, self.measure)
        return None if other is None else mean - other


def goals() -> list[Goal]:
    """All goals for SE-GNN."""
    found = []
    for dataset, accuracy, precision in (("cora", 80.0, 78), ("citeseer", 73.3, 71), ("pubmed", 79.3, 79)):
        ours, best, name = classify(dataset, "se-gnn"), default.on_graph(dataset, "se-gnn"), DATASET_NAMES[dataset]
        found.append(Goal(f"{name}, accuracy", ours, "accuracy", accuracy, best=best))
        found.append(Goal(f"{name}, precision@5", ours, "precision_at_5", precision, best=best))
    syn_cora = classify("syn-cora-authors", "se-gnn")
    found.append(Goal("Syn-Cora, accuracy", syn_cora, "accuracy", 97.7))
    found.append(Goal("Syn-Cora, edge accuracy", syn_cora, "edge_accuracy", 81))
    shapes = table_5.edges_of("ba-shapes-pgexplainer", "se-gnn")
    found.append(Goal("BA-Shapes, AUC at 1 hop", shapes, table_5.PROTOCOLS[0], 97.5))
    ours, gcn, pro_gnn = (figure_5.at_rate(method, "metattack", 0.25) for method in ("se-gnn", "gcn", "pro-gnn"))
    least = printed("figure_5")["points_above_gcn"]
    found.append(Goal("Citeseer at 25% Metattack, points above GCN", ours, "accuracy", least, gcn))
    found.append(Goal("Citeseer at 25% Metattack, points above Pro-GNN", ours, "accuracy", 0, pro_gnn))
    return found


def render(store: Store) -> str:
    """Each goal with what was measured, and the baselines that are far from the print."""
    rows = []
    for goal in goals():
        value = goal.value(store)
        shown = [MISSING, MISSING] if value is None else [f"{value:.1f}", "yes" if value >= goal.least else "no"]
        best = None if goal.best is None else _mean(store, goal.best, goal.measure)
        rows.append([goal.text, f"{goal.least:g}", *shown, NOT_APPLICABLE if best is None else f"{best:.1f}"])
    header = ["SE-GNN, mean over the seeds", "at least", "`authors`", "met", "`best`"]
    return paragraphs(table(header, rows), _baselines(store))


def _baselines(store: Store) -> str:
    """Which baselines of Table 2 are near the print, and which are not."""
    far, measured_ones = [], 0
    for dataset in table_2.DATASETS:
        for method in CLASSIFIERS[:-1]:
            mean = _mean(store, classify(dataset, method), "accuracy")
            if mean is None:
                continue
            measured_ones += 1
            away = mean - printed("table_2")[dataset][method][0]
            if abs(away) > NEAR:
                far.append(f"{NAMES[method]} on {DATASET_NAMES[dataset]} ({away:+.1f})")
    if not measured_ones:
        return ""
    near = f"{measured_ones - len(far)} of {measured_ones} baseline results of Table 2"
    beyond = f" Further away: {', '.join(far)}." if far else ""
    return f"{near} are within {NEAR} points of the print.{beyond}{_as_published(store)}"


def _as_published(store: Store) -> str:
    """The baselines that are near the print on all graphs with the settings of the authors' scripts."""
    near = []
    for method in authors_settings.SETTINGS:
        means = {
            name: _mean(store, authors_settings.as_published(name, method), "accuracy") for name in table_2.DATASETS
        }
        paper = {name: printed("table_2")[name][method][0] for name in table_2.DATASETS}
        if all(mean is not None and abs(mean - paper[name]) <= NEAR for name, mean in means.items()):
            near.append(NAMES[method])
    if not near:
        return ""
    return f" With the settings of the authors' scripts {' and '.join(near)} are within {NEAR} points on all graphs."


def _mean(store: Store, series: Series, measure: str) -> float | None:
    values = measured(store.of(series), measure)
    return float(100 * values.mean()) if len(values) else None
