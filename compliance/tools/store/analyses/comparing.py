"""Whether two results may be compared, and which results a word names."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from podium.compliance.errors import UsageFault
from podium.compliance.tools.store.analyses.material import ResultRow


def obstacles(first: ResultRow, second: ResultRow) -> list[str]:
    """Why two results must not be compared; empty where they may be."""
    found = []
    if (first.suite, first.model) != (second.suite, second.model):
        found.append(f"benchmarks differ: {first.benchmark}, {second.benchmark}")
    elif first.round != second.round and (first.comparable_from, first.comparable_to) != (
        second.comparable_from,
        second.comparable_to,
    ):
        found.append(
            f"rounds {first.round} and {second.round} are not compatible for {first.model}"
        )
    if first.division != second.division:
        found.append(f"divisions differ: {first.division or '-'}, {second.division or '-'}")
    elif first.division == "open":
        found.append("results of the open division may be of different models")
    if first.scaling != second.scaling:
        found.append("one is timed, the other one is throughput")
    return found


def differences(first: ResultRow, second: ResultRow) -> list[str]:
    """What must be said beside a comparison that is allowed."""
    found = []
    for name, what in (("round", "rounds"), ("category", "categories"), ("chips", "chips")):
        one, other = getattr(first, name), getattr(second, name)
        if one != other:
            found.append(f"{what} differ: {one or '-'}, {other or '-'}")
    return found


def named(results: Sequence[ResultRow], word: str) -> list[ResultRow]:
    """The results whose path a word is, ends, or matches as a glob; else those of a system."""
    word = word.rstrip("/") or word
    exact = [one for one in results if one.result == word or one.result.endswith(f"/{word}")]
    found = exact or [one for one in results if fnmatch.fnmatchcase(one.result, word)]
    return found or [one for one in results if one.system == word]


def one_named(results: Sequence[ResultRow], word: str) -> ResultRow:
    """The only result that a word names; raises UsageFault where there is none, or are several."""
    found = named(results, word)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageFault(f"no result is named {word}; the table results has all names")
    shown = ", ".join(each.result for each in found[:3])
    raise UsageFault(f"{len(found)} results are named {word}: {shown}, …; name one")
