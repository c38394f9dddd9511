"""Cases of the guard: a log that lacks a setting, and a guard of another division."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.tools.live.guard import Guard
from podium.logging_spec.reader.read import parse_log
from podium.rules.finding import Finding, Profile
from tests.builders import LogBuilder, build
from tests.compliance.rulebook.case import Case, Reported

GOOD = build("training", "6.1", "closed", "llama31_8b")


def guarded(log: LogBuilder = GOOD, division: str = "closed") -> Reported:
    def case(tmp_path: Path, profile: str) -> list[Finding]:
        guard = Guard("6.1", division, "llama31_8b", profile=Profile(profile))
        for record in parse_log(log.bytes()).records:
            guard(record)
        return guard.findings

    return case


CASES: dict[str, Case] = {
    "guard.not-yet-logged": Case(guarded(GOOD.drop("max_steps")), guarded()),
    "guard.conflicting-declaration": Case(guarded(division="open"), guarded()),
}
