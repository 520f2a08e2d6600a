"""The part of the page on performance that needs a GPU, made from the results of `benchmarks.gpu`."""

from __future__ import annotations

from typing import Any

from benchmarks.table import number

_DIFFERENCES = ("largest_difference", "gradient_difference")


def render_gpu(result: dict[str, Any]) -> str:
    """Markdown made from one result file."""
    roofline, epoch, million, many = (result[case] for case in ("roofline", "cora_epoch", "million", "many_labeled"))
    worst = {name: max(case[name] for case in result["agreement"]["compared"].values()) for name in _DIFFERENCES}
    rows = [
        (
            "Cora, training epoch with validation, against the dense formulation on the same device",
            "at least 20 x",
            f"**{number(epoch['ratio'])}** x ({number(epoch['ours_ms'])} ms against {number(epoch['dense_ms'])} ms)",
            "met" if epoch["ratio"] >= 20 else "falls short",
        ),
        _same_bits_row(result["same_bits"]["compared"]),
        (
            "Edge matching of a large case, against one float32 product of the distinct edge pairs",
            "at least 50% of the roofline",
            f"**{roofline['share_of_roofline']:.0%}** ({number(roofline['ours_ms'])} ms)",
            "met" if roofline["share_of_roofline"] >= 0.5 else "falls short",
        ),
        (
            f"1,000,000 nodes, {million['edges']:,} edges, 10,000 labeled nodes: every node scored exactly",
            "under 60 s (aim 20)",
            f"**{number(million['total_seconds'])}** s, {number(million['gpu_peak_gib'])} GiB on the device",
            "met" if million["total_seconds"] < 60 else "falls short",
        ),
        (
            "The same top K as plain float32 products, on a sample of its nodes",
            f"{million['sample']:,} of {million['sample']:,}",
            f"**{million['same_nearest_in_order']:,}**, in the same order",
            "met" if million["same_nearest_in_order"] == million["sample"] else "falls short",
        ),
        (
            f"{many['nodes']:,} nodes, {many['edges']:,} edges, {many['labeled']:,} labeled nodes, a trained model: "
            "every node scored exactly, against comparing all pairs",
            "at least 5 x (aim 20)",
            f"**{number(many['ratio'])}** x ({number(many['search_seconds'])} s against "
            f"{number(many['full_seconds'])} s)",
            "met" if many["ratio"] >= 5 else "falls short",
        ),
        (
            "The same K nearest as comparing all pairs",
            f"{many['nodes']:,} of {many['nodes']:,}",
            f"**{many['same_nearest_as_sets']:,}**, similarities differ by {many['largest_similarity_difference']:g}",
            "met" if many["same_nearest_as_sets"] == many["nodes"] else "falls short",
        ),
    ]
    lines = ["## On a GPU", "", "| case | target | measured | |", "| --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    lines += [
        "",
        f"On the large graph, building the local graphs takes {number(million['local_graphs_seconds'])} s on the host "
        f"(2 hops, {number(million['mean_local_edges'])} edges on average), and scoring takes "
        f"{number(million['scoring_seconds'])} s. The CUDA kernel agrees with the CPU kernel: the largest difference "
        f"is {worst['largest_difference']:.1e}, and gradients agree within {worst['gradient_difference']:.1e}. An "
        "epoch on Cora is one recorded graph of about a hundred small kernels, replayed while the host draws the "
        "samples of the next epoch. A third of its time is edge matching; the rest is kernels too small to fill the "
        "device, so having fewer of them is the next step.",
        "",
        f"Command: `{result['command']}`; {result['device']}, torch {result['torch']}; commits "
        + ", ".join(f"{found['commit']} ({case})" for case, found in result.items() if isinstance(found, dict))
        + ".",
    ]
    return "\n".join(lines) + "\n"


def _same_bits_row(compared: dict[str, Any]) -> tuple[str, str, str, str]:
    """Whether two trainings of one seed have the same bits, and what an epoch takes against atomics and cuSPARSE."""
    same = all(one["same_bits"] for one in compared.values())
    costs = ", ".join(f"{name.partition(',')[0]} {number(one['ratio'])} x" for name, one in compared.items())
    return (
        "The same bits from the same seed: two trainings of each preset, 20,000 nodes; a whole epoch, host included, "
        "against one in which sums have no fixed order (atomics, cuSPARSE)",
        "the same bits",
        f"**{'the same' if same else 'other'}** bits; {costs}",
        "met" if same else "falls short",
    )
