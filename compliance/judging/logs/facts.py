"""The facts of a log that the checks of a submission need, gathered while the log is in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from podium.compliance.judging.logs.learning import learned_by, scored_checkpoints
from podium.compliance.judging.logs.policy import tolerant_run
from podium.compliance.judging.logs.seeds import SeededRun, seeded_run
from podium.compliance.judging.logs.unfinished import Unfinished
from podium.logging_spec import keys
from podium.logging_spec.reader.read import Log
from podium.rules.checks.lifecycle import ABORTED
from podium.rules.convergence.facts import RunFacts, run_facts
from podium.rules.finding import Profile
from podium.rules.model.round import Round
from podium.rules.run import Run, metadata_of

if TYPE_CHECKING:
    from podium.compliance.judging.logs.trace import Trace
    from podium.compliance.judging.repository.secrets import Secrets


class RunFingerprint(msgspec.Struct, frozen=True, eq=False):
    """A fingerprint of a run: the times of the run and of its evaluations, and their values.

    Values are compared by their representation: 8, 8.0 and "8" differ. This is slow, and done only
    in the rare case that all times are equal. `learned` is a hash of the first losses and of all
    outcomes of evaluations, None if there are too few of them or their digits are too few.
    """

    times: tuple[float, ...] = ()
    values: tuple[Any, ...] = ()
    learned: int | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunFingerprint) or self.times != other.times:
            return False
        return repr(self.values) == repr(other.values)

    def __hash__(self) -> int:
        return hash(self.times)


NO_MARKS = RunFingerprint()


class Settings(msgspec.Struct, frozen=True, gc=False):
    """The hyperparameters in a log, each with its first value; the runs of a result must agree."""

    keys: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The values by their keys."""
        return dict(zip(self.keys, self.values, strict=True))


NO_SETTINGS = Settings()


class Facts(msgspec.Struct):
    """Facts of one log in addition to its findings, small enough to be sent between processes.

    `broken`: it has findings that are errors. `missed_only`: all errors are a missed target.
    `unfinished`: the place where the run ended, if this explains all errors. `leaves_out`: the run
    omits a scheduled evaluation. `compressed`: the file is. `checkpoints`, for benchmarks that
    evaluate after the run: the number of scored checkpoints until the target, and the number of
    all. `logged_at` has the source line of each of the `settings`, such as `train.py:12`, or an
    empty string; it is empty in the verifier profile. `trace` is the data that a review compares,
    None if it was not requested.
    """

    run: RunFacts
    seeds: SeededRun
    settings: Settings = NO_SETTINGS
    broken: bool = False
    missed_only: bool = False
    unfinished: Unfinished | None = None
    leaves_out: bool = False
    compressed: bool = False
    org: str | None = None
    platform: str | None = None
    status: str | None = None
    nodes: int | None = None
    accelerators_per_node: int | None = None
    model_parallel: int | None = None
    fingerprint: RunFingerprint = NO_MARKS
    config: str | None = None
    checkpoints: tuple[int, int] | None = None
    secrets: Secrets | None = None
    sources: dict[str, int] = msgspec.field(default_factory=dict)
    logged_at: tuple[str, ...] = ()
    trace: Trace | None = None

    @property
    def droppable(self) -> bool:
        """Whether the only error of the run is that it did not converge."""
        return self.missed_only or self.unfinished is not None


def gather(
    log: Log,
    run: Run,
    rules: Round,
    profile: Profile,
    name: str,
    ids: set[str],
    *,
    with_trace: bool = False,
) -> Facts:
    """The facts of one log; `ids` are the ids of its errors. `with_trace` adds its trace.

    The verifier profile lacks the facts that only the policy needs.
    """
    whole_run = _whole_run(log, run, rules, profile)
    run_data = run_facts(whole_run, rules, profile, name)
    facts = Facts(
        run=run_data,
        seeds=seeded_run(log, name),
        settings=_settings(run),
        broken=bool(ids),
        # all() is true without ids, but a log without errors did not miss the target
        missed_only=bool(ids)
        and all(rule.endswith(".target") for rule in ids - _of_abort(run, rules)),
        compressed=log.compressed,
    )
    if profile is Profile.VERIFIER:
        return facts
    # Never needed in the verifier profile
    from podium.compliance.judging.repository.secrets import secrets_of

    trace = None
    if with_trace:
        from podium.compliance.judging.logs.trace import trace_of

        trace = trace_of(whole_run, log.data)
    return msgspec.structs.replace(
        facts,
        org=_text(run, "submission_org"),
        platform=_text(run, "submission_platform"),
        status=_text(run, "submission_status"),
        nodes=_whole(run, "number_of_nodes"),
        accelerators_per_node=_whole(run, "accelerators_per_node"),
        model_parallel=_model_parallel(run),
        fingerprint=_fingerprint(run),
        config=_text(run, "config_filename"),
        checkpoints=scored_checkpoints(run, rules, run_data),
        secrets=secrets_of(log),
        sources=sources_of(run),
        logged_at=_logged_at(run, facts.settings.keys),
        trace=trace,
    )


def as_official(facts: Facts, run: Run, rules: Round, ids: set[str]) -> Facts:
    """The facts of the same log in the verifier profile; `ids` are the ids of its errors."""
    return Facts(
        run=run_facts(run, rules, Profile.VERIFIER, facts.run.name),
        seeds=facts.seeds,
        settings=facts.settings,
        broken=bool(ids),
        missed_only=bool(ids) and all(rule.endswith(".target") for rule in ids),
        compressed=facts.compressed,
    )


def _of_abort(run: Run, rules: Round) -> set[str]:
    """The rule that an aborted run of 0.6 violates with its status, which later rounds allow."""
    stops = run.where.get("run_stop", ()) if rules.generation == "mll" else ()
    aborted = len(stops) == 1 and metadata_of(run.records[stops[0]]).get("status") in ABORTED
    return {"common.run_stop"} if aborted else set()


def _whole_run(log: Log, run: Run, rules: Round, profile: Profile) -> Run:
    """The run with records that only a tolerant reader reads, as a score of 0.5 or 0.6 may need."""
    # The verifier's score may use only the lines that it reads itself
    if profile is Profile.VERIFIER and rules.verified:
        return run
    if not log.lenient and len(run.records) == len(log.records):
        return run
    return tolerant_run(log)


def _whole(run: Run, key: str) -> int | None:
    number = run.number(key)
    return int(number) if number is not None and number.is_integer() else None


def _model_parallel(run: Run) -> int | None:
    """The number of accelerators per replica of the model, according to the log."""
    if "tensor_parallelism" not in run.where:
        return None
    degrees = [_whole(run, f"{kind}_parallelism") for kind in ("tensor", "pipeline", "context")]
    known_degrees = [degree for degree in degrees if degree is not None and degree > 0]
    return math.prod(known_degrees) if known_degrees else None


def _text(run: Run, key: str) -> str | None:
    value = run.value(key)
    return value if isinstance(value, str) else None


def _settings(run: Run) -> Settings:
    records, positions = run.records, run.where
    keys = tuple(key for key in positions if key in _HYPERPARAMETERS)
    return Settings(keys, tuple(records[positions[key][0]].value for key in keys))


def _fingerprint(run: Run) -> RunFingerprint:
    """The marks of a run: its start and stop, and its first evaluations."""
    records, positions = run.records, run.where
    ends = [*positions.get("run_start", ())[:1], *positions.get("run_stop", ())[:1]]
    if not ends:
        return NO_MARKS
    evaluations = (positions.get("eval_accuracy") or positions.get("eval_error") or ())[:20]
    marked = [records[index] for index in (*ends, *evaluations)]
    return RunFingerprint(
        tuple([record.time_ms for record in marked]),
        tuple([record.value for record in marked[len(ends) :]]),
        learned_by(run),
    )


def sources_of(run: Run) -> dict[str, int]:
    """The source files in the log, each with the highest line in the log."""
    sources: dict[str, int] = {}
    # One record of each key: there may be thousands, which mostly come from the same call
    metadata = [run.records[positions[0]].metadata for positions in run.where.values()]
    for file, lineno in [(m.get("file"), m.get("lineno")) for m in metadata if type(m) is dict]:
        if type(file) is str and type(lineno) is int and lineno > sources.get(file, -1):
            sources[file] = lineno
    return sources


def _logged_at(run: Run, keys: Sequence[str]) -> tuple[str, ...]:
    """The source line of the first record of each key."""
    records, positions = run.records, run.where
    metadata = [metadata_of(records[positions[key][0]]) for key in keys]
    lines = [(entry.get("file"), entry.get("lineno")) for entry in metadata]
    return tuple(
        [
            _named(file, lineno) if type(file) is str and type(lineno) is int else ""
            for file, lineno in lines
        ]
    )


# All runs of a result have the same lines: one string is kept and sent for all of them
@lru_cache(maxsize=4096)
def _named(file: str, lineno: int) -> str:
    # Without folders, which may be new in each run
    return f"{file.replace(chr(92), '/').rpartition('/')[2]}:{lineno}"


# The seed must differ between the runs of a result
_HYPERPARAMETERS = frozenset(
    name for name, key in keys.ALL.items() if key.role == "hyperparameter" and name != "seed"
)
