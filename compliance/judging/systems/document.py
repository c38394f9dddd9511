"""The content of a system description's file, and the errors in its text."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.compliance.judging.systems.system_rules import NOT_JSON
from podium.rules.fixed.fixed_rule import FixedRule


class TextFault(msgspec.Struct, frozen=True):
    """An error in the text itself: the rule, its line, and the fields of the rule's message.

    `official`: the official verifier fails on it, too.
    """

    rule: FixedRule
    line: int | None
    fields: dict[str, Any]
    official: bool = True
    key: str | None = None

    @property
    def message(self) -> str:
        """The error, in a sentence."""
        return self.rule.message.format_map(self.fields)


def syntax_fault(
    line: int | None, problem: str, fix: str, *, where: str = "", key: str | None = None
) -> TextFault:
    """An error because the text is not valid JSON."""
    return TextFault(NOT_JSON, line, {"problem": problem, "fix": fix, "where": where}, key=key)


class Document(msgspec.Struct):
    """The content of a file. If its `text` has no error, `lines` is empty: see `reader.line_of`.

    `cut`: the text after some error could not be read, so that fields may be missing.
    """

    fields: dict[str, Any] = msgspec.field(default_factory=dict)
    lines: dict[str, int] = msgspec.field(default_factory=dict)
    faults: list[TextFault] = msgspec.field(default_factory=list)
    is_object: bool = False
    text: str = ""
    cut: bool = False

    @property
    def sound(self) -> bool:
        """Whether the official verifier can read the file."""
        return not any(fault.official for fault in self.faults)
