"""The report as Python callers get it: validated models (contract `podium.report/1`)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from podium.compliance.report.data import SCHEMA, Outcome, Verdict
from podium.compliance.report.json_text import json_text
from podium.compliance.version import VERSION
from podium.rules.finding import Severity, StatedBy


class _Model(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="strings", frozen=True, from_attributes=True)


class Tool(_Model):
    """The program that made the report."""

    name: str = "podium"
    version: str = VERSION


class Rules(_Model):
    """By which rules it was judged, and how they were chosen."""

    usage: str
    round: str = Field(description="a round such as 5.1, or `several` where folders name more")
    profile: Literal["policy", "verifier"]
    chosen_by: Literal["option", "config", "folder", "default"]


class Counts(_Model):
    """Findings by severity; waived ones are counted apart."""

    error: int = 0
    warning: int = 0
    note: int = 0
    waived: int = 0


class SubmissionEntry(_Model):
    """One submitter's package."""

    submitter: str
    path: str
    verdict: Verdict


class RcpEntry(_Model):
    """How a result's convergence compares with the reference convergence points."""

    verdict: Literal["pass", "fail", "missing", "not_applicable"]
    case: Literal["found", "interpolated", "below_range", "above_range", "none"]
    batch_size: int | float | None = None
    mean: float | None = None
    minimum: float | None = None
    submission: float | None = None
    scaling_factor: float | None = None


class ResultEntry(_Model):
    """One result: all runs of one benchmark on one system."""

    path: str
    submitter: str
    system: str
    benchmark: str
    division: str
    scaling: Literal["strong", "weak"] = "strong"
    verdict: Verdict
    runs: int
    failed_runs: int
    minutes: float | None = None
    score: float | None = None
    rcp: RcpEntry | None = None


class FileEntry(_Model):
    """One file that was judged."""

    path: str
    kind: Literal["log", "system", "power", "other"]
    verdict: Literal["pass", "fail"]
    benchmark: str | None = None
    division: str | None = None
    minutes: float | None = None
    converged: bool | None = None
    round: str | None = Field(default=None, description="the file's round, where rounds differ")


class FindingEntry(_Model):
    """One fault: where, by which rule, what is, what must be, how to mend it."""

    id: str
    severity: Severity
    path: str
    line: int | None
    key: str | None
    message: str
    expected: str
    actual: Any = None
    hint: str
    cites: str
    stated_by: StatedBy
    waived: bool = False


class Report(_Model):
    """Everything one call of `podium check` found."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: Literal["podium.report/1"] = Field(default=SCHEMA, alias="schema")
    tool: Tool = Field()
    rules: Rules
    verdict: Verdict
    counts: Counts
    submissions: list[SubmissionEntry] = []
    results: list[ResultEntry] = []
    files: list[FileEntry] = []
    findings: list[FindingEntry] = []

    def to_json(self) -> str:
        """The report as JSON text, two spaces deep, non-finite numbers as strings."""
        return json_text(self.model_dump(by_alias=True))


def publish(found: Outcome) -> Report:
    """The report of what was found, as Python callers get it."""
    return Report.model_validate(found)
