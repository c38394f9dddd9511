"""Names of result folders: the round's benchmarks, those of old, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from functools import cache

from podium.rules.catalogue import find_round, rounds_of
from podium.rules.model.round import Round

_BETWEEN = re.compile(r"[\W_]+")


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
    near = near_names(name, rules)
    if near:
        return "", f"did you mean {' or '.join(near)}?"
    elsewhere = _rounds_with(rules.usage, name)
    if elsewhere:
        return f", but of {', '.join(elsewhere)}", "check that --round names the submission's round"
    return "", f"must be one of {', '.join(benchmark_names(rules))}"


def near_names(name: str, rules: Round) -> list[str]:
    """The benchmarks that a name of none was probably to be."""
    names, known = benchmark_names(rules), rules.benchmarks
    newest_first = [known[each] for each in reversed(names) if each in known]
    meant = [each.name for each in newest_first if name.lower() in each.also_called]
    # What people are known to call a benchmark outranks what is only spelt alike
    if meant:
        return meant
    begins = [each for each in names if len(name) > 2 and _letters(each).startswith(_letters(name))]
    return begins or difflib.get_close_matches(name.lower(), names, 1, 0.6)


def _letters(name: str) -> str:
    return _BETWEEN.sub("", name.lower())


@cache
def _rounds_with(usage: str, name: str) -> tuple[str, ...]:
    return tuple(each for each in rounds_of(usage) if name in find_round(usage, each).benchmarks)
