"""The position in training, in the unit and under the keys of a round's log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.reference_runs.engine.config import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.setting import Setting


def blocks(config: Config, done: int = 0) -> Iterator[tuple[int, int]]:
    """The blocks of training that end in an evaluation: step counts before and after each."""
    before = done
    for step in config.evaluation_steps():
        if step > config.last_step:
            return
        # A resumed run skips the evaluations that its log already has
        if step > before:
            yield before, step
            before = step


def position(config: Config, setting: Setting, step: int) -> dict[str, Any]:
    """Metadata of an event after a number of optimizer steps."""
    samples = step * config.global_batch_size
    match config.unit_in(setting.round):
        case Unit.EPOCHS:
            # Epochs count from 1, and an epoch in progress counts as a whole one
            return {"epoch_num": -(-step // config.steps_per_epoch)}
        case Unit.FRACTIONS | Unit.FRACTIONS_FROM_ONE as unit:
            return {"epoch_num": samples / config.train_samples + (unit is Unit.FRACTIONS_FROM_ONE)}
        case Unit.SAMPLES_AS_EPOCHS:
            return {"epoch_num": samples * config.sample_size}
        case Unit.STEPS:
            return {"step_num": step}
        case _ if setting.division == "open":
            # The official verifier requires epochs for open language models, the policy samples.
            return {"samples_count": samples, "epoch_num": samples / config.epoch_samples}
        case _:
            return {"samples_count": samples}


def block_at(config: Config, setting: Setting, first: int, last: int) -> dict[str, Any]:
    """Metadata of the block between two step counts."""
    samples, length = (n * config.global_batch_size for n in (first, last - first))
    match config.unit_in(setting.round):
        case Unit.EPOCHS:
            begin = first // config.steps_per_epoch
            count = -(-last // config.steps_per_epoch) - begin
            return {"first_epoch_num": begin + 1, "epoch_count": count}
        case Unit.FRACTIONS | Unit.FRACTIONS_FROM_ONE as unit:
            whole, offset = config.train_samples, unit is Unit.FRACTIONS_FROM_ONE
            return {"first_epoch_num": samples / whole + offset, "epoch_count": length / whole}
        case Unit.SAMPLES_AS_EPOCHS:
            size = config.sample_size
            return {"first_epoch_num": samples * size, "epoch_count": length * size}
        case Unit.STEPS:
            return {"step_num": first}
        case _:
            return {"samples_count": samples}
