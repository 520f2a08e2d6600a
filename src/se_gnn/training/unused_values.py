"""What the edges of a graph carry that a model does not use, said by name."""

from __future__ import annotations

from se_gnn.config import Config
from se_gnn.graph import Graph


def unused_values(graph: Graph, config: Config) -> str | None:
    """One sentence that names what is not used, and the settings that would use it; None where all is."""
    if graph.edge_values is None:
        return None
    similarity, reads = config.similarity, config.encoder.read_edges
    used = {
        "direction": reads or similarity.match_direction,
        "weight": reads or similarity.weighted_mean or config.encoder.weighted_steps,
        "type": reads or similarity.match_types != "any",
        "attributes": reads or similarity.match_attributes,
    }
    settings = {
        "direction": "match_direction",
        "weight": "weighted_mean, weighted_steps",
        "type": "match_types",
        "attributes": "match_attributes",
    }
    left = {part: words for part, words in graph.edge_values.carried_words.items() if not used.get(part, False)}
    if not left:
        return None
    names = [settings[part] for part in left if part in settings]
    how = f"; settings that use it: {', '.join(names)}" if names else ""
    time = "; edges are cut at a date by --until at import" if "time" in left else ""
    return f"of what edges carry, {', '.join(left.values())} is not used{how}{time}"
