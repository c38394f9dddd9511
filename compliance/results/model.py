"""What a package's checks share: by which text they judge, the runs, and a result's verdict."""

from __future__ import annotations

import msgspec

from podium.compliance.inputs.layout import ResultFolder
from podium.compliance.logs.facts import Facts
from podium.compliance.results.score import Score
from podium.rules.convergence.result import Convergence
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.round import Round


class Run(msgspec.Struct):
    """One log of a result, judged: where a report shows it, its verdict and its facts."""

    display_path: str
    failed: bool
    facts: Facts

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.display_path.rpartition("/")[2]


class ResultVerdict(msgspec.Struct):
    """One result: its findings beside those of its logs, and what decides it.

    `factor` is the committee's on its score, of its scaling.json; `score` is the score in brief.
    """

    folder: ResultFolder
    division: str
    findings: list[Finding] = msgspec.field(default_factory=list)
    failed_runs: int = 0
    runs: list[Run] = msgspec.field(default_factory=list)
    convergence: Convergence | None = None
    factor: float | None = None
    energies: dict[str, float | None] = msgspec.field(default_factory=dict)
    score: Score | None = None

    @property
    def rejected(self) -> bool:
        """Whether the result is not accepted."""
        return any(f.severity is Severity.ERROR and not f.waived for f in self.findings)


class JudgingContext(msgspec.Struct, frozen=True):
    """By which text a package is judged."""

    rules: Round
    profile: Profile

    @property
    def verifier(self) -> bool:
        """Whether only the official verifier's rules count."""
        return self.profile is Profile.VERIFIER

    def finding(
        self,
        rule: str,
        path: str,
        message: str,
        hint: str = "",
        *,
        stated_by: StatedBy = StatedBy.BOTH,
        note: bool = False,
        expected: str = "",
        actual: object = None,
        key: str | None = None,
    ) -> Finding:
        """A finding of a file or folder: an error where the verifier rejects it, too."""
        error = stated_by is not StatedBy.POLICY and not self._overruled(stated_by)
        severity = Severity.ERROR if error else Severity.WARNING
        return Finding(
            rule,
            Severity.NOTE if note else severity,
            path,
            None,
            key,
            message,
            expected,
            actual,
            hint,
            "",
            stated_by,
        )

    def _overruled(self, stated_by: StatedBy) -> bool:
        return stated_by is StatedBy.VERIFIER and not self.verifier


def join_limited(names: list[str], most: int = 8) -> str:
    """A list for a message: the first names, and how many more there are."""
    told = ", ".join(names[:most])
    return told if len(names) <= most else f"{told} and {len(names) - most} more"
