"""How many runs a result needs, how many its score drops, and which of too many it takes.

Source: training rules, Benchmark Results and Scoring, with the counts of retired benchmarks; HPC
rules, Benchmark Results.
"""

from __future__ import annotations

from podium.rules.catalogue import UnknownRound, find_round
from podium.rules.round import version_of

DROPPED = {"unet3d": 4}
"""Runs dropped at each end, and so those that may fail as the slowest, where it is not one."""

FIRST_CONVERGING = 50
"""NCF in 0.5: of a hundred runs the first fifty that converge are scored."""

_WITHOUT_RULES = {
    ("training", "0.5", "minigo"): 20,
    ("training", "0.5", "ncf"): FIRST_CONVERGING,
    ("training", "0.6", "minigo"): 20,
}
_FIVE = frozenset({"resnet", "ssd", "retinanet", "maskrcnn", "dlrm", "deepcam", "oc20"})
_THREE = frozenset({"gpt3", "llama31_405b", "deepseekv3_671b", "qwen35_397b_grpo"})
_ALIASES = {"mask": "maskrcnn", "ssd300": "ssd", "3d_unet": "unet3d"}


def needed_runs(usage: str, round_name: str, benchmark: str) -> int:
    """How many runs a result needs (HPC throughput: at least); 10 where nothing is known."""
    benchmark = _ALIASES.get(benchmark, benchmark)
    special = _WITHOUT_RULES.get((usage, round_name, benchmark))
    if special is not None:
        return special
    try:
        known = find_round(usage, round_name).benchmarks.get(benchmark)
    except UnknownRound:
        known = None
    if known is not None:
        return known.runs
    if benchmark == "unet3d":
        return 40
    return 5 if benchmark in _FIVE else 3 if benchmark in _THREE else 10


def dropped_of(benchmark: str) -> int:
    """Runs dropped at each end for the mean: as many may fail, and count as the slowest."""
    return DROPPED.get(benchmark, 1)


def takes_median_window(usage: str, round_name: str) -> bool:
    """Whether more runs than needed may be submitted, the median window of which is scored."""
    first = (2, 0) if usage == "hpc" else (1, 1)
    return version_of(round_name) >= first


def takes_first_converging(usage: str, round_name: str, benchmark: str) -> bool:
    """Whether only runs that converge are scored, the first of them."""
    return (usage, round_name, benchmark) == ("training", "0.5", "ncf")
