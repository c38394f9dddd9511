"""The GRPO task of the shared loop: rollouts before each step, and evaluation by rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from podium.reference_runs.benchmarks.qwen35_397b_grpo.base import base_weights
from podium.reference_runs.benchmarks.qwen35_397b_grpo.config import Qwen35
from podium.reference_runs.benchmarks.qwen35_397b_grpo.grpo import (
    Batch,
    advantages,
    batch_of,
    policy_loss,
)
from podium.reference_runs.benchmarks.qwen35_397b_grpo.model import Decoder
from podium.reference_runs.benchmarks.qwen35_397b_grpo.rollouts import Sampling, roll_out
from podium.reference_runs.benchmarks.qwen35_397b_grpo.tasks import END, PROMPT, Tasks, synthetic
from podium.reference_runs.engine.machine.precision import autocast
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import DataMissing, RunFault
from podium.reference_runs.modeling.experts import Mixture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import nn
    from torch.optim import Optimizer

    from podium.reference_runs.benchmarks.qwen35_397b_grpo.rollouts import Rollout

TRAINING, EVALUATION = range(2)
"""The purpose of random numbers, as part of their seed."""
SAMPLES = 4
"""Number of answers to each evaluation task, one of which must pass."""
EVALUATED = 64
"""Evaluation tasks that are answered together."""


class PolicyOptimization(Task[Qwen35]):
    """A policy answers tasks, and learns from the rewards; the quality is pass@4."""

    data_grow: ClassVar[bool] = True

    training: Tasks
    evaluation: Tasks
    model: Decoder

    def check_files(self) -> None:
        """Raise DataMissing at reference scale: podium has no environment for its tasks."""
        if self.setting.scale == "reference":
            raise DataMissing(
                "R2E-Gym's tasks need sandboxes that podium does not include; the page of"
                f" {self.config.name} shows how to add an environment"
            )

    def generated_data(self) -> tuple[Tasks, Tasks]:
        """Sums of numbers; raises RunFault if the config is too small for them."""
        config, needed = self.config, {"vocabulary": END + 1, "max_sequence_length": PROMPT + 1}
        for field, least in needed.items():
            if getattr(config, field) < least:
                raise RunFault(f"{field} is {getattr(config, field)}; expected {least} or more")
        return synthetic(
            config.train_samples,
            config.eval_samples,
            self.setting.seed,
            shuffled=config.shuffled_labels,
        )

    def check_settings(self) -> None:
        """Raise RunFault if rollouts do not form groups, or cannot be divided evenly."""
        config = self.config
        prompts, answers = config.num_prompts_per_step, config.num_generations_per_prompt
        if config.global_batch_size != prompts * answers:
            raise RunFault(
                f"global_batch_size is {config.global_batch_size}; expected num_prompts_per_step x"
                f" num_generations_per_prompt, {prompts} x {answers}"
            )
        if answers < 2:
            raise RunFault(f"num_generations_per_prompt is {answers}; expected 2 or more")
        if prompts % self.ranks.world:
            raise RunFault(
                f"num_prompts_per_step is {prompts}; expected a multiple of"
                f" {self.ranks.world} ranks"
            )
        for what in ("training", "validation"):
            field = f"generation_{what}_rollout_temperature"
            if getattr(config, field) <= 0:
                raise RunFault(f"{field} is {getattr(config, field)}; expected more than 0")

    def build(self) -> nn.Module:
        """The policy; at smoke scale with the weights of a generated base."""
        self.model = Decoder(self.config)
        # A model on the meta device has shapes only and cannot be filled
        if self.setting.scale == "smoke" and not self.model.embedding.weight.is_meta:
            self.model.load_state_dict(base_weights(self.config, self.setting))
        for mixture in (module for module in self.model.modules() if isinstance(module, Mixture)):
            mixture.router.requires_grad_(requires_grad=False)
        return self.model

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW on everything except the routers, which the reference freezes."""
        return [
            self.adamw([parameter for parameter in model.parameters() if parameter.requires_grad])
        ]

    # --- rollouts ---

    def batches(self, epoch: int, first: int) -> Iterator[Batch]:
        """Before each step, answers by the present policy; tasks are in a fixed order."""
        steps = self.config.steps_per_epoch
        for step in range(first, steps):
            yield from self._rolled_out(step, (epoch - 1) * steps + step)

    def largest_batch(self) -> Batch:
        """Rollouts of the maximum length: sampled ones are at most as long."""
        rows, length = self.micro_batch_size, self.config.max_sequence_length - 1
        tokens = torch.zeros(rows, length, dtype=torch.long)
        scored, generated, trained = (torch.zeros(rows, length) for _ in range(3))
        return Batch(tokens, tokens, scored, generated, trained, torch.zeros(rows))

    def _rolled_out(self, place: int, step: int) -> Iterator[Batch]:
        """The micro-batches of this rank in a step; `place` is the step's index in its epoch."""
        config, ranks = self.config, self.ranks
        share = config.num_prompts_per_step // ranks.world
        begin = place * config.num_prompts_per_step + ranks.rank * share
        answers = config.num_generations_per_prompt
        sampling = Sampling(
            config.generation_training_rollout_temperature,
            config.generation_training_rollout_top_p,
            config.max_sequence_length,
        )
        tasks = range(begin, begin + share)
        rollouts = self._answers(self.training, tasks, answers, sampling, TRAINING, step)
        reward = torch.tensor([_reward(self.training, rollout) for rollout in rollouts])
        advantage_N = advantages(reward.view(share, answers)).flatten()
        size = self.micro_batch_size
        for start in range(0, len(rollouts), size):
            part = slice(start, start + size)
            yield self._scored(batch_of(rollouts[part], advantage_N[part], self.training.end))

    def _answers(
        self, tasks: Tasks, numbers: Sequence[int], count: int, sampling: Sampling, *what: int
    ) -> list[Rollout]:
        """A number of answers to each task, in the order of tasks."""

        def draws(task: int) -> np.ndarray:
            rng = np.random.default_rng([self.setting.seed, *what, task])
            return rng.random((count, sampling.limit))

        prompts = [(number, tasks.prompt(number)) for number in numbers]
        with (
            torch.no_grad(),
            autocast(self.device, self.setting.precision),
            # Token by token with growing states, compilation would create a graph per length
            torch.compiler.set_stance("force_eager"),
        ):
            return roll_out(self.model, prompts, draws, sampling, tasks.end)

    def _scored(self, batch: Batch) -> Batch:
        """The batch with the trainer's log-probabilities before the update."""
        batch = Batch(*(part.to(self.device) for part in batch))
        with torch.no_grad(), autocast(self.device, self.setting.precision):
            return batch._replace(trained=self.model(batch.tokens, batch.targets))

    # --- update and evaluation ---

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The clipped objective summed over the answers' tokens."""
        total, count = policy_loss(self.config, model(batch.tokens, batch.targets), batch)
        # If every rollout is masked, the number of tokens is 0, and so is the gradient
        return Loss(total, count.clamp(min=1))

    def evaluate(self, model: nn.Module) -> float:
        """Share of tasks with a passing answer among four, over all ranks."""
        config = self.config
        sampling = Sampling(
            config.generation_validation_rollout_temperature,
            config.generation_validation_rollout_top_p,
            config.max_sequence_length,
        )
        passed: set[int] = set()
        for tasks in self.ranks.batches_of(range(len(self.evaluation)), EVALUATED):
            rollouts = self._answers(self.evaluation, tasks, SAMPLES, sampling, EVALUATION)
            passed |= {
                rollout.task for rollout in rollouts if _reward(self.evaluation, rollout) >= 1
            }
        count = torch.tensor(len(passed), dtype=torch.float64, device=self.device)
        return float(self.ranks.sum(count)) / len(self.evaluation)


def _reward(tasks: Tasks, rollout: Rollout) -> float:
    """The verifier's reward; a truncated answer fails."""
    *answer, last = rollout.answer
    return tasks.reward(rollout.task, answer) if last == tasks.end else 0.0


TASK = PolicyOptimization
