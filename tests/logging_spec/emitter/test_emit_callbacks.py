"""Callbacks, called in the order in which their frameworks call them."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from podium.logging_spec.callbacks.huggingface import trainer_callback
from podium.logging_spec.callbacks.lightning import lightning_callback
from podium.logging_spec.emitter.testing import MemorySink, capture

OPENING = ["init_start", "init_stop", "run_start"]
TRAIN = ["block_start", "block_stop"]
EVALUATE = ["eval_start", "eval_accuracy", "eval_stop"]


class Metric:
    def __init__(self, value: float) -> None:
        self._value = value

    def tolist(self) -> float:
        return self._value


def fit(callback: Any, losses: list[float]) -> Any:
    """Call the hooks of a callback in the order of Lightning's `fit`."""
    trainer = SimpleNamespace(
        global_step=0, sanity_checking=True, callback_metrics={}, should_stop=False
    )
    callback.on_validation_start(trainer, None)
    callback.on_validation_end(trainer, None)
    trainer.sanity_checking = False
    try:
        callback.on_train_start(trainer, None)
        for loss in losses:
            trainer.global_step += 10
            callback.on_validation_start(trainer, None)
            if loss < 0:
                raise RuntimeError("the loss went wild")
            trainer.callback_metrics["val_loss"] = Metric(loss)
            callback.on_validation_end(trainer, None)
            if trainer.should_stop:
                break
        callback.on_train_end(trainer, None)
    except RuntimeError as error:
        callback.on_exception(trainer, None, error)
        raise
    return trainer


def train(callback: Any, losses: list[float]) -> Any:
    """Call the hooks of a callback in the order of the Trainer's `train`."""
    state = SimpleNamespace(global_step=0)
    control = SimpleNamespace(should_evaluate=False, should_training_stop=False)
    callback.on_train_begin(None, state, control)
    for loss in losses:
        for step in range(10):
            state.global_step += 1
            control.should_evaluate = step == 9
            callback.on_step_end(None, state, control)
        control.should_evaluate = False
        callback.on_evaluate(None, state, control, metrics={"eval_loss": loss})
        if control.should_training_stop:
            break
    callback.on_train_end(None, state, control)
    return control


def made(kind: Any, metric: str) -> tuple[Any, MemorySink]:
    log, sink = capture()
    callback = kind(log, metric=metric, global_batch_size=32, reached=lambda loss: loss <= 3.3)
    return callback, sink


def keys_of(sink: MemorySink) -> list[str]:
    return [record.key for record in sink.records]


@pytest.mark.parametrize(
    ("kind", "metric", "drive"),
    [(lightning_callback, "val_loss", fit), (trainer_callback, "eval_loss", train)],
)
class TestBoth:
    def test_a_run_that_reaches_the_target_is_stopped_with_success(
        self, kind: Any, metric: str, drive: Any
    ) -> None:
        callback, sink = made(kind, metric)
        end = drive(callback, [4.0, 3.0, 2.0])
        assert keys_of(sink) == [*OPENING, *(TRAIN + EVALUATE) * 2, "run_stop"]
        *_, stop = sink.records
        assert stop.metadata["status"] == "success"
        assert stop.metadata["samples_count"] == 640
        assert [r.value for r in sink.records if r.key == "eval_accuracy"] == [4.0, 3.0]
        assert [r.metadata["samples_count"] for r in sink.records if r.key == "block_start"] == [
            0,
            320,
        ]
        assert getattr(end, "should_stop", None) or end.should_training_stop

    def test_a_run_that_misses_the_target_is_aborted(
        self, kind: Any, metric: str, drive: Any
    ) -> None:
        callback, sink = made(kind, metric)
        drive(callback, [4.0])
        assert keys_of(sink) == [*OPENING, *TRAIN, *EVALUATE, *TRAIN, "run_stop"]
        assert sink.records[-1].metadata["status"] == "aborted"

    def test_a_loss_of_nan_aborts_the_run(self, kind: Any, metric: str, drive: Any) -> None:
        callback, sink = made(kind, metric)
        drive(callback, [float("nan")])
        assert keys_of(sink) == [*OPENING, *TRAIN, "eval_start", "eval_stop", "run_stop"]
        assert sink.records[-1].metadata["status"] == "aborted"


def test_an_exception_in_fit_aborts_the_run() -> None:
    callback, sink = made(lightning_callback, "val_loss")
    with pytest.raises(RuntimeError):
        fit(callback, [-1.0])
    assert keys_of(sink)[-2:] == ["eval_start", "run_stop"]
    assert sink.records[-1].metadata["status"] == "aborted"


def test_an_evaluation_outside_training_is_not_logged() -> None:
    callback, sink = made(trainer_callback, "eval_loss")
    state = SimpleNamespace(global_step=0)
    callback.on_evaluate(None, state, SimpleNamespace(), metrics={"eval_loss": 1.0})
    assert keys_of(sink) == ["init_start"]


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("lightning.pytorch", "Callback", lightning_callback),
        ("pytorch_lightning", "Callback", lightning_callback),
        ("transformers", "TrainerCallback", trainer_callback),
    ],
)
def test_a_callback_is_an_instance_of_the_framework_class(
    module: str, name: str, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = type(name, (), {"on_other_hook": lambda _: "default"})
    fake = ModuleType(module)
    setattr(fake, name, base)
    if "." in module:
        monkeypatch.setitem(sys.modules, module.partition(".")[0], ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, module, fake)
    callback, _ = made(kind, "loss")
    assert isinstance(callback, base)
    assert callback.on_other_hook() == "default"  # type: ignore[attr-defined]
