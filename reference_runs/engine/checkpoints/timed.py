"""The timed part of a run; an interruption leaves it open if there is a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.logging_spec.emitter.intervals import Run
from podium.reference_runs.errors import DataMissing, Interrupted, peer_is_gone
from podium.reference_runs.log.declare import NOTE

if TYPE_CHECKING:
    from types import TracebackType

    from podium.logging_spec import Logger
    from podium.reference_runs.engine.stepper import Stepper


def timed(log: Logger, stepper: Stepper) -> Run:
    """The timed part, as a context manager."""
    return Timed(log, stepper, resumed=stepper.task.setting.resume)


class Timed(Run):
    """A timed run without a `run_stop` on interruption if it can resume from a checkpoint.

    The rules require exactly one `run_start` and one `run_stop`.
    """

    def __init__(self, log: Logger, stepper: Stepper, *, resumed: bool) -> None:
        super().__init__(log)
        self._stepper, self._resumed = stepper, resumed

    def start(self) -> None:
        """Start the run, or log a note that the time since the first `run_start` counts."""
        if not self._resumed:
            super().start()
            return
        self._log.event(NOTE, "resumed from a checkpoint; the time since run_start counts")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        step = self._stepper.saved
        if error is None or step is None or self.status is not None or not _leaves_open(error):
            super().__exit__(kind, error, trace)
            return
        self.status = "interrupted"
        text = f"the run can be resumed after step {step} (--resume)"
        try:
            self._log.event(NOTE, f"interrupted; {text}")
        except Exception as second:
            error.add_note(f"podium_note: {second}")
        if isinstance(error, Interrupted):
            raise Interrupted(f"{error}; {text}") from None


def _leaves_open(error: BaseException) -> bool:
    """Whether an error has an external cause, so the run can resume elsewhere or with its data."""
    return isinstance(error, (Interrupted, KeyboardInterrupt, DataMissing)) or peer_is_gone(error)
