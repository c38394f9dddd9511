"""The connection between the emitter and a checker of records, the guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from podium.logging_spec.emitter.lines import note

if TYPE_CHECKING:
    from podium.logging_spec.emitter.round_guard import Guard

_BEGIN: Final = len(":::MLLOG ")


class GuardViolationError(Exception):
    """The guard found a violation in a record, which was written anyway."""

    def __init__(self, findings: tuple[object, ...]) -> None:
        super().__init__("; ".join(map(sentence, findings)))
        self.findings = findings


class Gatekeeper:
    """Passes each line to a guard, and notes or raises its findings.

    Findings with the severity of a warning or note are never raised.
    """

    def __init__(self, guard: Guard, on_violation: Literal["warn", "raise"]) -> None:
        # Imported here: a training program without a guard needs no decoder
        from msgspec import DecodeError
        from msgspec.json import Decoder

        from podium.logging_spec.reader.record import Record

        self._guard = guard
        self._raises = on_violation == "raise"
        self._decode = Decoder(Record).decode
        self._refused = DecodeError

    def judge(self, line: str) -> None:
        """Pass a written line to the guard."""
        try:
            # Read back from the line, so that the guard sees the same as a checker
            record = self._decode(line[_BEGIN:])
        except self._refused:  # bare words such as NaN
            from podium.logging_spec.reader.read import parse_log

            record = parse_log(line.encode("ascii")).records[0]
        findings = self._guard(record)
        if findings:
            self._report(tuple(findings))

    def finish(self) -> None:
        """Ask the guard for findings about the whole log, if it supports that."""
        finish = getattr(self._guard, "finish", None)
        if finish is not None:
            self._report(tuple(finish()))

    def _report(self, findings: tuple[object, ...]) -> None:
        # A guard may return plain strings, which have no severity and count as errors
        if self._raises and any(
            getattr(entry, "severity", "error") == "error" for entry in findings
        ):
            raise GuardViolationError(findings)
        for finding in findings:
            note(sentence(finding))


def sentence(finding: object) -> str:
    """A finding on one line."""
    message = getattr(finding, "message", None)
    if message is None:
        return str(finding)
    hint = getattr(finding, "hint", "")
    return f"{getattr(finding, 'id', 'guard')}: {message}" + (f" ({hint})" if hint else "")
