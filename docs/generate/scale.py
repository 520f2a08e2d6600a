"""What 100 million nodes would take: computed from what was measured on one million, by the growth the page names.

Shapes: N nodes, E edges, F features, D dimensions, L labeled nodes.
"""

from __future__ import annotations

import json

from docs.generate.blocks import ROOT, replaced

from se_gnn.apps.cli.shard_options import SHARD_NODES
from se_gnn.config import Config
from se_gnn.encoder.attributes import WIDTH
from se_gnn.graph.ranked_local import MAX_NODES

PAGE = ROOT / "docs" / "scale.md"
ON_GPU = ROOT / "benchmarks" / "published" / "gpu-h200.json"
MAPPED = ROOT / "benchmarks" / "published" / "mapped-graph.json"

NODES, EDGES, FEATURES, LABELED = 100_000_000, 1_000_000_000, 128, 10_000
GPUS = (8, 64)
MEASURED_NODES = 1_000_000  # of both measurements


def scale_table() -> str:
    """The table of the page, and what each row is made of."""
    config = Config.preset("best")
    encoder, max_edges = config.encoder, config.similarity.max_edges or 0
    width = encoder.members * (encoder.output_size or encoder.hidden_size) + min(FEATURES, WIDTH)
    graph = 2 * NODES * FEATURES + 24 * NODES + 16 * EDGES + 16 * EDGES
    shards = -(-NODES // SHARD_NODES)
    embedding = _embedding_seconds(width)
    device = 4 * width * (LABELED + SHARD_NODES) * (MAX_NODES + max_edges)
    rows = [
        ("nodes that a rank compares", *(f"{NODES // gpus:,}" for gpus in GPUS), "N / ranks"),
        ("mapped graph on disk, GB, shared", *_same(graph / 1e9), "2 N F (float16) + 24 N + 32 E bytes"),
        ("files of a rank while it embeds, GB", *_same(12 * NODES * width / 1e9), "3 arrays of N x D float32"),
        ("memory of a rank at least, GB", *_same(64 * NODES / 1e9), "64 bytes per node; more of it: fewer blocks"),
        ("GPU memory beside the budget, GB", *_same(device / 1e9), "local graphs of L and of a shard x D float32"),
        ("embedding, hours, in every rank", *_same(embedding / 3600), "measured on two cores, x edges x dimensions"),
        ("comparison, hours", *(f"{_comparison_seconds() / gpus / 3600:.2f}" for gpus in GPUS),
         "measured on one H200, x nodes / ranks"),
        ("shards", *_same(shards), f"{SHARD_NODES:,} nodes each"),
        ("messages between ranks, MB", *_same(shards * 200 / 1e6), "a number and a sign of progress per shard"),
    ]  # fmt: skip
    lines = [f"| | {' | '.join(f'{gpus} GPUs' for gpus in GPUS)} | how |", f"| --- |{' --: |' * len(GPUS)} --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def measured_table() -> str:
    """Phases of the mapped graph of one million nodes."""
    about = _mapped()
    seconds = about["seconds of each phase"]
    allocated = about["allocated in each phase at most, GB"]
    lines = ["| phase | seconds | allocated at most, GB |", "| --- | --: | --: |"]
    lines += [f"| {name} | {seconds[name]:.0f} | {allocated[name]:.2f} |" for name in seconds]
    return "\n".join(lines)


def write_scale() -> None:
    """Put the tables into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, "scale", whole()), encoding="utf-8")


def whole() -> str:
    """All that is between the marks."""
    about = _mapped()
    told = (
        f"Measured, on two cores that did other work as well: {about['nodes']:,} nodes, {about['edges']:,} edges, "
        f"{about['dimensions']} dimensions, {about['labeled nodes']:,} labeled nodes, {about['predicted']:,} "
        f"predicted, `--max-memory {about['max_memory']}`, "
        f"{about['resident at most, mapped files included, GB']:.2f} GB resident with the pages of mapped files "
        f"(`python -m benchmarks mapped-graph`)."
    )
    computed = (
        f"Computed, not measured: {NODES:,} nodes, {EDGES:,} edges, {FEATURES} features as float16, {LABELED:,} "
        f"labeled nodes, the default's {_width()} dimensions, predictions of all nodes with `--device cuda`."
    )
    return "\n\n".join([told, measured_table(), computed, scale_table()])


def _mapped() -> dict[str, object]:
    (case,) = json.loads(MAPPED.read_text(encoding="utf-8"))["cases"]
    details: dict[str, object] = case["details"]
    return details


def _width() -> int:
    encoder = Config.preset("best").encoder
    return encoder.members * (encoder.output_size or encoder.hidden_size) + min(FEATURES, WIDTH)


def _embedding_seconds(width: int) -> float:
    about = _mapped()
    work = (2 * about["edges"] + about["nodes"]) * about["dimensions"]
    return about["seconds of each phase"]["embed"] * (2 * EDGES + NODES) * width / work


def _comparison_seconds() -> float:
    return json.loads(ON_GPU.read_text(encoding="utf-8"))["million"]["total_seconds"] * NODES / MEASURED_NODES


def _same(value: float) -> tuple[str, ...]:
    text = f"{value:,.0f}" if value >= 10 else f"{value:.2f}"
    return (text,) * len(GPUS)
