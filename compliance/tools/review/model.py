"""The content of `review.json` (`podium.review/1`): results side by side, and objections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from podium.compliance.reporting.data import OfficialVerdict, RcpEntry, Rules, Tool, Verdict
from podium.compliance.tools.review.kinds import Kind

SCHEMA: Literal["podium.review/1"] = "podium.review/1"

State = Literal["open", "answered", "fixed", "waived", "withdrawn"]
STATES: tuple[State, ...] = ("open", "answered", "fixed", "waived", "withdrawn")

CONFIDENTIAL = (
    "Results under review are confidential: share this folder only with reviewers of the round."
)

Number = int | float

CurvePoint = tuple[float, float | None, float]
"""Minutes since the run began, training progress in the curve's unit, and the value."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity over a run, thinned for a page; `logged` is the number of points in the log."""

    unit: Annotated[str, msgspec.Meta(description="the metadata member that counts progress")] = ""
    logged: int = 0
    points: Sequence[CurvePoint] = ()


class LoggedKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The records of one key in a log, with which `--against` finds edits."""

    count: int = 1
    value: Annotated[
        str | int | float | bool | None, msgspec.Meta(description="value of a single record")
    ] = None
    values: Annotated[str, msgspec.Meta(description="hash of values and metadata")] = ""
    times: Annotated[str, msgspec.Meta(description="hash of times")] = ""


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a result."""

    path: str
    seed: int | None = None
    started: Annotated[
        float | None, msgspec.Meta(description="run_start, in milliseconds since 1970")
    ] = None
    minutes: float | None = None
    converged: bool = False
    to_converge: float | None = None
    sigmas_below: Annotated[
        float | None,
        msgspec.Meta(
            description="standard deviations of the reference by which it converged sooner than "
            "the reference's mean; negative if later"
        ),
    ] = None
    role: Annotated[str, msgspec.Meta(description="scored, or why it is excluded")] = "scored"
    quality: Curve = Curve()
    loss: Curve = Curve()
    throughput: Curve = Curve()
    records: dict[str, LoggedKey] = {}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A hyperparameter of a result, compared with the benchmark's other results."""

    value: Any
    alone: Annotated[
        bool, msgspec.Meta(description="no other submitter of the round has this value")
    ] = False
    usual: Annotated[bool, msgspec.Meta(description="all results of the benchmark have it")] = False
    first: Annotated[
        str, msgspec.Meta(description="the result of an earlier round that had it first, if any")
    ] = ""


class SystemEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a system description that tables show."""

    name: str = ""
    status: str = ""
    nodes: int | None = None
    accelerators: int | None = None
    accelerator: str = ""
    framework: str = ""


class SpeedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The speed of a result per accelerator, compared with others on the same accelerator."""

    value: Annotated[
        float, msgspec.Meta(description="units of progress per second and accelerator")
    ]
    unit: str
    z: Annotated[
        float | None, msgspec.Meta(description="robust z of its logarithm; null with few peers")
    ] = None
    times: Annotated[
        float | None, msgspec.Meta(description="multiple of the median of all results")
    ] = None
    peers: int = 0


class ResultEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One result of the round."""

    path: str
    submitter: str
    system: SystemEntry
    benchmark: str
    division: str
    scaling: Literal["strong", "weak"] = "strong"
    verdict: Verdict | None = None
    official_verdict: OfficialVerdict = None
    batch_size: float | None = None
    to_converge: Annotated[
        float | None, msgspec.Meta(description="mean of the runs that the test includes")
    ] = None
    unit: str = "samples"
    rcp: RcpEntry
    deviation: Annotated[
        float | None, msgspec.Meta(description="standard deviation of the reference")
    ] = None
    margin: Annotated[
        float | None, msgspec.Meta(description="share by which it is above the minimum")
    ] = None
    target: Annotated[
        float | None, msgspec.Meta(description="the quality that an evaluation must reach")
    ] = None
    minutes: float | None = None
    score: float | None = None
    spread: Annotated[
        float | None, msgspec.Meta(description="standard deviation of the times over their mean")
    ] = None
    speed: SpeedEntry | None = None
    official_joules: Annotated[
        float | None, msgspec.Meta(description="energy as the official summary computes it")
    ] = None
    energy_gap: Annotated[
        str, msgspec.Meta(description="why measured power has no official energy")
    ] = ""
    joules: Annotated[
        float | None, msgspec.Meta(description="derived by podium, from run_start to run_stop")
    ] = None
    models_per_minute: Annotated[
        float | None, msgspec.Meta(description="throughput of HPC's weak scaling")
    ] = None
    runs: Sequence[RunEntry] = ()
    settings: dict[str, Setting] = {}
    borrows: Annotated[
        Sequence[str],
        msgspec.Meta(
            description="results of other submitters with the same settings except batch sizes"
        ),
    ] = ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One place that shows the problem."""

    path: str
    message: str
    line: int | None = None


class EvidenceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one result whose messages are the same except for values."""

    path: Annotated[str, msgspec.Meta(description="the result, or another file or folder")]
    runs: Annotated[
        int | None, msgspec.Meta(description="runs of the result; null for another path")
    ] = None
    places: int = 1
    files: Annotated[
        Sequence[str], msgspec.Meta(description="names of the logs of the result that show it")
    ] = ()
    line: Annotated[int | None, msgspec.Meta(description="line of the first place")] = None
    message: Annotated[str, msgspec.Meta(description="message of the first place")]


class ObjectionChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change of an objection between two states of a round."""

    kind: Literal["new", "standing", "fixed", "gone", "reopened"]
    fixed: Annotated[
        Sequence[str], msgspec.Meta(description="paths of evidence that is no longer found")
    ] = ()
    added: Annotated[Sequence[str], msgspec.Meta(description="paths of new evidence")] = ()


class Objection(msgspec.Struct, frozen=True, kw_only=True):
    """A request to one submitter for all findings of one rule in a submission, and its state."""

    id: str
    submitter: str
    submission: str
    rule: str
    kind: Annotated[Kind, msgspec.Meta(description="subject; copies come first")] = "hygiene"
    severity: Literal["error", "warning", "note"]
    anomaly: Annotated[
        bool, msgspec.Meta(description="found by comparison, or a hint at how runs were made")
    ]
    message: str
    ask: str = ""
    cites: str = ""
    official: Annotated[bool, msgspec.Meta(description="the official verifier rejects for it")]
    evidence: Sequence[Evidence] = ()
    folded: Annotated[
        Sequence[EvidenceGroup], msgspec.Meta(description="the evidence by result")
    ] = ()
    state: State = "open"
    by: str = ""
    date: str = ""
    comment: str = ""
    change: ObjectionChange | None = None

    @property
    def is_open(self) -> bool:
        """Whether it needs an answer, or a decision about the answer."""
        return self.state in ("open", "answered")


class SubmissionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One submission and the number of its open objections."""

    submitter: str
    path: str
    verdict: Verdict
    official_verdict: OfficialVerdict = None
    results: int = 0
    objections: Annotated[int, msgspec.Meta(description="number of open objections")] = 0
    problem: Annotated[str, msgspec.Meta(description="why it could not be judged, if so")] = ""


class NearMiss(msgspec.Struct, frozen=True, kw_only=True):
    """A result that passes the convergence test, and its margin."""

    path: str
    submitter: str
    benchmark: str
    margin: float
    submission: float
    minimum: float
    unit: str


class ResultChange(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a result between two states, and whether an objection was about it."""

    path: str
    kind: Literal["added", "removed", "changed"]
    asked: bool
    settings: dict[str, tuple[Any, Any]] = {}
    logs: Sequence[str] = ()
    edits: Annotated[
        Sequence[str], msgspec.Meta(description="edits and exchanges, with the names of the logs")
    ] = ()
    minutes: tuple[float | None, float | None] | None = None
    lender: Annotated[
        str, msgspec.Meta(description="the result that all changed settings are borrowed from")
    ] = ""
    allowed: Annotated[str, msgspec.Meta(description="why the rules do or do not allow it")] = ""


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """The round compared with its state at an earlier review."""

    counts: dict[str, int] = {}
    results: Sequence[ResultChange] = ()
    files: Annotated[
        dict[str, Sequence[str]],
        msgspec.Meta(description="files of systems, code and documents: added, removed, changed"),
    ] = {}
    unasked: Annotated[
        Sequence[str], msgspec.Meta(description="changed results and files without an objection")
    ] = ()


class Review(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """Everything that one call of `podium review` found."""

    schema_: Literal["podium.review/1"] = SCHEMA
    tool: Tool = Tool()
    rules: Rules
    confidential: str = CONFIDENTIAL
    anonymous: bool = False
    earlier: Sequence[str] = ()
    submissions: Sequence[SubmissionEntry] = ()
    results: Sequence[ResultEntry] = ()
    near_misses: Annotated[
        Sequence[NearMiss], msgspec.Meta(description="closest to the reference's minimum first")
    ] = ()
    objections: Sequence[Objection] = ()
    notes: Annotated[
        Sequence[Objection], msgspec.Meta(description="observations that need no answer")
    ] = ()
    against: Against | None = None


def review_schema() -> dict[str, Any]:
    """JSON Schema of `review.json`."""
    schema = msgspec.json.schema(Review)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema
