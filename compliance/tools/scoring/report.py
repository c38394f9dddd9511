"""Scores as data: the output of `podium score` in all formats (contract `podium.scores/1`)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from podium.compliance.judging.results.factor import Convention
from podium.compliance.reporting.models import FindingEntry, Model, RcpEntry, Rules, Tool

SCHEMA: Literal["podium.scores/1"] = "podium.scores/1"

Unit = Literal["epochs", "samples", "tokens", "steps"]


class RunEntry(Model):
    """One run. `role` is its part in the score; `why` is the reason if it is left out."""

    path: str
    minutes: float | None = None
    converged: bool = False
    scored: bool = False
    role: Literal["scored", "fastest", "slowest", "failed", "outside", "instance"] = "scored"
    why: str = ""
    start_ms: float | None = None
    stop_ms: float | None = None
    init_minutes: float | None = None
    staging_minutes: float | None = None
    to_converge: float | None = None
    batch_size: float | None = None
    quality: float | None = None
    energy_joules: float | None = None
    seed: list[Any] = Field(default=[])


class SpreadEntry(Model):
    """The spread of the times of the scored runs.

    `relative` is the standard deviation divided by the mean; `usual` is its typical value for the
    benchmark.
    """

    mean: float
    deviation: float
    relative: float
    usual: float
    outliers: list[str] = Field(default=[])


class ScoreEntry(Model):
    """One result. `score` is `minutes` times `factor`; `models` and the like are for throughput."""

    submitter: str
    system: str
    benchmark: str
    division: str
    scaling: Literal["strong", "weak"] = "strong"
    path: str
    round: str = Field(description="usage and round, such as `training 5.1`")
    runs: int
    converged: int
    needed: int
    dropped: int
    minutes: float | None = None
    factor: float = 1.0
    factor_source: Literal["none", "rcp", "scaling.json"] = "none"
    factors: Convention = Field(
        default="computed",
        description="source of `factor`: `published` is scaling.json only, `computed` is "
        "scaling.json or, without one, the reference points",
    )
    published_factor: float = Field(
        default=1.0, description="factor of scaling.json; 1 without this file"
    )
    computed_factor: float = Field(default=1.0, description="factor of the reference points")
    score: float | None = None
    # The official summary scales the energy, and the policy is silent: a report has both
    energy_joules: float | None = Field(default=None, description="before scaling")
    scaled_energy_joules: float | None = Field(default=None, description="times the factor")
    models: int | None = None
    instance_scale: float | None = None
    total_scale: int | float | None = None
    time_to_train_all: float | None = None
    models_per_minute: float | None = None
    batch_size: float | None = None
    to_converge: float | None = None
    unit: Unit = "epochs"
    quality: float | None = Field(default=None, description="open division: geometric mean")
    spread: SpreadEntry | None = None
    rcp: RcpEntry | None = None
    run_list: list[RunEntry] = Field(default=[])


class Scores(Model):
    """All results and findings of one call of `podium score`."""

    # A field called `schema` would hide the method of pydantic's models
    schema_: Literal["podium.scores/1"] = Field(default=SCHEMA, alias="schema")
    tool: Tool = Tool()
    rules: Rules
    results: list[ScoreEntry] = Field(default=[])
    findings: list[FindingEntry] = Field(default=[])

    def to_json(self) -> str:
        """The scores as JSON, with non-finite numbers as strings."""
        return self.model_dump_json()

    @property
    def faulty(self) -> bool:
        """Whether a finding is an error, so that some result has no valid score."""
        return any(finding.severity == "error" and not finding.waived for finding in self.findings)
