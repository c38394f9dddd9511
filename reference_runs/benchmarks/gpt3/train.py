"""Pretraining of GPT-3: its decoder, its data, and Adam for all weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.gpt3.config import Gpt3
from podium.reference_runs.benchmarks.gpt3.data import from_files
from podium.reference_runs.benchmarks.gpt3.model import Decoder
from podium.reference_runs.modeling.language.corpus import synthetic
from podium.reference_runs.modeling.language.pretraining import Pretraining
from podium.reference_runs.modeling.schedule import cosine
from podium.reference_runs.weights.layout import GPT2, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.modeling.language.corpus import Sequences
    from podium.reference_runs.modeling.language.pretraining import Tokens
    from podium.reference_runs.parallel.filling import RandomTensors


class Gpt3Pretraining(Pretraining[Gpt3]):
    """Training of the whole decoder continues from a checkpoint, with the checkpoint's schedule."""

    layout: ClassVar[Layout] = GPT2
    predicted: int
    """Number of tokens that an evaluation predicts."""

    @property
    def starts_trained(self) -> bool:
        """True: it continues from published weights."""
        return True

    def generated_data(self) -> tuple[Sequences, Sequences]:
        """Sentences of the synthetic language, of which every token is predicted."""
        config, length = self.config, self.config.max_sequence_length
        rows = replace(config, eval_samples=math.ceil(config.eval_samples / length))
        training, evaluation = synthetic(self.language(), rows, self.setting.seed)
        self.predicted = len(evaluation) * length
        return training, evaluation

    def data_from_files(self) -> tuple[Tokens, Tokens]:
        """The tokenized files."""
        training, evaluation = from_files(self.data_folder, self.config, self.expected)
        self.predicted = evaluation.predicted
        return training, evaluation

    def samples(self) -> tuple[int, int]:
        """Training sequences, and tokens that an evaluation predicts."""
        return len(self.training), self.predicted

    def decoder(self) -> nn.Module:
        """The model with random weights."""
        return Decoder(self.config)

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values with one deviation for all matrices."""
        if name.endswith("bias"):
            return torch.zeros(shape, device=self.device)
        if len(shape) == 1:
            return torch.ones(shape, device=self.device)
        return draws.normal(name, shape, self.config.initial_deviation)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam with decoupled weight decay, including norms and biases."""
        config = self.config
        decay = config.opt_weight_decay
        return [self.adam(model.parameters(), torch.optim.AdamW, weight_decay=decay)]

    def learning_rate(self, step: int) -> float:
        """Linear warmup and a cosine over all steps, including those of the checkpoint."""
        config = self.config
        warmup = config.opt_learning_rate_warmup_steps
        return cosine(
            config.init_checkpoint_step + step,
            warmup=warmup,
            decay=config.opt_learning_rate_decay_steps - warmup,
            base=config.opt_base_learning_rate,
            end=config.opt_end_learning_rate,
        )


TASK = Gpt3Pretraining
