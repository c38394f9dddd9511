"""When each check is worth another look: most records cannot break most checks.

A check that no later record can satisfy again once it is broken is looked at while the run goes
on, by the gates below; the others wait for the end of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from podium.compliance.live.partial.pace import Grids, Progress
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Check, Context
from podium.rules.checks.lifecycle import MARKERS
from podium.rules.checks.pairing import BLOCK
from podium.rules.checks.points import POSITIONS
from podium.rules.checks.values import COMPARED, NUMERIC, _is_integer, _is_number, _odd_numbers
from podium.rules.run import Run

OUTCOMES = ("eval_accuracy", "eval_error")

AT_END = frozenset(
    {
        "pairing.unclosed-interval",
        "pairing.stop-without-start",
        "pairing.unstarted-evaluation",
        "pairing.evaluation-positions",
        "pairing.block-positions",
        "log.misspelt-key",
        "seed.missing",
        "staging.not-logged",
    }
)
"""Checks that a later record may yet satisfy."""

_PARALLEL = (
    "number_of_nodes",
    "accelerators_per_node",
    "tensor_parallelism",
    "pipeline_parallelism",
    "context_parallelism",
)

Worth = Callable[[Run, Record], bool]
"""Whether a record just added may break a check that held before it."""


def _always(_: Run, __: Record) -> bool:
    return True


def _again(run: Run, record: Record) -> bool:
    return len(run.where[record.key]) > 1


def _once(run: Run, record: Record) -> bool:
    return len(run.where[record.key]) == 1


def _begun(run: Run, record: Record) -> bool:
    return record.key != "init_start" or not run.where.keys().isdisjoint(MARKERS)


def _stopped(run: Run, _: Record) -> bool:
    return "run_stop" in run.where


def _no_number(_: Run, record: Record) -> bool:
    value = record.value
    return type(value) not in (int, float) and value is not None and not _is_number(value)


def _no_integer(_: Run, record: Record) -> bool:
    return not _is_integer(record.value)


def _odd(_: Run, record: Record) -> bool:
    return _odd_numbers(record.value)


@dataclass(frozen=True, slots=True)
class Gate:
    """The keys whose records can break a check, and which of these are worth a look."""

    keys: tuple[str, ...]
    worth: Worth = _always


GATES: Mapping[str, Gate] = {
    "run.repeated-marker": Gate(MARKERS, _again),
    "run.unknown-status": Gate(("run_stop",)),
    "run.not-converged": Gate(("run_stop",)),
    "run.late-start": Gate(("init_start", "run_start"), _begun),
    "run.times-not-physical": Gate(("init_start", *MARKERS), _begun),
    "run.clock-implausible": Gate(("run_start",)),
    "run.cache-not-cleared": Gate(("cache_clear", "run_start")),
    "evaluation.off-schedule": Gate(("global_batch_size",)),
    "evaluation.after-target": Gate(("run_stop",)),
    "evaluation.stop-before-target": Gate(("run_stop", *OUTCOMES), _stopped),
    "evaluation.untimed": Gate(("run_start", "run_stop", *OUTCOMES), _stopped),
    "evaluation.epoch-numbering": Gate(OUTCOMES, _once),
    "epoch.numbered-from-zero": Gate(("epoch_start",), _once),
    "pairing.final-position": Gate(("run_stop",)),
    "progress.not-monotonic": Gate(()),
    "log.not-a-number": Gate(tuple(sorted(COMPARED)), _odd),
    "log.wrong-type": Gate(tuple(sorted(NUMERIC)), _no_number),
    "seed.not-integer": Gate(("seed",), _no_integer),
    "disclosure.batch-not-composed": Gate(
        ("global_batch_size", "micro_batch_size", "gradient_accumulation_steps", *_PARALLEL), _once
    ),
    "disclosure.accelerators-not-divided": Gate(_PARALLEL, _once),
    "staging.untimed": Gate(("staging_start", "run_start")),
}
"""Checks that are broken for good once they are broken."""

_BY_DIVISION = frozenset({"run.late-start", "evaluation.untimed"})
"""Checks that depend on the division or benchmark though they are made in both divisions."""


class Gates:
    """The checks of a round that are still to be looked at, by the keys that may break them."""

    def __init__(self, context: Context, checks: Iterable[Check], is_constant: bool) -> None:
        self.by_key: dict[str, list[tuple[Check, Worth]]] = {}
        self.checks: list[Check] = []
        for check in checks:
            named = bool(check.divisions) or check.id in _BY_DIVISION
            if check.id not in GATES or not check.applies(context) or (named and not is_constant):
                continue
            self.checks.append(check)
            for key, worth in self._ways(check, context):
                self.by_key.setdefault(key, []).append((check, worth))

    def _ways(self, check: Check, context: Context) -> list[tuple[str, Worth]]:
        gate = GATES[check.id]
        ways: list[tuple[str, Worth]] = [(key, gate.worth) for key in gate.keys]
        if check.id == "evaluation.off-schedule":
            grids = Grids(context)
            ways += [(key, grids.leaves) for key in OUTCOMES]
        elif check.id == "progress.not-monotonic":
            ways += [(key, Progress(POSITIONS).goes_back) for key in (*OUTCOMES, "epoch_start")]
            ways.append(("block_start", Progress(BLOCK).goes_back))
        return ways

    def retire(self, rule: str) -> None:
        """Look at a check no more: it has been reported."""
        self.checks = [check for check in self.checks if check.id != rule]
        for key, ways in list(self.by_key.items()):
            kept = [way for way in ways if way[0].id != rule]
            if kept:
                self.by_key[key] = kept
            else:
                del self.by_key[key]


def unlisted(checks: tuple[Check, ...]) -> list[Any]:
    """Ids of checks that are neither looked at while a run goes on nor left for the end."""
    return [check.id for check in checks if check.id not in GATES and check.id not in AT_END]
