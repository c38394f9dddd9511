"""Hyperparameters side by side: who has which alone, who had it first, who has all of another's."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from podium.compliance.judging.results.consistency import canonical_text
from podium.compliance.judging.results.result import Result
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.tools.history.hyperparameter_borrowing import differing
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.model import Setting

Compared = tuple[dict[str, Setting], list[str]]
"""The settings of a result, and the results of other submitters that have all the same."""

_LONGEST = 200


def compared_settings(material: Material) -> dict[str, Compared]:
    """The settings of every result, by its path, beside those of its benchmark's other results."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in material.results:
        groups[result.place.benchmark].append(result)
    first = _first_seen(material)
    found: dict[str, Compared] = {}
    for benchmark, results in groups.items():
        values = {result.place.display_path: settings_of(result) for result in results}
        holders = _holders(results, values)
        for result in results:
            path = result.place.display_path
            marked = {
                key: _marked(key, value, result, results, holders, first.get(benchmark, {}))
                for key, value in values[path].items()
            }
            found[path] = marked, _lenders(result, results, values)
    return found


def settings_of(result: Result) -> dict[str, Any]:
    """The hyperparameters that the first run of a result logs."""
    return result.runs[0].facts.settings.as_dict() if result.runs else {}


_Spelled = tuple[str, str]
"""A key, and its value as it is compared."""


def _holders(results: list[Result], values: dict[str, dict[str, Any]]) -> dict[_Spelled, list[str]]:
    """The submitter of each result with a value."""
    found: dict[_Spelled, list[str]] = defaultdict(list)
    for result in results:
        for key, value in values[result.place.display_path].items():
            found[key, canonical_text(value)].append(result.place.submitter)
    return found


def _first_seen(material: Material) -> dict[str, dict[_Spelled, str]]:
    """The first result of earlier rounds with a value, by benchmark."""
    found: dict[str, dict[_Spelled, str]] = defaultdict(dict)
    for earlier in material.earlier:
        for result in earlier.results:
            path = earlier.place(result.place.display_path)
            for key, value in settings_of(result).items():
                found[result.place.benchmark].setdefault((key, canonical_text(value)), path)
    return found


def _marked(
    key: str,
    value: Any,
    result: Result,
    results: list[Result],
    holders: dict[_Spelled, list[str]],
    first: dict[_Spelled, str],
) -> Setting:
    spelled = key, canonical_text(value)
    held = holders[spelled]
    submitters = {each.place.submitter for each in results}
    return Setting(
        value=shown(value),
        alone=len(submitters) > 1 and {*held} == {result.place.submitter},
        usual=len(held) == len(results),
        first=first.get(spelled, ""),
    )


def _lenders(result: Result, results: list[Result], values: dict[str, dict[str, Any]]) -> list[str]:
    mine = values[result.place.display_path]
    return [
        other.place.display_path
        for other in results
        if mine
        and other.division == result.division
        and not same_organization(other.place.submitter, result.place.submitter)
        and not differing(values[other.place.display_path], mine)
    ]


def shown(value: Any) -> Any:
    """A value as a review keeps it: plain ones as they are, all else as a short text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
