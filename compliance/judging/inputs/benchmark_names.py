"""Names of result folders: the round's benchmarks, old names, and similar names."""

from __future__ import annotations

from podium.rules.benchmark_names import advice_on as rules_advice
from podium.rules.model.round import Round


def benchmark_called(name: str, rules: Round) -> str:
    """The benchmark of a result folder; empty if the round has no such benchmark."""
    names = rules.allowed
    if name in names:
        return name
    # The official verifier ignores folders with an old name.
    benchmark = rules.aliases.get(name, "")
    return benchmark if benchmark in names else ""


def about_name(name: str, rules: Round) -> tuple[str, str]:
    """The error in the name of a result folder, and how to fix it."""
    remark, advice = advice_on(name, rules)
    return f"{name} is not a benchmark of {rules.title}{remark}", advice


def advice_on(name: str, rules: Round) -> tuple[str, str]:
    """The rounds that a name belongs to, if it is from another round, and how to fix it."""
    # An HPC tree checked with the rules of Training has strong and weak in place of benchmarks
    if name in ("strong", "weak"):
        return "", "only HPC results are in strong and weak; use --usage hpc"
    return rules_advice(name, rules)


def wrong_level(parent: str, system: str, rules: Round) -> str:
    """How to move a system's folder that is in another folder of `results`."""
    if benchmark_called(parent, rules):
        return (
            f"the levels are swapped: move results/{parent}/{system} to results/{system}/{parent}"
        )
    return f"move results/{parent}/{system} to results/{system}: systems are directly below results"
