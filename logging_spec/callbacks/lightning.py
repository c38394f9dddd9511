"""A callback for PyTorch Lightning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.logging_spec.callbacks.phases import Phases, with_base

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.logging_spec.emitter.emit import Logger


def lightning_callback(
    log: Logger, *, metric: str, global_batch_size: int, reached: Callable[[float], bool]
) -> Any:
    """A callback for `Trainer(callbacks=[…])` that logs the run and stops it at the target.

    `metric` names the validation metric that is logged as quality; `reached` decides whether it
    reaches the target. Create the callback before the model: initialization begins here. Data
    preparation in `fit` counts as initialization; the timed part begins when Lightning starts
    training.
    """
    bases = (("lightning.pytorch", "Callback"), ("pytorch_lightning", "Callback"))
    return with_base(LightningHooks, bases, Phases(log, reached=reached), metric, global_batch_size)


class LightningHooks:
    """Hooks of Lightning, converted to phases."""

    def __init__(self, phases: Phases, metric: str, global_batch_size: int) -> None:
        super().__init__()
        self.phases = phases
        self._metric = metric
        self._batch = global_batch_size

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the timed part."""
        del pl_module
        self.phases.begin(self._samples(trainer))

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """End the block and begin the evaluation, except for the sanity check before training."""
        del pl_module
        if not trainer.sanity_checking:
            self.phases.evaluate(self._samples(trainer))

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the quality; at the target, end the run and stop the trainer."""
        del pl_module
        if not trainer.sanity_checking:
            quality = trainer.callback_metrics.get(self._metric)
            if self.phases.evaluated(self._samples(trainer), quality):
                trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """End the run as aborted unless it has ended."""
        del pl_module
        self.phases.end(self._samples(trainer))

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the run as aborted."""
        del trainer, pl_module
        self.phases.fail(exception)

    def _samples(self, trainer: Any) -> int:
        return int(trainer.global_step) * self._batch
