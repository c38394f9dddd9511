"""The changes between any two rounds of one usage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from msgspec.structs import fields

from podium.compliance.rulebook.tables.history import RuleKind, essence, renamed, table_before
from podium.compliance.rulebook.tables.rule import cell, times_text
from podium.compliance.rulebook.tables.tables import Table, tables
from podium.rules.model.benchmark import line_name
from podium.rules.model.round import Round
from podium.rules.table import Line, Row, WholeLogRule

LIMITS = {
    "init_closed": "initialization, closed (minutes)",
    "init_open": "initialization, open (minutes)",
    "epochs_from": "first epoch counted",
    "seeds_logged": "seeds must be logged",
    "staging_timed": "staging is part of the score",
}
"""The titles of the limits of a round."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One change: its group, its kind, the old and the new value."""

    group: str
    what: str
    name: str
    before: str = ""
    after: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON data."""
        return asdict(self)


def differences(old: Round, new: Round) -> list[Difference]:
    """All differences in groups: benchmarks, limits, tables (outermost first), checks."""
    return [
        *_benchmarks(old, new),
        *_limits(old, new),
        *_facts(old, new),
        *_tables(old, new),
        *_checks(old, new),
    ]


def _benchmarks(old: Round, new: Round) -> Iterator[Difference]:
    before, after = old.listed, new.listed
    names = renamed(new, old)
    for name in after:
        if name in names:
            yield Difference("benchmarks", "renamed", name, names[name], name)
    for name in before:
        if name not in after and name not in names.values():
            still = "; the official verifier still checks it" if name in new.benchmarks else ""
            title = old.benchmarks[name].title
            yield Difference("benchmarks", "retired", name, f"{title}{still}", "")
    for name in after:
        if name not in before and name not in names:
            yield Difference("benchmarks", "introduced", name, "", new.benchmarks[name].title)


def _limits(old: Round, new: Round) -> Iterator[Difference]:
    if old.verified != new.verified:
        words = {True: "public", False: "none is public"}
        before, after = words[old.verified], words[new.verified]
        yield Difference("limits", "changed", "official verifier", before, after)
    for limit in fields(new.limits):
        # Schedules are listed by benchmark: see _facts
        if limit.name == "evaluates":
            continue
        before, after = getattr(old.limits, limit.name), getattr(new.limits, limit.name)
        if before != after:
            name = LIMITS.get(limit.name, limit.name.replace("_", " "))
            yield Difference("limits", "changed", name, _text(before), _text(after))


def _facts(old: Round, new: Round) -> Iterator[Difference]:
    for old_name, new_name in _pairs(old, new):
        old_benchmark, new_benchmark = old.benchmarks[old_name], new.benchmarks[new_name]
        if old_benchmark.runs != new_benchmark.runs:
            yield Difference(
                new_name, "changed", "runs", str(old_benchmark.runs), str(new_benchmark.runs)
            )
        schedules = [
            rules.limits.evaluates.get(name) for rules, name in ((old, old_name), (new, new_name))
        ]
        before, after = ("none" if schedule is None else schedule.text for schedule in schedules)
        if before != after:
            yield Difference(new_name, "changed", "evaluations", before, after)
        if old_benchmark.init_minutes != new_benchmark.init_minutes:
            label = "initialization (minutes)"
            before, after = _text(old_benchmark.init_minutes), _text(new_benchmark.init_minutes)
            yield Difference(new_name, "changed", label, before, after)


def _pairs(old: Round, new: Round) -> Iterator[tuple[str, str]]:
    """The benchmarks of both rounds by their names in the old and the new one."""
    names = renamed(new, old)
    for name in new.benchmarks:
        old_name = names.get(name, name)
        if old_name in old.benchmarks:
            yield old_name, name


def _tables(old: Round, new: Round) -> Iterator[Difference]:
    old_tables = tables(old)
    shared_names = {new_name for _, new_name in _pairs(old, new)}
    relisted = old.listed != new.listed
    for table in tables(new).values():
        if table.hidden or (table.benchmark and table.benchmark not in shared_names):
            continue
        old_name = table_before(table.name, new, old)
        for difference in _lines(old_tables.get(old_name), table, old.verified and new.verified):
            # The list of names adds nothing to the group of benchmarks
            if not (difference.name == "submission_benchmark" and relisted):
                yield difference
    yield from _gone(old, new)


def _gone(old: Round, new: Round) -> Iterator[Difference]:
    """Tables that the new round lacks, of benchmarks that it has."""
    new_names, new_tables = dict(_pairs(old, new)), tables(new)
    for table in tables(old).values():
        new_name = ".".join(new_names.get(part, part) for part in table.name.split("."))
        if new_name not in new_tables and not table.hidden and table.benchmark in ("", *new_names):
            yield Difference(table.name, "dropped", "the whole table", f"{len(table.lines)} rules")


def _lines(old: Table | None, new: Table, stated: bool) -> Iterator[Difference]:
    """The differences of two tables; of their sources only if both are `stated`."""
    before = {line_name(line): line for line in old.lines} if old else {}
    after = {line_name(line): line for line in new.lines}
    for name, line in after.items():
        old_line = before.get(name)
        if old_line is None:
            yield Difference(new.name, "added", name, "", _line_text(line))
        elif _whole(old_line, stated) != _whole(line, stated):
            old_text, new_text = _what_changed(old_line, line, stated)
            yield Difference(new.name, "changed", name, before=old_text, after=new_text)
    for name, line in before.items():
        if name not in after:
            yield Difference(new.name, "dropped", name, _line_text(line), "")


def _whole(line: Line, stated: bool) -> tuple[Any, ...]:
    # A target is a separate rule elsewhere; here its change is part of the row
    return (*essence(line, RuleKind.ROW, stated), *essence(line, RuleKind.TARGET, stated))


def _line_text(line: Line) -> str:
    """All requirements of a line."""
    return "; ".join(part for part in _parts(line).values() if part != "by both")


def _what_changed(old_line: Line, line: Line, stated: bool) -> tuple[str, str]:
    """The parts of a line that differ, old and new."""
    before, after = _parts(old_line), _parts(line)
    differ = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if not stated:
        # Without a verifier the policy states everything: that alone is not a change
        differ = [name for name in differ if name != "by"]
    # If only one side has a separate bound, the other must not look as if it had none
    defaults = {
        "target": "no target",
        "policy": "[policy: the same]",
        "aim": "[policy target: the same]",
    }
    was_text, is_text = (
        "; ".join(parts.get(name, defaults.get(name, "")) for name in differ)
        for parts in (before, after)
    )
    return was_text, is_text


def _parts(line: Line) -> dict[str, str]:
    if isinstance(line, WholeLogRule):
        return {"text": line.text, "by": f"by {line.stated_by}"}
    policy = line.as_policy
    parts = {"each": cell(line), "times": times_text(line.times), "by": _by(line)}
    if line.policy is not None:
        parts["policy"] = f"[policy: {cell(policy)}]"
    if line.some:
        parts["target"] = "target: " + " and ".join(constraint.text() for constraint in line.some)
    if line.policy_some is not None:
        parts["aim"] = "[policy target: " + " and ".join(e.text() for e in policy.some) + "]"
    return parts


def _by(row: Row) -> str:
    return {"policy": "by the policy only", "verifier": "by the verifier only"}.get(
        row.stated_by.value, "by both"
    )


def _checks(old: Round, new: Round) -> Iterator[Difference]:
    before = {check.id: check for check in old.checks}
    after = {check.id: check for check in new.checks}
    for name, check in after.items():
        if name not in before:
            yield Difference("checks", "added", name, "", check.says)
        elif check.says != before[name].says:
            yield Difference("checks", "changed", name, before[name].says, check.says)
    for name, check in before.items():
        if name not in after:
            yield Difference("checks", "dropped", name, check.says, "")


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, int | float) else str(value)
