"""A finding: the fault, its place, its rule, and the fix."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec


class Severity(StrEnum):
    """Weight of a finding: only an error, or a warning with `--strict`, rejects."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


RANK = {severity: rank for rank, severity in enumerate(Severity)}
"""Severities, the heaviest first."""


class StatedBy(StrEnum):
    """The source of a rule: the official verifier, the written policy, or both.

    Podium adds rules where both sources are silent. Plug-ins and the `[[rules]]` of a podium.toml
    (project rules) add rules of users.
    """

    VERIFIER = "verifier"
    POLICY = "policy"
    BOTH = "both"
    PODIUM = "podium"
    PLUGIN = "plugin"
    HOUSE = "house"


ADDED_BY_USERS = (StatedBy.PLUGIN, StatedBy.HOUSE)
"""Sources of rules that users add: they do not change the verdict of the built-in rules."""


class Profile(StrEnum):
    """The source that a verdict is based on."""

    POLICY = "policy"
    VERIFIER = "verifier"


DROPPED_RUN = "dropped run"
"""The value of `waived_by` for findings of a run that its result may drop as the slowest."""


class Finding(msgspec.Struct):
    """One fault at one place; never changed after creation (`frozen` would slow down creation).

    `line` is the line of the file, from 1; None if something is missing. `key` is the log key or
    JSON field; None if no single key is at fault. `waived_by` names the reason of a waiver: a
    waiver file, a bypass flag, or a run that is dropped as the slowest. `caused_by` is the id of
    the finding that caused this one. `official`: the official verifier rejects the file or the
    result because of this finding.
    """

    id: str
    severity: Severity
    path: str
    line: int | None
    key: str | None
    message: str
    expected: str = ""
    actual: Any = None
    hint: str = ""
    cites: str = ""
    stated_by: StatedBy = StatedBy.BOTH
    waived: bool = False
    waived_by: str = ""
    caused_by: str = ""
    official: bool = False

    def sort_key(self) -> tuple[str, int, str, str]:
        """Report order: by path, then line (findings without a line last), then id."""
        return (self.path, self.line if self.line is not None else 1 << 60, self.id, self.message)


def matches(rule_id: str, globs: Iterable[str]) -> bool:
    """Whether a rule's id matches one of the globs."""
    return any(fnmatch.fnmatchcase(rule_id, glob) for glob in globs)
