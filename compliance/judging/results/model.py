"""The verdict on a result."""

from __future__ import annotations

import msgspec

from podium.compliance.judging.inputs.layout import ResultFolder
from podium.compliance.judging.results.official import deciding
from podium.compliance.judging.results.result import Result, Run
from podium.rules.finding import Finding


class ResultVerdict(msgspec.Struct):
    """One result of a package, and its findings except for those of its logs.

    `blamed` are the runs, by the stem of their file, whose power logs the official checker rejects:
    it counts them among those that fail. `official` is the same result by the official verifier,
    None where its verdict is not needed or is this one.
    """

    folder: ResultFolder
    result: Result
    findings: list[Finding] = msgspec.field(default_factory=list)
    blamed: frozenset[str] = frozenset()
    official: ResultVerdict | None = None

    @property
    def rejected(self) -> bool:
        """Whether the result is not accepted: no crash of the official verifier is tolerated."""
        crashes = self.folder.official and any(run.crashes for run in self.result.runs)
        return crashes or bool(deciding(self.findings))

    @property
    def failed_runs(self) -> int:
        """How many runs fail."""
        return sum(map(self.failing, self.result.runs))

    def failing(self, run: Run) -> bool:
        """Whether a run fails by its log, or by its power logs."""
        return run.failed or run.path.stem in self.blamed

    @property
    def tolerated(self) -> set[str]:
        """The logs whose failure the result may have: it is accepted with them."""
        runs = self.result.runs
        return set() if self.rejected else {r.display_path for r in runs if self.failing(r)}
