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
    called = spellings.get(_letters(name), ())
    if called:
        return called[0] if len(called) == 1 else ""
    if rounds_with(usage, name):
        return ""
    close = difflib.get_close_matches(_letters(name), spellings, 3, LEAST_LIKENESS)
    meant = {each for spelling in close for each in spellings[spelling]}
    return meant.pop() if len(meant) == 1 else ""


def near_names(name: str, rules: Round) -> list[str]:
    """The benchmarks that a name probably means, the newest first."""
    # A known other name outranks a name with a similar spelling
    found = _called(name, rules)
    if found or len(name) >= LONGEST:
        return found
    return difflib.get_close_matches(name.lower(), rules.allowed, 1, 0.6)


def _called(name: str, rules: Round) -> list[str]:
    """The benchmarks with this other name, or whose names start with it."""
    letters = _letters(name)
    if meant := _spellings(rules.usage, rules.name).get(letters):
        return [*meant]
    return [each for each in rules.allowed if len(name) > 2 and _letters(each).startswith(letters)]


def advice_on(name: str, rules: Round) -> tuple[str, str]:
    """(the other rounds that have a benchmark of this name, as the end of a sentence; advice)."""
    elsewhere = rounds_with(rules.usage, name)
    near = _called(name, rules) if elsewhere else near_names(name, rules)
    if near:
        return "", f"did you mean {' or '.join(near)}?"
    if elsewhere:
        return f", but of {', '.join(elsewhere)}", "check that --round names the submission's round"
    return "", f"must be one of {', '.join(rules.allowed)}"


@cache
def _spellings(usage: str, round_name: str) -> dict[str, tuple[str, ...]]:
    """The benchmarks of a round by each of their names, reduced to letters and digits."""
    rules = find_round(usage, round_name)
    found: dict[str, tuple[str, ...]] = {}
    for benchmark in reversed(rules.allowed):
        known = rules.benchmark(benchmark)
        for name in (benchmark, *known.also_called):
            others = (each for each in found.get(_letters(name), ()) if each != benchmark)
            found[_letters(name)] = (*others, benchmark)
    # The name of a benchmark never means another benchmark
    return found | {_letters(name): (name,) for name in rules.allowed}


def _letters(name: str) -> str:
    return _BETWEEN.sub("", name.lower())


@cache
def rounds_with(usage: str, name: str) -> tuple[str, ...]:
    """The rounds that accept results of a benchmark with this name."""
    return tuple(each for each in rounds_of(usage) if name in find_round(usage, each).allowed)
