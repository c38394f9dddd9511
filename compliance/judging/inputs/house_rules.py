"""Project rules: the `[[rules]]` of a podium.toml on the keys of a log, as data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from podium.logging_spec.keys import Key, known
from podium.rules.checks import Check, Context
from podium.rules.constraints import bounds
from podium.rules.constraints.constraint import Constraint
from podium.rules.finding import Severity, StatedBy
from podium.rules.run import Run
from podium.rules.table import AT_LEAST_ONCE, OPTIONAL, Row, Violation

FAMILY = "house"
"""The prefix of the ids of these rules."""

WORDS: dict[str, type[Constraint]] = {
    "equals": bounds.equals,
    "one_of": bounds.OneOf,
    "at_least": bounds.at_least,
    "at_most": bounds.at_most,
    "above": bounds.above,
    "below": bounds.below,
    "multiple_of": bounds.multiple_of,
}
"""The words of a bound, each with the constraint of the same name in the rounds' tables."""


class HouseRule(msgspec.Struct, frozen=True):
    """One rule: a key, its bounds as (word, value), and the reason.

    It applies to all benchmarks and divisions unless it names some. A `required` key must be
    logged.
    """

    name: str
    key: str
    bound: tuple[tuple[str, Any], ...]
    severity: Severity
    text: str
    benchmarks: tuple[str, ...] = ()
    divisions: tuple[str, ...] = ()
    required: bool = False

    @property
    def id(self) -> str:
        """The rule id in reports."""
        return f"{FAMILY}.{self.name}"

    @property
    def row(self) -> Row:
        """The rule as a row of a table."""
        key = known(self.key) or Key(self.key, "any", "a key of the project", "point")
        return Row(
            key,
            tuple(WORDS[word](value) for word, value in self.bound),
            AT_LEAST_ONCE if self.required else OPTIONAL,
            stated_by=StatedBy.HOUSE,
            cites=f"podium.toml, {self.name}",
            why=self.text,
            policy_severity=self.severity,
        )

    @property
    def says(self) -> str:
        """The meaning of the rule in one sentence."""
        bound = " and ".join(constraint.text() for constraint in self.row.each)
        scope = f" of {', '.join(self.benchmarks)}" if self.benchmarks else ""
        return f"{self.key}{scope} is {bound}" + (", and logged" if self.required else "")


@lru_cache(maxsize=256)
def as_check(rule: HouseRule) -> Check:
    """The rule as a check of one run, like the built-in checks."""
    row = rule.row

    def find(run: Run, _: Context) -> Iterator[Violation]:
        name = run.value("submission_benchmark")
        if rule.benchmarks and name not in rule.benchmarks:
            return
        for violation in row.judge(run):
            message = f"{violation.message} ({rule.text})"
            yield msgspec.structs.replace(violation, message=message)

    return Check(
        id=rule.id,
        find=find,
        says=rule.says,
        why=rule.text,
        cites=row.cites,
        key=rule.key,
        severity=rule.severity,
        stated_by=StatedBy.HOUSE,
        divisions=rule.divisions,
    )
