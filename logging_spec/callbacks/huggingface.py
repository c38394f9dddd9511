"""A callback for the Trainer of Hugging Face transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.logging_spec.callbacks.phases import Phases, with_base

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.logging_spec.emitter.emit import Logger


def trainer_callback(
    log: Logger, *, metric: str, global_batch_size: int, reached: Callable[[float], bool]
) -> Any:
    """A callback for `Trainer(callbacks=[…])` that logs the run and stops it at the target.

    `metric` names the metric that is logged as quality, with its prefix (`eval_loss`); `reached`
    decides whether it reaches the target. Create the callback before the model: initialization
    begins here. Trainer has no hook for exceptions: pass exceptions from `train()` to
    `phases.fail`.
    """
    base = (("transformers", "TrainerCallback"),)
    return with_base(TrainerHooks, base, Phases(log, reached=reached), metric, global_batch_size)


class TrainerHooks:
    """Hooks of Trainer, converted to phases."""

    def __init__(self, phases: Phases, metric: str, global_batch_size: int) -> None:
        super().__init__()
        self.phases = phases
        self._metric = metric
        self._batch = global_batch_size

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the timed part."""
        del args, control, kwargs
        self.phases.begin(self._samples(state))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin the evaluation if one follows this step."""
        del args, kwargs
        if control.should_evaluate:
            self.phases.evaluate(self._samples(state))

    # A trainer that evaluates by epochs requests it at the end of the epoch, not at a step
    on_epoch_end = on_step_end

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any
    ) -> Any:
        """Log the quality; at the target, end the run and stop the trainer."""
        del args, kwargs
        quality = (metrics or {}).get(self._metric)
        if self.phases.evaluated(self._samples(state), quality):
            control.should_training_stop = True
        return control

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the run as aborted unless it has ended."""
        del args, control, kwargs
        self.phases.end(self._samples(state))

    def _samples(self, state: Any) -> int:
        return int(state.global_step) * self._batch
