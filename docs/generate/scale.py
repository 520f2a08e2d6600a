"""What 100 million nodes would take: computed, from sizes of arrays and from what one million took on one GPU.

Shapes: N nodes, E edges, F features, D dimensions, L labeled nodes.
"""

from __future__ import annotations

import json

from docs.generate.blocks import ROOT, replaced
from se_gnn.apps.cli.options import SHARD_NODES
from se_gnn.encoder.blocks import LEAST
from se_gnn.encoder.ensemble import WIDTH
from se_gnn.graph.local import MAX_NODES
from se_gnn.settings import Settings

PAGE = ROOT / "docs" / "how-to" / "large-graphs.md"
ON_GPU = ROOT / "benchmarks" / "published" / "gpu-h200.json"

NODES, EDGES, FEATURES, LABELED = 100_000_000, 1_000_000_000, 128, 10_000
GPUS = (8, 64)
MEASURED_NODES = 1_000_000
BANDWIDTH = 100e9  # bytes per second from the memory of a machine, assumed; rows of neighbors lie anywhere


def scale_table() -> str:
    """The table of the page, and what each row is made of."""
    config = Settings.of("best").resolve()
    encoder, max_edges = config.encoder, config.similarity.max_edges or 0
    width = encoder.members * (encoder.output_size or encoder.hidden_size) + min(FEATURES, WIDTH)
    graph = 2 * NODES * FEATURES + 24 * NODES + 16 * EDGES + 16 * EDGES
    shards = -(-NODES // SHARD_NODES)
    embedding = 8 * _embedding_bytes(width) / BANDWIDTH  # 8 ranks of a machine share its memory
    device = 4 * width * (LABELED + SHARD_NODES) * (MAX_NODES + max_edges)
    rows = [
        ("nodes that a rank compares", *(f"{NODES // gpus:,}" for gpus in GPUS), "N / ranks"),
        ("mapped graph on disk, GB, shared", *_same(graph / 1e9), "2 N F (float16) + 24 N + 32 E bytes"),
        ("files of a rank while it embeds, GB", *_same(8 * NODES * width / 1e9), "2 arrays of N x D float32"),
        ("memory of a rank at least, GB", *_same(LEAST * NODES / 1e9),
         f"{LEAST} bytes per node; more of it: fewer blocks"),
        ("GPU memory beside the budget, GB", *_same(device / 1e9), "local graphs of L and of a shard x D float32"),
        ("read and written while a rank embeds, TB", *_same(_embedding_bytes(width) / 1e12),
         "steps x (2 E + N) x D float32, and more"),
        ("embedding, hours, by every rank", *_same(embedding / 3600),
         f"8 ranks of a machine at {BANDWIDTH / 1e9:.0f} GB/s together, assumed"),
        ("comparison, hours", *(f"{_comparison_seconds() / gpus / 3600:.2f}" for gpus in GPUS),
         f"{_million():.0f} s for a million on one H200, x nodes / ranks"),
        ("shards", *_same(shards), f"{SHARD_NODES:,} nodes each"),
        ("messages between ranks, MB", *_same(shards * 200 / 1e6), "a number and a sign of progress per shard"),
    ]  # fmt: skip
    lines = [f"| | {' | '.join(f'{gpus} GPUs' for gpus in GPUS)} | how |", f"| --- |{' --: |' * len(GPUS)} --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def write_scale() -> None:
    """Put the tables into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, "scale", whole()), encoding="utf-8")


def whole() -> str:
    """All that is between the marks."""
    told = (
        f"Computed, not measured: {NODES:,} nodes, {EDGES:,} edges, {FEATURES} features as float16, {LABELED:,} "
        f"labeled nodes, the default's {_width()} dimensions, predictions of all nodes with `--device cuda`, 8 GPUs "
        "per machine."
    )
    return f"{told}\n\n{scale_table()}"


def _width() -> int:
    encoder = Settings.of("best").resolve().encoder
    return encoder.members * (encoder.output_size or encoder.hidden_size) + min(FEATURES, WIDTH)


def _embedding_bytes(width: int) -> float:
    """Read and written by all steps: the row of each neighbor, its number, and the row of the node itself, twice."""
    return Settings.of("best").resolve().encoder.steps * 4 * ((2 * EDGES + NODES) * (width + 1) + 2 * NODES * width)


def _comparison_seconds() -> float:
    return _million() * NODES / MEASURED_NODES


def _million() -> float:
    """Seconds to score a million nodes with as many labeled ones, local graphs without a limit."""
    seconds: float = json.loads(ON_GPU.read_text(encoding="utf-8"))["million"]["total_seconds"]
    return seconds


def _same(value: float) -> tuple[str, ...]:
    text = f"{value:,.0f}" if value >= 10 else f"{value:.2f}"
    return (text,) * len(GPUS)
