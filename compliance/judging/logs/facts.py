"""What a submission's checks need to know of each log, gathered while the log is at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
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
    """What no two honest runs share: the times of a run and of its evaluations, and their values.

    Values are compared as they are written: 8, 8.0 and "8" are not the same. Writing them takes
    long, and is done only where all times are equal, hardly ever. `learned` is a hash of the first
    losses and of all outcomes of evaluations, None where they are too few or too round to tell.
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
    """The hyperparameters that a log gives, each with its first value: runs of a result agree."""

    keys: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The values by their keys."""
        return dict(zip(self.keys, self.values, strict=True))

    def kinds(self) -> list[type]:
        """The values' types: 8 and 8.0 are equal, and not the same."""
        return [*map(type, self.values)]


NO_SETTINGS = Settings()


class Facts(msgspec.Struct):
    """Facts of one log beside its findings; small enough to travel between processes.

    `broken`: it has findings that are errors; `missed_only`: all of them that it missed the target;
    `unfinished`: where it died, if that explains all of them. `leaves_out`: an evaluation that the
    schedule sets is left out.
    `checkpoints`, of benchmarks that evaluate after the run: how many it scored until the target
    was reached, and how many there were. `logged_at` has the source line of each of the `settings`,
    such as `train.py:12`, empty where the log gives none; there are none in the verifier's profile.
    `trace` is what a review compares, None where nobody asked for it.
    """

    run: RunFacts
    seeds: SeededRun
    settings: Settings = NO_SETTINGS
    broken: bool = False
    missed_only: bool = False
    unfinished: Unfinished | None = None
    leaves_out: bool = False
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
        """Whether all that is wrong with the run is that it did not converge."""
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
    """The facts of one log; `ids` are those of its error findings. `with_trace`: with its trace.

    What only the policy asks for stays unsaid in the verifier's profile.
    """
    whole = _whole_run(log, run, rules, profile)
    told = run_facts(whole, rules, profile, name)
    facts = Facts(
        run=told,
        seeds=seeded_run(log, name),
        settings=_settings(run),
        broken=bool(ids),
        # all() of no ids is true, and a log without errors missed nothing
        missed_only=bool(ids)
        and all(rule.endswith(".target") for rule in ids - _of_abort(run, rules)),
    )
    if profile is Profile.VERIFIER:
        return facts
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
        checkpoints=scored_checkpoints(run, rules, told),
        secrets=secrets_finder()(log),
        sources=sources_of(run),
        logged_at=_logged_at(run, facts.settings.keys),
        trace=tracer()(whole, log.data) if with_trace else None,
    )


def as_official(facts: Facts, run: Run, rules: Round, ids: set[str]) -> Facts:
    """The facts of the same log as the verifier's profile has them; `ids` are its errors'."""
    return Facts(
        run=run_facts(run, rules, Profile.VERIFIER, facts.run.name),
        seeds=facts.seeds,
        settings=facts.settings,
        broken=bool(ids),
        missed_only=bool(ids) and all(rule.endswith(".target") for rule in ids),
    )


def _of_abort(run: Run, rules: Round) -> set[str]:
    """The rule that a run of 0.6 breaks by saying that it was aborted: later ones may say so."""
    stops = run.where.get("run_stop", ()) if rules.generation == "mll" else ()
    aborted = len(stops) == 1 and metadata_of(run.records[stops[0]]).get("status") in ABORTED
    return {"common.run_stop"} if aborted else set()


@cache
def secrets_finder() -> Callable[[Log], Secrets | None]:
    """What finds the secrets in a log, loaded when asked for: the verifier's profile never asks."""
    from podium.compliance.judging.repository.secrets import secrets_of

    return secrets_of


@cache
def tracer() -> Callable[[Run, bytes], Trace]:
    """What makes the trace of a run, loaded when asked for: only a review asks."""
    from podium.compliance.judging.logs.trace import trace_of

    return trace_of


def _whole_run(log: Log, run: Run, rules: Round, profile: Profile) -> Run:
    """The run with what only a tolerant reader gets: a score of 0.5 or 0.6 may rest on it."""
    # The verifier's score may rest only on the lines that it reads itself
    if profile is Profile.VERIFIER and rules.verified:
        return run
    if not log.lenient and len(run.records) == len(log.records):
        return run
    return tolerant_run(log)


def _whole(run: Run, key: str) -> int | None:
    number = run.number(key)
    return int(number) if number is not None and number.is_integer() else None


def _model_parallel(run: Run) -> int | None:
    """Among how many accelerators a log says that one replica of the model is divided."""
    if "tensor_parallelism" not in run.where:
        return None
    ways = [_whole(run, f"{kind}_parallelism") for kind in ("tensor", "pipeline", "context")]
    known = [each for each in ways if each is not None and each > 0]
    return math.prod(known) if known else None


def _text(run: Run, key: str) -> str | None:
    value = run.value(key)
    return value if isinstance(value, str) else None


def _settings(run: Run) -> Settings:
    records, where = run.records, run.where
    keys = tuple(key for key in where if key in _HYPERPARAMETERS)
    return Settings(keys, tuple(records[where[key][0]].value for key in keys))


def _fingerprint(run: Run) -> RunFingerprint:
    """The marks of a run: its start and stop, and its first evaluations."""
    records, where = run.records, run.where
    ends = [*where.get("run_start", ())[:1], *where.get("run_stop", ())[:1]]
    if not ends:
        return NO_MARKS
    evaluations = (where.get("eval_accuracy") or where.get("eval_error") or ())[:20]
    marked = [records[index] for index in (*ends, *evaluations)]
    return RunFingerprint(
        tuple([record.time_ms for record in marked]),
        tuple([record.value for record in marked[len(ends) :]]),
        learned_by(run),
    )


def sources_of(run: Run) -> dict[str, int]:
    """Each source file that the log names, with the highest line it names of it."""
    sources: dict[str, int] = {}
    # One record of each key: repeats mostly come from the same call, and there may be thousands
    firsts = [run.records[places[0]].metadata for places in run.where.values()]
    for file, lineno in [(m.get("file"), m.get("lineno")) for m in firsts if type(m) is dict]:
        if type(file) is str and type(lineno) is int and lineno > sources.get(file, -1):
            sources[file] = lineno
    return sources


def _logged_at(run: Run, keys: Sequence[str]) -> tuple[str, ...]:
    """The source line of the first record of each key."""
    records, where = run.records, run.where
    firsts = [metadata_of(records[where[key][0]]) for key in keys]
    return tuple([_source_line(told.get("file"), told.get("lineno")) for told in firsts])


def _source_line(file: Any, lineno: Any) -> str:
    return _named(file, lineno) if type(file) is str and type(lineno) is int else ""


# All runs of a result name the same lines: one text for all is kept, and sent, once
@lru_cache(maxsize=4096)
def _named(file: str, lineno: int) -> str:
    # Without its folders, which may be made anew for each run
    return f"{file.replace(chr(92), '/').rpartition('/')[2]}:{lineno}"


# The seed is what the runs of a result must differ in
_HYPERPARAMETERS = frozenset(
    name for name, key in keys.ALL.items() if key.role == "hyperparameter" and name != "seed"
)
