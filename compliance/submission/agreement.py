"""Whether the logs of a submission say of their system what its description says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from podium.compliance.results.model import JudgingContext
from podium.compliance.results.result import Result, Run
from podium.rules.finding import Finding, Severity

if TYPE_CHECKING:
    from podium.compliance.systems.agreement import LogFacts
    from podium.compliance.systems.values import SystemDescription


class LogAgreement:
    """Compares logs with descriptions; nearly all logs of a system say the same."""

    def __init__(self, context: JudgingContext) -> None:
        common = context.rules.scopes("", "")[0].keys
        self._one_division = context.rules.package.one_division
        # From 4.1 on no rule asks for the key, and logs still carry values of old
        self._with_status = "submission_status" in common
        self._known: dict[tuple[str, LogFacts], list[Finding]] = {}

    def judge(self, result: Result) -> Iterator[Finding]:
        """What the logs of a result say otherwise; every run says the same: one finding each."""
        description = result.description
        if description is None:
            return
        reported: set[tuple[str, Any]] = set()
        for logged, run in self._logged(result).items():
            for difference in self._differences(result.place.system, description, logged):
                if (difference.id, difference.actual) not in reported:
                    reported.add((difference.id, difference.actual))
                    yield replace(difference, path=run.display_path)

    def _logged(self, result: Result) -> dict[LogFacts, Run]:
        """What the logs say of their system, and the first run that says it."""
        from podium.compliance.systems.agreement import LogFacts

        found: dict[LogFacts, Run] = {}
        for run in result.runs:
            facts = run.facts
            logged = LogFacts(
                facts.run.division,
                facts.org,
                facts.platform,
                facts.status,
                facts.nodes,
                facts.accelerators_per_node,
                result.weak,
            )
            found.setdefault(logged, run)
        return found

    def _differences(
        self, system: str, description: SystemDescription, logged: LogFacts
    ) -> list[Finding]:
        """The differences, without a path yet: they are those of every log that says the same."""
        known = self._known.get((system, logged))
        if known is None:
            from podium.compliance.systems.agreement import Weights, agrees_with_logs

            weights = Weights(
                None if self._one_division else Severity.WARNING,
                None if self._with_status else Severity.NOTE,
            )
            known = agrees_with_logs(description, logged, "", weights)
            self._known[system, logged] = known
        return known
