"""Benchmark names that a round does not have, and the benchmarks that they mean.

The other names of a benchmark are data, `also_called`: the names in the policy, in folders, in logs
and in the reference code.
"""

from __future__ import annotations

import difflib
import re
from functools import cache, lru_cache

from podium.rules.catalogue import find_round, rounds_of
from podium.rules.model.round import Round

LONGEST = 100
"""Maximum length of a name that is compared with others; a log may contain any string."""

LEAST_LIKENESS = 0.85
"""Minimum similarity of a name and a benchmark for a log to be checked as that benchmark."""

_BETWEEN = re.compile(r"[\W_]+")


def intended(name: str, rules: Round) -> str:
    """The benchmark that a name means; empty if the round has none or several.

    A name that the rules know means itself, even if another round had it.
    """
    if name in rules.allowed or name in rules.benchmarks or name in rules.aliases:
        return name
    return _intended(name, rules.usage, rules.name) if 2 < len(name) < LONGEST else ""


# Bounded, because names come from logs, which may have any number of them
@lru_cache(maxsize=4096)
def _intended(name: str, usage: str, round_name: str) -> str:
    rules = find_round(usage, round_name)
    spellings = _spellings(rules.usage, rules.name)
    benchmarks = spellings.get(_letters(name), ())
    if benchmarks:
        return benchmarks[0] if len(benchmarks) == 1 else ""
    if rounds_with(usage, name):
        return ""
    close = difflib.get_close_matches(_letters(name), spellings, 3, LEAST_LIKENESS)
    candidates = {benchmark for spelling in close for benchmark in spellings[spelling]}
    return candidates.pop() if len(candidates) == 1 else ""


def near_names(name: str, rules: Round) -> list[str]:
    """The benchmarks that a name probably means, the newest first."""
    # A known other name outranks a name with a similar spelling
    benchmarks = _called(name, rules)
    if benchmarks or len(name) >= LONGEST:
        return benchmarks
    return difflib.get_close_matches(name.lower(), rules.allowed, 1, 0.6)


def _called(name: str, rules: Round) -> list[str]:
    """The benchmarks with this other name, or whose names start with it."""
    letters = _letters(name)
    if benchmarks := _spellings(rules.usage, rules.name).get(letters):
        return [*benchmarks]
    return [
        benchmark
        for benchmark in rules.allowed
        if len(name) > 2 and _letters(benchmark).startswith(letters)
    ]


def advice_on(name: str, rules: Round) -> tuple[str, str]:
    """The other rounds with a benchmark of this name, as the end of a sentence, and the advice."""
    other_rounds = rounds_with(rules.usage, name)
    candidates = _called(name, rules) if other_rounds else near_names(name, rules)
    if candidates:
        return "", f"did you mean {' or '.join(candidates)}?"
    if other_rounds:
        return (
            f", but of {', '.join(other_rounds)}",
            "check that --round names the submission's round",
        )
    return "", f"must be one of {', '.join(rules.allowed)}"


@cache
def _spellings(usage: str, round_name: str) -> dict[str, tuple[str, ...]]:
    """The benchmarks of a round by each of their names, reduced to letters and digits."""
    rules = find_round(usage, round_name)
    spellings: dict[str, tuple[str, ...]] = {}
    for benchmark in reversed(rules.allowed):
        definition = rules.benchmark(benchmark)
        for name in (benchmark, *definition.also_called):
            other_benchmarks = (
                other for other in spellings.get(_letters(name), ()) if other != benchmark
            )
            spellings[_letters(name)] = (*other_benchmarks, benchmark)
    # The name of a benchmark never means another benchmark
    return spellings | {_letters(name): (name,) for name in rules.allowed}


def _letters(name: str) -> str:
    return _BETWEEN.sub("", name.lower())


@cache
def rounds_with(usage: str, name: str) -> tuple[str, ...]:
    """The rounds that accept results of a benchmark with this name."""
    return tuple(
        round_name
        for round_name in rounds_of(usage)
        if name in find_round(usage, round_name).allowed
    )
