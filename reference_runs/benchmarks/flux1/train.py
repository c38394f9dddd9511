"""The FLUX.1 task of the shared loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.flux1.config import TIMES, Flux
from podium.reference_runs.benchmarks.flux1.data import (
    EVALUATION_SEED,
    Batch,
    Pairs,
    Samples,
    synthetic,
)
from podium.reference_runs.benchmarks.flux1.files import EMPTY, EVALUATION, TRAINING, from_files
from podium.reference_runs.benchmarks.flux1.model import DEVIATION, VECTORS, ZERO, FluxTransformer
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.diffusion import flowed
from podium.reference_runs.modeling.schedule import warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.parallel.filling import RandomTensors


class Flow(Task[Flux]):
    """Rectified flow from text; the quality is the loss averaged over eight times."""

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = (TRAINING, EVALUATION, *EMPTY)
    fp8_parts: ClassVar[tuple[str, ...]] = ("double_blocks.", "single_blocks.")
    training: Pairs
    evaluation: Pairs

    def check_settings(self) -> None:
        """Raise RunFault if the axes do not add up to a head's width."""
        config = self.config
        if sum(config.axes) * config.heads != config.width:
            raise RunFault(
                f"axes are {config.axes}; expected a sum of a head's width, {config.width} over"
                f" {config.heads} heads"
            )

    def generated_data(self) -> tuple[Pairs, Pairs]:
        """Generated shapes with captions."""
        return synthetic(self.config, self.setting.seed)

    def data_from_files(self) -> tuple[Pairs, Pairs]:
        """The encoded pairs."""
        return from_files(self.data_folder, self.config, self.expected)

    def use(self, data: tuple[Pairs, Pairs]) -> None:
        """Draw noise and times for the pairs."""
        super().use(data)
        self._samples = Samples(data[0], self.config, self.setting.seed)
        self._measured = Samples(data[1], self.config, EVALUATION_SEED, measured=True)

    def training_data(self) -> Samples:
        """The samples that `batches` divides among ranks."""
        return self._samples

    def largest_batch(self) -> Batch:
        """A synthetic batch, since a full one would encode many large images."""
        count, config = self.micro_batch_size, self.config
        side = config.latent_size
        return Batch(
            latents=torch.zeros(count, config.latent_channels, side, side),
            noise=torch.zeros(count, config.latent_channels, side, side),
            text=torch.zeros(count, config.text_length, config.text_width),
            pooled=torch.zeros(count, config.pooled_width),
            times=torch.zeros(count),
        )

    def build(self) -> nn.Module:
        """The transformer, with random weights."""
        return FluxTransformer(self.config)

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values with the model's distribution, drawn in another order."""
        if len(shape) == 1:
            return torch.full(shape, 0.0 if name.endswith("bias") else 1.0, device=self.device)
        if name.endswith(ZERO):
            return torch.zeros(shape, device=self.device)
        if name.startswith(VECTORS):
            return draws.normal(name, shape, DEVIATION)
        return draws.uniform(name, shape, math.sqrt(6 / sum(shape)))

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW, with the same decay for every tensor."""
        return [self.adamw(model.parameters())]

    def learning_rate(self, step: int) -> float:
        """Linear warmup, then constant."""
        config = self.config
        return warmed_up(step, config.opt_learning_rate_warmup_steps, config.opt_base_learning_rate)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Mean squared error of the velocity, summed over samples."""
        errors = self._errors(model, batch)
        return Loss(errors.sum(), len(errors))

    def _errors(self, model: nn.Module, batch: Batch) -> Tensor:
        """Error of each sample, (B,)."""
        latents, noise, text, pooled, times = (
            part.to(self.device, non_blocking=True) for part in batch
        )
        noisy, velocity = flowed(latents, noise, times)
        predicted: Tensor = model(noisy, text, pooled, times)
        return (predicted.float() - velocity).square().mean((1, 2, 3))

    def evaluate(self, model: nn.Module) -> float:
        """The loss averaged over the samples of each time, and then over the times."""
        sums = torch.zeros(2, TIMES, dtype=torch.float64, device=self.device)
        count = len(self.evaluation)
        batches = self.evaluation_batches(count)
        idle = [[0]] * self.idle_evaluation_batches(count)
        for number, batch in enumerate(self.loaded(self._measured, [*batches, *idle])):
            errors = self._errors(model, batch).double()
            if number >= len(batches):
                continue
            step = (batch.times.to(self.device) * TIMES).long()
            sums.index_add_(1, step, torch.stack((errors, torch.ones_like(errors))))
        total, count = self.ranks.sum(sums)
        # With fewer samples than times, as in tests, some times have no samples
        return float((total / count)[count > 0].mean())


TASK = Flow
