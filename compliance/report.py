"""The report: what every format prints, and what scripts read (contract `podium.report/1`)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compliance import outcome
from compliance.outcome import SCHEMA, Outcome
from compliance.version import tool_version
from rules.finding import Finding


class _Model(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="strings", frozen=True, from_attributes=True)


class Tool(_Model, outcome.Tool):
    """The program that made the report."""


class Rules(_Model, outcome.Rules):
    """By which rules it was judged, and how they were chosen."""

    round: str = Field(description="a round such as 5.1, or `several` where folders name more")


class Counts(_Model, outcome.Counts):
    """Findings by severity; waived ones are counted apart."""


class SubmissionEntry(_Model, outcome.SubmissionEntry):
    """One submitter's package."""


class RcpEntry(_Model, outcome.RcpEntry):
    """How a result's convergence compares with the reference convergence points."""


class ResultEntry(_Model, outcome.ResultEntry):
    """One result: all runs of one benchmark on one system."""

    rcp: RcpEntry | None = None


class FileEntry(_Model, outcome.FileEntry):
    """One file that was judged."""

    round: str | None = Field(default=None, description="the file's round, where rounds differ")


class FindingEntry(_Model, Finding):
    """One fault: where, by which rule, what is, what must be, how to mend it."""

    expected: str = Field()  # always said, though a Finding may leave it open
    hint: str = Field()
    cites: str = Field()
    stated_by: Literal["verifier", "policy", "both"] = Field()  # type: ignore[assignment]


class Report(_Model, Outcome):
    """Everything one call of `podium check` found."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: Literal["podium.report/1"] = Field(default=SCHEMA, alias="schema")
    tool: Tool = Field()
    rules: Rules
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
