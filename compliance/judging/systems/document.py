"""What a system description's file says, and what its text violates."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from podium.compliance.judging.systems.system_rules import NOT_JSON
from podium.rules.fixed.fixed_rule import FixedRule


class TextFault(msgspec.Struct, frozen=True):
    """What the text itself breaks: the rule, its line, and the fields of the rule's message.

    `official`: the official verifier fails on it, too.
    """

    rule: FixedRule
    line: int | None
    fields: dict[str, Any]
    official: bool = True
    key: str | None = None

    @property
    def message(self) -> str:
        """What is wrong, in a sentence."""
        return self.rule.message.format_map(self.fields)


def syntax_fault(
    line: int | None, problem: str, fix: str, *, where: str = "", key: str | None = None
) -> TextFault:
    """Text that is not valid JSON."""
    return TextFault(NOT_JSON, line, {"problem": problem, "fix": fix, "where": where}, key=key)


class Document(msgspec.Struct):
    """What a file says: of a `text` without fault `lines` is empty: see `reader.line_of`.

    `cut`: what follows some fault could not be read, so that fields may stand there unseen.
    """

    fields: dict[str, Any] = msgspec.field(default_factory=dict)
    lines: dict[str, int] = msgspec.field(default_factory=dict)
    faults: list[TextFault] = msgspec.field(default_factory=list)
    is_object: bool = False
    text: str = ""
    cut: bool = False

    @property
    def named(self) -> Collection[str]:
        """Every field that the file names, also where its value is unreadable."""
        return self.fields if self.text else self.lines

    @property
    def sound(self) -> bool:
        """Whether the official verifier can read the file."""
        return not any(fault.official for fault in self.faults)
