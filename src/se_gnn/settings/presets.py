"""Presets, the settings that two of them have for data sets of the registry, and the recipes of the default.

- `paper`: the equations as printed; what the paper leaves open was chosen on validation nodes.
- `authors`: what the published scripts do where they differ.
- `best`: the default, the same for every graph. It trains each recipe, and validation nodes choose between them. What
  each recipe is for, and the validation figures by which it was chosen: docs/how-to/settings.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[str, Any]  # by name
DEFAULT_PRESET = "best"

# edges join similar nodes: attributes of the neighborhood, weighted by personalized PageRank
SMOOTH: Values = {
    "hidden_size": 128,
    "output_size": 32,
    "aggregation": "pagerank",
    "steps": 8,
    "teleport": 0.2,
    "attribute_scaling": "unit",
    "attribute_dropout": 0.5,
    "hidden_dropout": 0.5,
    "node_dropout": 0.0,
    "temperature": 0.05,
    "learning_rate": 0.03,
    "weight_decay": 5e-3,
    "memory_dropout": 0.0,
    "label_smoothing": 0.0,
    "consistency_weight": 2.0,
}

# edges are doubtful: a node aggregates mostly its own attributes
NEAR: Values = {"aggregation": "pagerank", "steps": 4, "teleport": 0.7}

# labels are memorized at once: each step drops most attributes, and half of the labeled nodes
SPARING: Values = {
    "aggregation": "pagerank",
    "steps": 4,
    "attribute_scaling": "raw",
    "attribute_dropout": 0.8,
    "hidden_dropout": 0.8,
    "node_dropout": 0.3,
    "temperature": 0.3,
    "memory_dropout": 0.5,
    "label_smoothing": 0.2,
}

# edges join different nodes, or are uninformative: the weight of each step is learned
STEPS: Values = {
    "aggregation": "steps",
    "attribute_scaling": "raw",
    "attribute_dropout": 0.2,
    "temperature": 0.1,
    "learning_rate": 0.01,
}

# a node's role decides, not what its neighbors are: its own state stays beside theirs, layer after layer
LAYERS: Values = {
    "hidden_size": 64,
    "aggregation": "layers",
    "steps": 5,
    "attribute_scaling": "raw",
    "attribute_dropout": 0.0,
    "hidden_dropout": 0.2,
    "temperature": 0.1,
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    "memory_dropout": 0.5,
    "consistency_weight": 0.0,
}

# attributes are columns of numbers and edges are uninformative: thresholds in a node's own columns
COLUMNS: Values = {
    "aggregation": "own",
    "attribute_scaling": "pieces",
    "attribute_dropout": 0.0,
    "temperature": 0.3,
}

RECIPES: Mapping[str, Values] = {  # offered to every graph
    "smooth": SMOOTH,
    "near": NEAR,
    "sparing": SPARING,
    "steps": STEPS,
    "layers": LAYERS,
}

# attributes are weights of words, few of which decide: each gets a learned weight, which decays if it does not help
WEIGHTED: Values = {"attribute_scaling": "weighted"}

# nothing but its role is known of a node: thresholds in its own numbers, beside the means of its neighbors'
PROFILE: Values = {**LAYERS, "steps": 1, "attribute_scaling": "pieces", "attribute_dropout": 0.3}

# the same, and similar nodes must tell its role
ROLES: Values = {**PROFILE, "role_weight": 5.0}

SOMETIMES: Mapping[str, Values] = {  # offered to some graphs
    "weighted": WEIGHTED,
    "columns": COLUMNS,
    "profile": PROFILE,
    "roles": ROLES,
}
FOR_ROLES = ("profile", "roles")  # offered where nodes have no attributes but their role

# a number is predicted from columns: a node reads its own, the means of its neighbors', and its neighbors' known values
COLUMN_VALUES: Values = {"aggregation": "own", "read_neighbors": True, "read_values": True, "value_scale": "raw"}

# a number is predicted from sparse or very many attributes: those of the neighborhood, by personalized PageRank
SMOOTH_VALUES: Values = {"aggregation": "pagerank", "steps": 8, "teleport": 0.2, "value_scale": "raw"}

FOR_NUMBERS: Mapping[str, Values] = {
    "values": COLUMN_VALUES,
    "values-log": {**COLUMN_VALUES, "value_scale": "log"},
    "smooth-values": SMOOTH_VALUES,
    "smooth-values-log": {**SMOOTH_VALUES, "value_scale": "log"},
}
ALL_RECIPES: Mapping[str, Values] = {**RECIPES, **SOMETIMES, **FOR_NUMBERS}

_BEST: Values = {
    **SMOOTH,
    "objective": "vote",
    "members": 5,
    "attribute_share": 0.2,
    "read_edges": True,
    "weighted_steps": True,
    "num_nearest": 40,
    "node_weight": 0.5,
    "measure": "cosine",
    "max_edges": 64,
    "match_direction": True,
    "match_types": "own",
    "match_attributes": True,
    "weighted_mean": True,
    "epochs": 300,
    "patience": 60,
    "compare": "node",
    "choose_vote": True,
    "portfolio": True,
}

_BEST_FOR_NUMBERS: Values = {
    "objective": "number",
    "hidden_size": 64,
    "output_size": 16,
    "aggregation": "own",
    "attribute_scaling": "raw",
    "attribute_share": 0.0,
    "measure": "distance",
    "attribute_dropout": 0.0,
    "hidden_dropout": 0.3,
    "hidden_values": 0.3,
    "temperature": 0.3,
    "learning_rate": 0.01,
    "weight_decay": 1e-3,
    "epochs": 200,
    "patience": 30,
    "best_by": "r2",
}

_PAPER: Values = {
    "objective": "paper",
    "measure": "distance",
    "edge_loss_weight": 0.001,
    "node_batch": 256,
    "edge_batch": 256,
    "patience": 40,
}

_AUTHORS: Values = {
    "objective": "paper",
    "aggregation": "mean",
    "weight_init": "fan_in",
    "measure": "distance",
    "directions": "both",
    "node_negatives": 31,
    "negative_views": "second",
    "references": "nearest",
    "num_negatives": 15,
    "patience": None,
    "probability_floor": 1e-8,
}

_AUTHORS_BY_DATASET: Mapping[str, Values] = {
    "cora": {
        "hidden_size": 128, "scale_init": "uniform", "num_nearest": 30, "node_weight": 0.2, "mask_rate": 0.4,
        "epochs": 100,
    },
    "citeseer": {"num_nearest": 25, "mask_rate": 0.4, "node_loss_weight": 0.001, "edge_loss_weight": 0.001},
    "pubmed": {"num_layers": 3, "mask_rate": 0.15},
    "syn-cora": {
        "num_nearest": 5, "node_loss_weight": 1.0, "edge_loss_weight": 1.0, "node_batch": 128, "node_negatives": 127,
        "edge_batch": 512, "epochs": 50,
    },
    "ba-shapes": {
        "hidden_size": 128, "num_nearest": 10, "hops": 1, "mask_rate": 0.5, "node_loss_weight": 1.0,
        "edge_loss_weight": 1.0, "node_batch": 128, "node_negatives": 127, "edge_batch": 512, "epochs": 100,
    },
}  # fmt: skip

_RATES = ("0.05", "0.1", "0.15", "0.2", "0.25")
VARIANT_OF: Mapping[str, str] = {
    "citeseer-planetoid": "citeseer",
    "cora-nettack": "cora",
    "syn-cora-authors": "syn-cora",
    "ba-shapes-pgexplainer": "ba-shapes",
    **{f"{name}-metattack-{rate}": name for name in ("cora", "citeseer") for rate in _RATES},
}  # data sets of the registry that have the settings of the one that they are variants of


@dataclass(frozen=True, slots=True)
class Preset:
    """What a preset fills in: for every graph, and for some data sets of the registry."""

    values: Values
    by_dataset: Mapping[str, Values] = field(default_factory=dict)
    for_numbers: Values | None = None  # besides, if a number is predicted; None: it predicts classes alone

    def dataset_with_settings(self, dataset: str | None) -> str | None:
        """The data set whose own settings apply to a data set of the registry; None: none apply.

        ``dataset`` is a name of the registry (``graph.dataset``, never ``graph.name``).

        >>> PRESETS["authors"].dataset_with_settings("citeseer-metattack-0.25")
        'citeseer'
        """
        known = VARIANT_OF.get(dataset or "", dataset or "")
        return known if known in self.by_dataset else None


# for the cases of someone else's model, which is not trained
_CASES: Values = {
    "objective": "agreement",
    "num_nearest": 20,
    "max_edges": 64,
    "match_direction": True,
    "match_types": "own",
    "weighted_mean": True,
}

PRESETS: Mapping[str, Preset] = {
    "paper": Preset(_PAPER, {"cora": {"num_nearest": 40}}),
    "authors": Preset(_AUTHORS, _AUTHORS_BY_DATASET),
    "best": Preset(_BEST, for_numbers=_BEST_FOR_NUMBERS),  # never any settings by data set
}
CASES = "cases"  # the preset of a CaseExplainer; nothing can be trained with it
NOT_TRAINED: Mapping[str, Preset] = {CASES: Preset(_CASES)}
