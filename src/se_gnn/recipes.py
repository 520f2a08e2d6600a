"""The default, `best`: recipes between which validation nodes choose. One set of settings for every graph.

One more recipe is offered only where most of what nodes have are columns of numbers; other graphs are trained as if it
were not there. Each recipe learns the vote itself (the loss is over all labeled nodes, nothing is sampled) and asks
that two views of an unlabeled node vote alike. What each is for, and the validation figures it was chosen by:
docs/best.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = dict[str, Any]

# where edges join alike nodes: attributes of the neighborhood, weighed by personalized PageRank
SMOOTH: Settings = {
    "encoder": {
        "hidden_size": 128,
        "output_size": 32,
        "aggregation": "pagerank",
        "steps": 8,
        "teleport": 0.2,
        "attribute_scaling": "unit",
        "attribute_dropout": 0.5,
        "hidden_dropout": 0.5,
        "node_dropout": 0.0,
    },
    "similarity": {"temperature": 0.05},
    "training": {
        "learning_rate": 0.03,
        "weight_decay": 5e-3,
        "memory_dropout": 0.0,
        "label_smoothing": 0.0,
        "consistency_weight": 2.0,
    },
}

# where edges are doubtful: most of what a node aggregates is its own
NEAR: Settings = {"encoder": {"aggregation": "pagerank", "steps": 4, "teleport": 0.7}}

# where labels are learned by heart at once: each step leaves out most of what a node has, and half of the memory
SPARING: Settings = {
    "encoder": {
        "aggregation": "pagerank",
        "steps": 4,
        "attribute_scaling": "raw",
        "attribute_dropout": 0.8,
        "hidden_dropout": 0.8,
        "node_dropout": 0.3,
    },
    "similarity": {"temperature": 0.3},
    "training": {"memory_dropout": 0.5, "label_smoothing": 0.2},
}

# where edges join unlike nodes, or say little: the weight of each step is learned
STEPS: Settings = {
    "encoder": {"aggregation": "steps", "attribute_scaling": "raw", "attribute_dropout": 0.2},
    "similarity": {"temperature": 0.1},
    "training": {"learning_rate": 0.01},
}

# where attributes are numbers in columns and edges say little: thresholds in a node's own columns
COLUMNS: Settings = {
    "encoder": {"aggregation": "own", "attribute_scaling": "pieces", "attribute_dropout": 0.0},
    "similarity": {"temperature": 0.3},
}

RECIPES: Mapping[str, Settings] = {"smooth": SMOOTH, "near": NEAR, "sparing": SPARING, "steps": STEPS}
FOR_COLUMNS: Mapping[str, Settings] = {"columns": COLUMNS}  # offered beside them where nodes have columns of numbers

BEST: Settings = {
    "encoder": {
        **SMOOTH["encoder"],
        "members": 5,
        "attribute_share": 0.2,
        "read_edges": True,
        "weighted_steps": True,
    },
    "similarity": {
        "num_nearest": 40,
        "node_weight": 0.5,
        "measure": "cosine",
        "max_edges": 64,
        "match_direction": True,
        "match_types": "own",
        "match_attributes": True,
        "weighted_mean": True,
        **SMOOTH["similarity"],
    },
    "contrast": {"node_loss_weight": 0.0, "edge_loss_weight": 0.0},
    "training": {
        **SMOOTH["training"],
        "epochs": 300,
        "patience": 60,
        "references": "all",
        "compare": "node",
        "choose_vote": True,
        "portfolio": True,
    },
}
