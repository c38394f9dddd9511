"""The GRPO task of the shared loop: rollouts before each step, and evaluation by rollouts."""

from __future__ import annotations

from itertools import groupby
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
from podium.reference_runs.benchmarks.qwen35_397b_grpo.model import DECAY_RATES, Decoder
from podium.reference_runs.benchmarks.qwen35_397b_grpo.rollouts import (
    Sampling,
    Start,
    continuation,
    roll_out,
)
from podium.reference_runs.benchmarks.qwen35_397b_grpo.tasks import END, PROMPT, Tasks, synthetic
from podium.reference_runs.engine.machine.precision import autocast
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import DataMissing, RunFault
from podium.reference_runs.modeling.experts import Mixture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.benchmarks.qwen35_397b_grpo.rollouts import Rollout
    from podium.reference_runs.parallel.filling import RandomTensors

TRAINING, EVALUATION = range(2)
"""The purpose of random numbers, as part of their seed."""
SAMPLES = 4
"""Number of answers to each evaluation task, one of which must pass."""


class PolicyOptimization(Task[Qwen35]):
    """A policy answers tasks, and learns from the rewards; the quality is pass@4."""

    data_grow: ClassVar[bool] = True
    plans_evaluation: ClassVar[bool] = True

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
        """Raise RunFault if rollouts do not form groups, or cannot be sampled."""
        config = self.config
        prompts, answers = config.num_prompts_per_step, config.num_generations_per_prompt
        if config.global_batch_size != prompts * answers:
            raise RunFault(
                f"global_batch_size is {config.global_batch_size}; expected num_prompts_per_step x"
                f" num_generations_per_prompt, {prompts} x {answers}"
            )
        if answers < 2:
            raise RunFault(f"num_generations_per_prompt is {answers}; expected 2 or more")
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

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values with the distribution of `build`."""
        if name.endswith(".decay_rate"):
            low, high = DECAY_RATES
            middle = (low + high) / 2
            return (middle + draws.uniform(name, shape, middle - low)).log()
        if len(shape) == 1:
            return torch.ones(shape, device=self.device)
        return draws.normal(name, shape, self.config.initial_deviation)

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
        config, share = self.config, self._share
        begin = place * config.global_batch_size + self.ranks.rank * share
        answers = config.num_generations_per_prompt
        sampling = Sampling(
            config.generation_training_rollout_temperature,
            config.generation_training_rollout_top_p,
            config.max_sequence_length,
        )
        numbers = range(begin, begin + share)
        rollouts = self._answers(self.training, numbers, answers, sampling, TRAINING, step)
        advantage_N = self._advantages(rollouts)
        size = self.micro_batch_size
        for start in range(0, share, size):
            part = slice(start, start + size)
            yield self._scored(batch_of(rollouts[part], advantage_N[part], self.training.end))

    @property
    def _share(self) -> int:
        """Rollouts of this rank in a step, which are generated together."""
        return self.config.global_batch_size // self.ranks.world

    def _advantages(self, rollouts: Sequence[Rollout]) -> Tensor:
        """The advantages of this rank's rollouts; several ranks may answer one prompt."""
        begin = self.ranks.rank * self._share
        own = slice(begin, begin + self._share)
        reward_N = torch.zeros(self.config.global_batch_size, device=self.device)
        reward_N[own] = torch.tensor([_reward(self.training, rollout) for rollout in rollouts])
        reward_NG = self.ranks.sum(reward_N).view(-1, self.config.num_generations_per_prompt)
        return advantages(reward_NG).flatten()[own]

    def _answers(
        self, tasks: Tasks, numbers: Sequence[int], count: int, sampling: Sampling, *what: int
    ) -> list[Rollout]:
        """Answers by number, in the order of tasks: each task has `count` of them."""
        starts: list[Start] = []
        for task, group in groupby(numbers, key=lambda number: number // count):
            rng = np.random.default_rng([self.setting.seed, *what, task])
            rows, prompt = rng.random((count, sampling.limit)), tasks.prompt(task)
            starts += [Start(task, prompt, rows[number % count]) for number in group]
        with (
            torch.no_grad(),
            autocast(self.device, self.setting.precision),
            # Token by token with growing states, compilation would create a graph per length
            torch.compiler.set_stance("force_eager"),
        ):
            return roll_out(self.model, starts, sampling, tasks.end, self._anywhere)

    def _anywhere(self, here: bool) -> bool:
        """Whether something is true on a rank of the mesh; without a mesh, whether it is here."""
        if self.ranks.mesh is None:
            return here
        return bool(self.ranks.sum(torch.tensor(float(here), device=self.device)))

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

    def evaluate_largest(self, model: nn.Module, batch: Batch) -> None:
        """Answers up to the maximum length, as many as in the rollouts before a step.

        Without tasks, prompts leave two tokens: the second one reads the cache of all before it.
        """
        rows, limit = self._share, self.config.max_sequence_length
        known: Tasks | None = getattr(self, "evaluation", None)
        prompt = max(len(known.prompt(task)) for task in range(len(known))) if known else limit - 2
        tokens = torch.zeros(rows, prompt, dtype=torch.long, device=self.device)
        uniform = torch.zeros(rows, limit, dtype=torch.double, device=self.device)
        continuation(self.model, tokens, uniform, self._evaluated, END, self._anywhere)

    @property
    def _evaluated(self) -> Sampling:
        config = self.config
        return Sampling(
            config.generation_validation_rollout_temperature,
            config.generation_validation_rollout_top_p,
            config.max_sequence_length,
        )

    def evaluate(self, model: nn.Module) -> float:
        """Share of tasks with a passing answer among four, over all ranks."""
        sampling = self._evaluated
        tasks, share = self.evaluation, self._share
        count = len(tasks) * SAMPLES
        passed = torch.zeros(len(tasks), dtype=torch.float64, device=self.device)
        idle: list[Sequence[int]] = [()] * self.ranks.idle_batches(count, share)
        for numbers in (*self.ranks.batches_of(range(count), share), *idle):
            for rollout in self._answers(tasks, numbers, SAMPLES, sampling, EVALUATION):
                passed[rollout.task] += _reward(tasks, rollout) >= 1
        return float((self.ranks.sum(passed) > 0).sum()) / len(tasks)


def _reward(tasks: Tasks, rollout: Rollout) -> float:
    """The verifier's reward; a truncated answer fails."""
    *answer, last = rollout.answer
    return tasks.reward(rollout.task, answer) if last == tasks.end else 0.0


TASK = PolicyOptimization
