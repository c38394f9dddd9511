"""What a package's checks share: by which text they judge, and a result's verdict."""

from __future__ import annotations

import msgspec

from podium.compliance.judging.inputs.layout import ResultFolder
from podium.compliance.judging.results.result import Result, Run
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.round import Round


class ResultVerdict(msgspec.Struct):
    """One result of a package: its findings beside those of its logs.

    `blamed` are the runs, by the stem of their file, whose power logs the official checker rejects:
    it counts them among those that fail.
    """

    folder: ResultFolder
    result: Result
    findings: list[Finding] = msgspec.field(default_factory=list)
    blamed: frozenset[str] = frozenset()

    @property
    def rejected(self) -> bool:
        """Whether the result is not accepted."""
        return any(f.severity is Severity.ERROR and not f.waived for f in self.findings)

    @property
    def failed_runs(self) -> int:
        """How many runs fail."""
        return sum(map(self.failing, self.result.runs))

    def failing(self, run: Run) -> bool:
        """Whether a run fails by its log, or by its power logs."""
        return run.failed or run.path.stem in self.blamed


class JudgingContext(msgspec.Struct, frozen=True):
    """By which text a package is judged."""

    rules: Round
    profile: Profile

    @property
    def verifier(self) -> bool:
        """Whether only the official verifier's rules count."""
        return self.profile is Profile.VERIFIER
