"""Runs that ended before their run_stop, and the errors that this explains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from podium.logging_spec import keys
from podium.rules.finding import Finding, Severity
from podium.rules.run import Run


class Unfinished(msgspec.Struct, frozen=True, gc=False):
    """A run that crashed: the line of its last record, and its phase."""

    line: int
    phase: Literal["initialization", "training"]


_OUTCOMES = frozenset(("eval_accuracy", "eval_error", "eval_iteration_accuracy"))
_OF_TRAINING = _OUTCOMES | {
    *("run_stop", "run_final", "block_start", "block_stop", "epoch_start", "epoch_stop"),
    *("eval_start", "eval_stop", "aggregated_eval_accuracy", "train_epoch"),
}
"""Keys that a run logs after run_start, and may not reach."""


def unfinished(run: Run, findings: Sequence[Finding]) -> Unfinished | None:
    """The end of a run that stopped before its target, if its log has no other error.

    Training rules, Benchmark Results: a run that does not converge may be dropped as the slowest.
    This includes a run that crashed, but not if it violated a rule before the crash.
    """
    if not run.records or "run_stop" in run.where:
        return None
    ended = Unfinished(
        run.line(len(run.records) - 1),
        "training" if "run_start" in run.where else "initialization",
    )
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    missed_target = any(finding.id.endswith(".target") for finding in errors)
    evaluated = any(key in run.where for key in _OUTCOMES)
    # Open runs have no target: without run_stop they have no result
    if evaluated and not missed_target and run.value("submission_division") != "open":
        return None
    # If the cause is explained, its consequences are explained, too
    causes = [finding for finding in errors if not finding.caused_by]
    return ended if all(_explained(finding, ended) for finding in causes) else None


def _explained(error: Finding, ended: Unfinished) -> bool:
    if error.id.endswith(".target"):
        return True
    if error.line is not None:
        # The last line, which was not written completely
        return error.line > ended.line
    # Rows that several keys satisfy have no key, but the id of each ends in one of the keys
    key = error.id.rpartition(".")[2]
    return key in (keys.ALL if ended.phase == "initialization" else _OF_TRAINING)
