"""Names of result folders: the round's benchmarks, those of old, and what was probably meant."""

from __future__ import annotations

from podium.rules.benchmark_names import advice_on as rules_advice
from podium.rules.model.round import Round


def is_early(rules: Round) -> bool:
    """Whether systems may be described beside their results, as in 0.5 and 0.6."""
    return rules.package.described_by_entry


def benchmark_names(rules: Round) -> tuple[str, ...]:
    """The folder names that results of the round may have."""
    return rules.allowed


def benchmark_called(name: str, rules: Round) -> str:
    """The benchmark of a result folder; empty where the round has none of that name."""
    names = benchmark_names(rules)
    if name in names:
        return name
    # The official verifier ignores folders with an old name.
    meant = rules.aliases.get(name, "")
    return meant if meant in names else ""


def about_name(name: str, rules: Round) -> tuple[str, str]:
    """What is wrong with the name of a result folder, and how to fix it."""
    elsewhere, advice = advice_on(name, rules)
    return f"{name} is not a benchmark of {rules.title}{elsewhere}", advice


def advice_on(name: str, rules: Round) -> tuple[str, str]:
    """The rounds that a name belongs to, where that is what is wrong; and how to fix it."""
    # A tree of HPC judged by Training's rules shows its scalings where benchmarks belong
    if name in ("strong", "weak"):
        return "", "only HPC results lie in strong and weak: is it --usage hpc?"
    return rules_advice(name, rules)


def levels_swapped(system: str, benchmark: str, rules: Round) -> str:
    """How to fix a result whose folder of the system is named after a benchmark; else empty."""
    if not benchmark_called(system, rules):
        return ""
    return (
        f"the levels are swapped: move results/{system}/{benchmark} to results/{benchmark}/{system}"
    )
