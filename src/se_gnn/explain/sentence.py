"""An explanation as sentences that a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from se_gnn.figures import whole

if TYPE_CHECKING:
    from se_gnn.explain.explanation import Explanation, Neighbor


def describe(explanation: Explanation) -> str:
    """What was predicted, who voted, how the closest is similar, and what would change the answer."""
    predicted, total = explanation.predicted_name, len(explanation.neighbors)
    share = explanation.probabilities[explanation.predicted]
    agreeing = sum(neighbor.label == explanation.predicted for neighbor in explanation.neighbors)
    closest = explanation.neighbors[0]
    parts = [f"Node {explanation.name} is predicted {predicted!r} ({whole(share)})."]
    if total == 1:
        parts.append(f"Its nearest labeled node is {closest.label_name!r}.")
    elif agreeing == total:
        parts.append(f"All of its {total} nearest labeled nodes are.")
    else:
        parts.append(f"{agreeing} of its {total} nearest labeled nodes are.")
    parts.append(_closest(closest))
    if not explanation.has_structure:
        parts.append("The node has no relations, so it was compared by its own attributes alone.")
    if explanation.left_out:
        own = explanation.class_names[explanation.label]
        parts.append(f"The node is labeled {own!r} itself; its own label was left out.")
    parts.append(_what_if(explanation))
    return " ".join(parts)


def _closest(closest: Neighbor) -> str:
    if closest.matches is None or not len(closest.matches):
        return f"The closest is {closest.name} ({closest.label_name!r}), compared by its own attributes alone."
    well, all_edges = int(closest.matches.well.sum()), len(closest.matches)
    noun = "relation" if all_edges == 1 else "relations"
    return (
        f"The closest, {closest.name} ({closest.label_name!r}), matches {well} of {all_edges} {noun} "
        "at least as well as its nearest labeled nodes do on average."
    )


def _what_if(explanation: Explanation) -> str:
    """The one neighbor whose absence would change the class, if there is one."""
    for neighbor in explanation.neighbors:
        if not any(neighbor.without):
            return f"Without {neighbor.name} no labeled node would be left to compare with."
        other = int(np.argmax(neighbor.without))
        if other != explanation.predicted:
            return (
                f"Without {neighbor.name} it would be predicted {explanation.class_names[other]!r} "
                f"({whole(neighbor.without[other])})."
            )
    return "No single labeled node decides it: without any one of them the prediction stays the same."
