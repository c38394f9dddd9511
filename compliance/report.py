"""The report: what every format prints, and what scripts read (contract `podium.report/1`)."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field

from compliance import outcome
from compliance.outcome import SCHEMA, Outcome, Verdict
from compliance.version import tool_version
from rules.finding import Finding


class _Model(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="strings", frozen=True, from_attributes=True)


class Tool(_Model):
    """The program that made the report."""

    name: str = "podium"
    version: str


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


class FindingEntry(_Model, Finding):
    """One fault: where, by which rule, what is, what must be, how to mend it."""

    expected: str = Field()  # always said, though a Finding may leave it open
    hint: str = Field()
    cites: str = Field()
    stated_by: Literal["verifier", "policy", "both"] = Field()  # type: ignore[assignment]


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
        return json_of(self)


def json_of(model: BaseModel) -> str:
    """A model as JSON text, two spaces deep, non-finite numbers as strings."""
    try:
        return model.model_dump_json(by_alias=True, indent=2) + "\n"
    except ValueError:
        # Half a surrogate pair, in a value or a file name, has no UTF-8: it is escaped.
        return json.dumps(_plain(model.model_dump(by_alias=True)), indent=2) + "\n"


def _plain(value: Any) -> Any:
    """A value as JSON has it: non-finite numbers as strings, as the contract wants them."""
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def publish(found: Outcome) -> Report:
    """The report of what was found, as JSON and Python callers get it."""
    told = replace(found, tool=outcome.Tool(version=tool_version()))
    return Report.model_validate(told)
