"""Names of result folders: the round's benchmarks, those of old, and what was probably meant."""

from __future__ import annotations

import difflib
from functools import cache

from podium.rules.catalogue import find_round, rounds_of
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
    return f"{name} is no benchmark of {rules.title}{elsewhere}", advice


def advice_on(name: str, rules: Round) -> tuple[str, str]:
    """The rounds that a name belongs to, where that is what is wrong; and how to fix it."""
    # A tree of HPC judged by Training's rules shows its scalings where benchmarks belong
    if name in ("strong", "weak"):
        return "", "only HPC results lie in strong and weak: is it --usage hpc?"
    names = benchmark_names(rules)
    known = rules.benchmarks
    newest_first = [known[each] for each in reversed(names) if each in known]
    meant = [each.name for each in newest_first if name.lower() in each.also_called]
    # What people are known to call a benchmark outranks what is only spelt alike
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
