"""Names of result folders: the round's benchmarks, those of old, and what was probably meant."""

from __future__ import annotations

import difflib
from functools import cache

from podium.rules.catalogue import find_round, rounds_of
from podium.rules.round import Round

_UNLISTED = {("training", "0.6"): ("ncf", "minigo")}
"""Benchmarks that the official package checker looks for though the round's logs have no rules."""

_MEANT = {
    "3d_unet": ("unet3d",),
    "dlrm": ("dlrm_dcnv2",),
    "dlrmv2": ("dlrm_dcnv2",),
    "gnn": ("rgat",),
    "gpt_oss": ("gpt_oss_20b",),
    "llama2": ("llama2_70b_lora",),
    "llama3": ("llama31_8b", "llama31_405b"),
    "mask": ("maskrcnn",),
    "nmt": ("gnmt",),
    "resnet50": ("resnet",),
    "ssd": ("retinanet",),
}
"""What people mean by a name that a round may not have."""


def is_early(rules: Round) -> bool:
    """Whether the round is 0.5 or 0.6, whose trees differ."""
    return rules.usage == "training" and rules.name in ("0.5", "0.6")


def benchmark_names(rules: Round) -> tuple[str, ...]:
    """The folder names that results of the round may have."""
    return (*rules.listed("closed"), *_UNLISTED.get((rules.usage, rules.name), ()))


def benchmark_called(name: str, rules: Round) -> str:
    """The benchmark of a result folder; empty where the round has none of that name."""
    names = benchmark_names(rules)
    if name in names:
        return name
    # The official verifier skips folders that have an older name.
    meant = rules.aliases.get(name, "")
    return meant if meant in names else ""


def about_name(name: str, rules: Round) -> tuple[str, str]:
    """What is wrong with the name of a result folder, and how to fix it."""
    elsewhere, advice = advice_on(name, rules)
    return f"{name} is no benchmark of {rules.title}{elsewhere}", advice


def advice_on(name: str, rules: Round) -> tuple[str, str]:
    """The rounds that a name belongs to, where that is what is wrong; and how to fix it."""
    if name in ("strong", "weak"):
        return "", "only HPC results lie in strong and weak: is it --usage hpc?"
    names = benchmark_names(rules)
    meant = [each for each in _MEANT.get(name.lower(), ()) if each in names]
    near = meant or difflib.get_close_matches(name.lower(), names, 1, 0.6)
    if near:
        return "", f"did you mean {' or '.join(near)}?"
    elsewhere = _rounds_with(rules.usage, name)
    if elsewhere:
        return f", but of {', '.join(elsewhere)}", "check that --round names the submission's round"
    return "", f"must be one of {', '.join(names)}"


@cache
def _rounds_with(usage: str, name: str) -> tuple[str, ...]:
    return tuple(each for each in rounds_of(usage) if name in find_round(usage, each).benchmarks)
