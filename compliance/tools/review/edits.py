"""Changes to the logs of a result between two states: edited, exchanged, added, removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from podium.compliance.text.words import join_limited, plural
from podium.compliance.tools.review.model import LoggedKey, ResultEntry, RunEntry

MOST_NAMED = 6
MOST_KEYS = 8

TEXTS = ("submission_", "s_n_")
"""Prefixes of keys that identify the submitter of a run and say nothing about its course."""


def edits_of(
    then: ResultEntry, now: ResultEntry, differing_files: Mapping[str, list[str]]
) -> list[str]:
    """A sentence for each kind of change to the logs of a result.

    `differing_files` has the paths that were added, removed or changed.
    """
    before, after = ({run.path: run for run in result.runs} for result in (then, now))
    by_start = {run.started: run for run in then.runs if run.started is not None}
    names_by_change: dict[str, list[str]] = defaultdict(list)
    for path in differing_files.get("changed", ()):
        if path in before and path in after:
            change = _changed(before[path], after[path], by_start)
            names_by_change[change].append(_name(path))
    for kind in ("added", "removed"):
        names = [
            _name(path) for path in differing_files.get(kind, ()) if path in {**before, **after}
        ]
        if names:
            names_by_change[f"logs {kind}"] += names
    return [f"{change} in {_logs(names)}" for change, names in names_by_change.items()]


def same_runs(then: ResultEntry, now: ResultEntry) -> bool:
    """Whether all runs are the same as before, according to their starts, seeds and durations."""
    before, after = ([_identity(run) for run in result.runs] for result in (then, now))
    return before == after


def _identity(run: RunEntry) -> tuple[str, float | None, float | None]:
    return (_name(run.path), run.started, run.minutes)


def _changed(then: RunEntry, now: RunEntry, by_start: Mapping[float, RunEntry]) -> str:
    """The change of a log; `by_start` has the earlier runs of the result."""
    source = None if now.started in (None, then.started) else by_start.get(now.started)
    if source is not None and source.seed == now.seed:
        edited = source.records != now.records
        return f"run of another log of the result{', edited' if edited else ''}"
    new = [
        word
        for word, old, young in (
            ("start", then.started, now.started),
            ("seed", then.seed, now.seed),
        )
        if old != young
    ]
    if new and then.started != now.started:
        return f"run exchanged (new {' and new '.join(new)})"
    if not then.records or not now.records:
        return "log edited"
    keys = [*_keys(then.records, now.records)]
    if not keys:
        return "edited lines that are not records"
    part = "text" if all(key.startswith(TEXTS) for key, _ in keys) else "records"
    return f"{part} edited: {join_limited([text for _, text in keys], MOST_KEYS)}"


def _keys(then: Mapping[str, LoggedKey], now: Mapping[str, LoggedKey]) -> Iterator[tuple[str, str]]:
    """Each key that differs, with its difference."""
    for key in sorted(then.keys() | now.keys()):
        old, new = then.get(key), now.get(key)
        if old == new:
            continue
        if old is None or new is None:
            yield key, f"{key} {'added' if old is None else 'removed'}"
        elif old.count == new.count == 1 and old.value != new.value:
            yield key, f"{key} {_shown(old.value)} -> {_shown(new.value)}"
        elif old.count != new.count:
            yield key, f"{key} ({old.count} -> {plural(new.count, 'record')})"
        else:
            parts = [
                word
                for word, differs in (
                    ("values", old.values != new.values),
                    ("times", old.times != new.times),
                )
                if differs
            ]
            yield key, f"{key} ({' and '.join(parts)})"


def _shown(value: object) -> str:
    return str(value) if value is not None else "nothing"


def _logs(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{len(names)} logs ({join_limited(sorted(names), MOST_NAMED)})"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
