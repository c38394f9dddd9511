"""Smoke runs with even less data, for tests that run a few steps of every benchmark."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from podium.logging_spec import Logger
from podium.reference_runs.catalogue import find, task_of
from podium.reference_runs.engine.checkpoints.randomness import seed_everything
from podium.reference_runs.engine.stepper import Stepper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.engine.setting import Setting

SMALLER: dict[str, dict[str, Any]] = {
    "bert": {"train_samples": 1024, "eval_samples": 4},
    # As in the references, each rank draws its own dropout
    "llama2_70b_lora": {"lora_dropout": 0.0},
    "gnmt": {"train_samples": 1024, "eval_samples": 20},
    "gpt_oss_20b": {"max_sequence_length": 256},
    "cosmoflow": {"train_samples": 64, "eval_samples": 4},
    "deepcam": {"train_samples": 64, "eval_samples": 4},
    "flux1": {"train_samples": 512, "eval_samples": 16},
    "resnet": {"train_samples": 256, "global_batch_size": 32, "model_bn_span": 16},
    "maskrcnn": {"train_samples": 160, "eval_samples": 4, "global_batch_size": 8},
    "retinanet": {"train_samples": 160, "eval_samples": 4, "global_batch_size": 8},
    "oc20": {"train_samples": 160, "eval_samples": 4},
    "openfold": {"train_samples": 160, "eval_samples": 4},
    "rnnt": {"train_samples": 128, "eval_samples": 4},
    "ssd": {
        "train_samples": 160,
        "eval_samples": 4,
        # Two ranks share a batch-norm group
        "model_bn_span": 16,
        # Norms over few images make rounding errors grow with each step
        "opt_base_learning_rate": 1e-3,
    },
    "stable_diffusion": {"train_samples": 512, "eval_samples": 8},
    "dlrm": {"train_samples": 20_000, "eval_samples": 100},
    "dlrm_dcnv2": {"train_samples": 20_000, "eval_samples": 100},
    "dlrm_v4_hstu": {"days": 1, "train_samples": 2048},
    "llama31_8b": {"train_samples": 1024},
    "llama31_405b": {"train_samples": 1024},
    "deepseekv3_671b": {"train_samples": 1024},
    "gpt3": {"train_samples": 1024},
    "minigo": {"min_selfplay_games_per_generation": 8, "parallel_games": 4, "num_readouts": 4},
    "qwen35_397b_grpo": {"num_prompts_per_step": 4, "global_batch_size": 64},
}
"""Settings that generate data faster and disable random draws that differ between ranks."""


@contextmanager
def opened(name: str, setting: Setting, ranks: Ranks) -> Iterator[Stepper]:
    """Yield the stepper of a benchmark, ready to train on reduced data from seed 1."""
    changes = {key: str(value) for key, value in SMALLER.get(name, {}).items()}
    config = find(name).smoke().with_settings(changes)
    task = task_of(name)(config, setting, ranks)
    seed_everything(1)
    task.prepare()
    with Logger(io.StringIO(), rank=ranks.rank) as log:
        task.stage(log)
        task.open_data()
        yield Stepper(task)


def losses_of(stepper: Stepper, first: int, last: int) -> list[float]:
    """Return the losses of the steps from `first` (zero-based) up to but not including `last`."""
    each = stepper.task.config.steps_per_epoch
    found: list[float] = []
    while (done := first + len(found)) < last:
        epoch, begin = divmod(done, each)
        count = min(last - done, each - begin)
        found += [float(loss) for loss in stepper.steps(epoch + 1, begin, count)]
    return found
