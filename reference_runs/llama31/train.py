"""What Llama 3.1 pretraining adds to the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import torch

from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.llama31.base import base_weights
from podium.reference_runs.llama31.config import Decoder, Llama31, Llama31Large
from podium.reference_runs.llama31.data import (
    LANGUAGE_SEED,
    Language,
    Sequences,
    from_files,
    synthetic,
)
from podium.reference_runs.llama31.model import Llama
from podium.reference_runs.modeling.schedule import cosine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

D = TypeVar("D", bound=Decoder)


class LanguageModel(Task[D]):
    """Next-token prediction; the quality is the mean loss on held-out sequences, in nats."""

    training: Sequences
    evaluation: Sequences

    def language(self) -> Language:
        """The synthetic language of smoke scale."""
        return Language(self.config.vocabulary, LANGUAGE_SEED)

    def prepare(self) -> None:
        """Draw sentences of the synthetic language, or map the tokenised files."""
        config, setting = self.config, self.setting
        if setting.scale == "smoke":
            self.training, self.evaluation = synthetic(self.language(), config, setting.seed)
        else:
            self.training, self.evaluation = from_files(self.data_folder, config)

    def training_data(self) -> Sequences:
        """The sequences that `batches` shares out."""
        return self.training

    def order(self, epoch: int) -> Sequence[int]:
        """As they are stored: they were shuffled when they were made."""
        return range(self.config.train_samples)

    def loss(self, model: nn.Module, batch: Tensor) -> Loss:
        """Cross-entropy summed over tokens; `batch` is (B, L + 1)."""
        batch = batch.to(self.device, non_blocking=True)
        targets_BL = batch[:, 1:]
        return Loss(model(batch[:, :-1], targets_BL), targets_BL.numel())

    def evaluate(self, model: nn.Module) -> float:
        """Mean loss per token of the evaluation sequences, in nats."""
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for indices in self.ranks.portions(range(len(self.evaluation)), EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(indices)
            loss = self.loss(model, batch)
            sums += torch.tensor([float(loss.total), float(loss.items)], device=self.device)
        total, count = self.ranks.sum(sums).tolist()
        return float(total / count)


class Pretraining(LanguageModel[Llama31]):
    """The whole decoder is trained; 405B goes on from a base, which smoke scale makes itself."""

    def language(self) -> Language:
        """For 405B another language than its base's: half of the contexts go on differently."""
        language = super().language()
        large = isinstance(self.config, Llama31Large)
        return language.changed(CHANGED_SHARE, CHANGED_SEED) if large else language

    def build(self) -> nn.Module:
        """The decoder, with random weights or those of the base."""
        model = Llama(self.config)
        if isinstance(self.config, Llama31Large) and self.setting.scale == "smoke":
            model.load_state_dict(base_weights(self.config, self.setting))
        return model

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW; norms' weights do not decay."""
        config = self.config
        parameters = [p for p in model.parameters() if p.requires_grad]
        groups: list[dict[str, Any]] = [
            {"params": [p for p in parameters if p.dim() > 1]},
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
        ]
        adamw = self.optimizer(
            torch.optim.AdamW,
            [group for group in groups if group["params"]],
            betas=(config.opt_adamw_beta_1, config.opt_adamw_beta_2),
            eps=config.opt_adamw_epsilon,
            weight_decay=config.opt_adamw_weight_decay,
        )
        return [adamw]

    def learning_rate(self, step: int) -> float:
        """Linear warm-up, then a cosine down to the end rate."""
        config = self.config
        return cosine(
            step,
            warmup=config.opt_learning_rate_warmup_steps,
            decay=config.opt_learning_rate_decay_steps,
            base=config.opt_base_learning_rate,
            end=config.opt_end_learning_rate,
        )


EVALUATION_BATCH = 32

CHANGED_SHARE, CHANGED_SEED = 0.5, 405

TASK = Pretraining
