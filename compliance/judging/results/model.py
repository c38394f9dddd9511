"""The verdict on a result."""

from __future__ import annotations

import msgspec

from podium.compliance.judging.inputs.layout import ResultFolder
from podium.compliance.judging.results.official import deciding
from podium.compliance.judging.results.result import Result, Run
from podium.rules.finding import Finding


class ResultVerdict(msgspec.Struct):
    """One result of a submission, and its findings, except those about its logs.

    `blamed` are the runs, by the stem of their file, whose power logs the official checker rejects:
    it counts them as failed. `official` is the official verifier's verdict on the same result, None
    if it is not needed or is this verdict.
    """

    folder: ResultFolder
    result: Result
    findings: list[Finding] = msgspec.field(default_factory=list)
    blamed: frozenset[str] = frozenset()
    official: ResultVerdict | None = None

    @property
    def rejected(self) -> bool:
        """Whether the result is rejected, as by any crash of the official verifier."""
        crashes = self.folder.official and any(run.crashes for run in self.result.runs)
        return crashes or bool(deciding(self.findings))

    @property
    def failed_runs(self) -> int:
        """The number of runs that fail."""
        return sum(map(self.failing, self.result.runs))

    def failing(self, run: Run) -> bool:
        """Whether a run fails because of its log or its power logs."""
        return run.failed or run.path.stem in self.blamed

    @property
    def tolerated(self) -> set[str]:
        """The failing logs with which the result is accepted."""
        runs = self.result.runs
        return set() if self.rejected else {r.display_path for r in runs if self.failing(r)}
