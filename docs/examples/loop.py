"""A training loop with its log: `python loop.py > result_0.txt`.

Logging needs only the lines that mention `log`, `run` or `evaluation`. The records go to standard
output, among the lines of the framework: a result file contains both.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from podium import Logger
from podium.logging_spec.mllog import constants


@dataclass(frozen=True)
class Config:
    """The hyperparameters. The same object drives the run and is logged."""

    seed: int = 1234
    global_batch_size: int = 32
    max_sequence_length: int = 8192
    opt_name: str = "adamw"
    opt_base_learning_rate: float = 5e-4
    opt_end_learning_rate: float = 5e-5
    opt_learning_rate_warmup_steps: int = 128
    opt_learning_rate_decay_steps: int = 1_199_872
    opt_learning_rate_decay_schedule: str = "cosine with linear warmup"
    opt_adamw_beta_1: float = 0.9
    opt_adamw_beta_2: float = 0.95
    opt_adamw_epsilon: float = 1e-5
    opt_adamw_weight_decay: float = 0.1
    opt_gradient_clip_norm: float = 1.0
    gradient_accumulation_steps: int = 1
    train_samples: int = 5_763_000
    eval_samples: int = 1024
    max_steps: int = 1_200_000
    init_checkpoint_step: int = 0
    data_workers: int = 4  # not a log key, so not logged
    eval_every: int = 12_288
    target: float = 3.3


class Model:
    """A placeholder for a model. Every step lowers its loss a little."""

    def __init__(self) -> None:
        self.loss = 11.0

    def step(self) -> None:
        """Train on one batch."""
        time.sleep(1e-5)
        self.loss *= 0.999


def main() -> None:
    """Train until the target is reached."""
    config = Config()
    with Logger() as log:
        log.event("cache_clear", value=True)
        with log.init():
            log.submission(
                benchmark="llama31_8b", division="closed", org="Example", platform="1xCPU"
            )
            log.hyperparameters(config)
            log.disclosure(
                lowest_numerical_precision_in_linear=constants.BFLOAT16,
                lowest_numerical_precision_in_attn=constants.BFLOAT16,
                lowest_numerical_precision_in_comm=constants.FP32,
                tensor_parallelism=1,
                pipeline_parallelism=1,
                context_parallelism=1,
                expert_parallelism=1,
                micro_batch_size=config.global_batch_size,
                config_filename="loop.py",
            )
            model = Model()
        samples = 0
        with log.run() as run:
            while run.status is None and samples < config.train_samples:
                with log.block(samples_count=samples):
                    for _ in range(config.eval_every // config.global_batch_size):
                        model.step()
                        samples += config.global_batch_size
                with log.evaluation(samples_count=samples) as evaluation:
                    evaluation.accuracy(model.loss)
                print(f"{samples} samples: loss {model.loss:.4f}")
                if model.loss <= config.target:
                    run.success(samples_count=samples)


if __name__ == "__main__":
    main()
