"""The order of records in a training that a framework drives with hooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from podium.logging_spec.emitter.values import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.logging_spec.emitter.emit import Logger
    from podium.logging_spec.emitter.intervals import Evaluation, Interval


class Phases:
    """Converts hooks to records: init, run, then blocks and evaluations up to the target.

    `reached` decides whether the quality of an evaluation reaches the target. Positions are samples
    seen in training. Initialization begins here, so create the object before the model.
    """

    def __init__(self, log: Logger, *, reached: Callable[[float], bool]) -> None:
        self._log = log
        self._reached = reached
        self._init = log.init()
        # Without `with`, because the framework begins and ends a phase in different calls
        self._init.__enter__()
        self.run = log.run()
        self._block: Interval | None = None
        self._evaluation: Evaluation | None = None
        self._begun = False

    @property
    def stopped(self) -> bool:
        """Whether the run has ended."""
        return self.run.status is not None

    def begin(self, samples: int) -> None:
        """Training begins: the timed part starts."""
        if not self._begun:
            self._begun = True
            self._init.__exit__(None, None, None)
            self.run.start()
            self._open_block(samples)

    def evaluate(self, samples: int) -> None:
        """Training pauses for an evaluation."""
        if self._begun and not self.stopped and self._evaluation is None:
            self._close_block()
            self._evaluation = self._log.evaluation(samples_count=samples)
            self._evaluation.__enter__()

    def evaluated(self, samples: int, quality: Any) -> bool:
        """Log the quality of an evaluation; True if it reaches the target and ends the run."""
        if not self._begun or self.stopped:
            return self.stopped
        # A framework may report a result without having announced the evaluation
        self.evaluate(samples)
        assert self._evaluation is not None
        evaluation, self._evaluation = self._evaluation, None
        number = _number(quality)
        if number is not None and math.isfinite(number):
            evaluation.accuracy(number)
        evaluation.__exit__(None, None, None)
        if number is not None and self._reached(number):
            self.run.success(samples_count=samples)
        # The run cannot succeed, and a NaN must not be logged as a quality
        elif number is not None and not math.isfinite(number):
            self.run.abort(samples_count=samples)
        else:
            self._open_block(samples)
        return self.stopped

    def end(self, samples: int) -> None:
        """Training ended without reaching the target."""
        if self._begun and not self.stopped:
            self._close_block()
            self.run.abort(samples_count=samples)

    def fail(self, error: BaseException) -> None:
        """An exception ended training."""
        if self._begun and not self.stopped:
            self.run.__exit__(type(error), error, error.__traceback__)

    def _open_block(self, samples: int) -> None:
        self._block = self._log.block(samples_count=samples)
        self._block.__enter__()

    def _close_block(self) -> None:
        if self._block is not None:
            self._block.__exit__(None, None, None)
            self._block = None


def _number(quality: Any) -> float | None:
    if quality is not None and not isinstance(quality, int | float):
        quality = plain(quality)
    return None if quality is None else float(quality)


def with_base(hooks: type, modules: tuple[tuple[str, str], ...], *arguments: Any) -> Any:
    """An instance of `hooks` that is also a callback of the framework, if it is installed."""
    from importlib import import_module

    for module, name in modules:
        try:
            base = getattr(import_module(module), name)
        except ImportError:
            continue
        # Created at run time: the base class exists only if its framework is installed
        return type(hooks.__name__, (hooks, base), {})(*arguments)
    return hooks(*arguments)
