"""A finding: what is wrong, where, by which rule, and how to fix it."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec


class Severity(StrEnum):
    """How much a finding weighs: only an error (or a warning under `--strict`) fails."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


RANK = {severity: rank for rank, severity in enumerate(Severity)}
"""Severities from the heaviest on."""


class StatedBy(StrEnum):
    """Which text makes the rule: the official verifier, the written policy, or both.

    Of podium's own rules no text knows: they help where the texts are silent. Plug-ins and the
    `[[rules]]` of a podium.toml (the house's rules) bring rules of their users.
    """

    VERIFIER = "verifier"
    POLICY = "policy"
    BOTH = "both"
    PODIUM = "podium"
    PLUGIN = "plugin"
    HOUSE = "house"


ADDED_BY_USERS = (StatedBy.PLUGIN, StatedBy.HOUSE)
"""Rules that podium does not come with: they decide nothing that its own rules decide."""


class Profile(StrEnum):
    """By which of the two texts a verdict is given."""

    POLICY = "policy"
    VERIFIER = "verifier"


DROPPED_RUN = "dropped run"
"""What excuses the findings of a run that a result may drop as its slowest, as `waived_by`."""


class Finding(msgspec.Struct):
    """One fault at one place; never changed once made (`frozen` would make making it costly).

    `line` is the line of the file, from 1; None where the fault is an absence. `key` is the log key
    or JSON field, None where no single key is at fault. `waived_by` says what excuses a waived one:
    a file of waivers, a bypass flag, or that its run is dropped as the slowest. `caused_by` is the
    id of the finding that this one follows from. `official`: the official verifier rejects the
    file, or the result, for it.
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
        """Report order: by path, then line (absences last), then id."""
        return (self.path, self.line if self.line is not None else 1 << 60, self.id, self.message)


def matches(rule_id: str, globs: Iterable[str]) -> bool:
    """Whether a rule's id matches one of the globs."""
    return any(fnmatch.fnmatchcase(rule_id, glob) for glob in globs)
