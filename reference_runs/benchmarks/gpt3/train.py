"""What GPT-3 pretraining adds to that of Llama 3.1: its decoder, its data, Adam for all weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

import torch

from podium.reference_runs.benchmarks.gpt3.data import from_files
from podium.reference_runs.benchmarks.gpt3.model import Decoder
from podium.reference_runs.benchmarks.llama31.data import synthetic
from podium.reference_runs.benchmarks.llama31.train import Pretraining
from podium.reference_runs.modeling.schedule import cosine
from podium.reference_runs.weights.layout import GPT2, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.benchmarks.gpt3.config import Gpt3
    from podium.reference_runs.parallel.filling import Drawn


class Gpt3Pretraining(Pretraining):
    """The whole decoder goes on from a checkpoint, and so does the schedule of its rate."""

    layout: ClassVar[Layout] = GPT2
    predicted: int
    """Tokens that an evaluation predicts."""

    @property
    def starts_trained(self) -> bool:
        """It does."""
        return True

    def prepare(self) -> None:
        """Draw sentences of the synthetic language, every token of which is predicted."""
        if self.setting.scale == "smoke":
            config, length = self.config, self.config.max_sequence_length
            rows = replace(config, eval_samples=math.ceil(config.eval_samples / length))
            self.training, self.evaluation = synthetic(self.language(), rows, self.setting.seed)
            self.predicted = len(self.evaluation) * length

    def open_data(self) -> None:
        """Map the tokenised files."""
        if self.setting.scale == "reference":
            self.training, evaluation = from_files(self.data_folder, self._of_gpt3, self.wanted)
            self.evaluation, self.predicted = evaluation, evaluation.predicted

    def samples(self) -> tuple[int, int]:
        """Sequences to train on, and tokens that an evaluation predicts."""
        return len(self.training), self.predicted

    def decoder(self) -> nn.Module:
        """The model with random weights."""
        return Decoder(self._of_gpt3)

    def drawn(self, name: str, shape: torch.Size, numbers: Drawn) -> Tensor:
        """The first numbers of a tensor, the deviation of which is the same for all matrices."""
        if name.endswith("bias"):
            return torch.zeros(shape, device=self.device)
        if len(shape) == 1:
            return torch.ones(shape, device=self.device)
        return numbers.normal(name, shape, self._of_gpt3.initial_deviation)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam with a decoupled decay of all weights, those of norms and biases included."""
        config = self._of_gpt3
        adam = self.optimizer(
            torch.optim.AdamW,
            model.parameters(),
            betas=(config.opt_adam_beta_1, config.opt_adam_beta_2),
            eps=config.opt_adam_epsilon,
            weight_decay=config.opt_weight_decay,
        )
        return [adam]

    def learning_rate(self, step: int) -> float:
        """A linear warm-up and a cosine over all steps, of which the checkpoint's are gone."""
        config = self._of_gpt3
        warmup = config.opt_learning_rate_warmup_steps
        return cosine(
            config.init_checkpoint_step + step,
            warmup=warmup,
            decay=config.opt_learning_rate_decay_steps - warmup,
            base=config.opt_base_learning_rate,
            end=config.opt_end_learning_rate,
        )

    @property
    def _of_gpt3(self) -> Gpt3:
        return cast("Gpt3", self.config)  # the catalogue pairs the two


TASK = Gpt3Pretraining
