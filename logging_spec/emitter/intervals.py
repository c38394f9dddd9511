"""The phases of a run as context managers, which write the start and the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from podium.logging_spec import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    from podium.logging_spec.keys import Key


class Log(Protocol):
    """The Logger to which a phase writes its records."""

    barrier: Callable[[], object]

    def start(
        self, key: Key | str, value: Any = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Log that an interval begins."""

    def end(
        self,
        key: Key | str,
        value: Any = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        time_ms: int | None = None,
    ) -> None:
        """Log that an interval ends."""

    def event(
        self, key: Key | str, value: Any = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Log a value at a point in time."""


class Interval:
    """A phase with a start and an end. After an exception no end is logged."""

    def __init__(
        self,
        log: Log,
        bounds: tuple[Key, Key],
        at_start: Mapping[str, Any] | None = None,
        at_stop: Mapping[str, Any] | None = None,
    ) -> None:
        self._log = log
        self._start, self._stop = bounds
        self._at_start = at_start
        self._at_stop = at_start if at_stop is None else at_stop

    def __enter__(self) -> Self:
        self._log.start(self._start, metadata=self._at_start)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # An end record would state that the phase was completed
        if kind is None:
            self._log.end(self._stop, metadata=self._at_stop)


class Evaluation(Interval):
    """An evaluation; its quality is logged with its training position."""

    def accuracy(self, value: Any, **metadata: Any) -> None:
        """Log the quality reached; for language models that is a loss."""
        self._log.event(keys.EVAL_ACCURACY, value, {**(self._at_start or {}), **metadata})

    def error(self, value: Any, **metadata: Any) -> None:
        """Log the quality reached if a rule names it an error (HPC)."""
        self._log.event(keys.EVAL_ERROR, value, {**(self._at_start or {}), **metadata})


class Run:
    """The timed part. `success()` or `abort()` ends it; leaving its block aborts it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.status: str | None = None
        """`success` or `aborted` once the run has stopped."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.status is not None:
            return
        if error is None:
            self.abort()
            return
        # Other ranks may never reach a barrier, and the reason of the abort matters most.
        try:
            self._stop(keys.ABORTED, {})
        except Exception as second:
            error.add_note(f"run_stop: {second}")

    def start(self) -> None:
        """Begin the timed part on all ranks together; a `with` block does this."""
        self._log.barrier()
        self._log.start(keys.RUN_START)

    def success(self, time_ms: int | None = None, /, **metadata: Any) -> None:
        """End the timed part with success: the target was reached.

        Call it on every rank. `time_ms`, in milliseconds since 1970, is the end if that is not now:
        the update of weights that are evaluated off the clock.
        """
        self._stop_together(keys.SUCCESS, metadata, time_ms)

    def abort(self, **metadata: Any) -> None:
        """End the timed part without success. Call it on every rank."""
        self._stop_together(keys.ABORTED, metadata)

    def _stop_together(
        self, status: str, metadata: Mapping[str, Any], time_ms: int | None = None
    ) -> None:
        if self.status is not None:
            raise RuntimeError(f"the run has stopped already, with status {self.status}")
        self._log.barrier()
        self._stop(status, metadata, time_ms)

    def _stop(self, status: str, metadata: Mapping[str, Any], time_ms: int | None = None) -> None:
        # Set first: if this record cannot be written, leaving the block must not log another one
        self.status = status
        # The status comes last, so that metadata of the caller cannot replace it
        members = {**metadata, "status": status}
        self._log.end(keys.RUN_STOP, metadata=members, time_ms=time_ms)
