"""What Llama 3.1 pretraining adds to the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from reference_runs.errors import DataMissing
from reference_runs.llama31.config import Llama31
from reference_runs.llama31.data import Sequences, from_files, synthetic
from reference_runs.llama31.model import Llama
from reference_runs.schedule import cosine
from reference_runs.task import Loss, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer


class Pretraining(Task[Llama31]):
    """Next-token prediction; the quality is the mean loss on held-out sequences."""

    training: Sequences
    evaluation: Sequences

    def prepare(self) -> None:
        """Draw sentences of a synthetic language, or map the tokenised files."""
        config, setting = self.config, self.setting
        counts = config.train_samples, config.eval_samples
        length = config.max_sequence_length
        if setting.scale == "smoke":
            self.training, self.evaluation = synthetic(
                config.vocabulary, length, counts, setting.seed
            )
        elif setting.data is None:
            raise DataMissing("--data is needed at reference scale: train.bin and validation.bin")
        else:
            self.training, self.evaluation = from_files(setting.data, length, counts)

    def training_data(self) -> Sequences:
        """The sequences that `batches` shares out."""
        return self.training

    def order(self, epoch: int) -> Sequence[int]:
        """As the files have them: they were shuffled when they were made."""
        return range(len(self.training))

    def build(self) -> nn.Module:
        """The decoder, with random weights."""
        return Llama(self.config)

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

    def loss(self, model: nn.Module, batch: Tensor) -> Loss:
        """Cross-entropy summed over tokens; `batch` is (B, L + 1)."""
        batch = batch.to(self.device, non_blocking=True)
        scores_BLV = model(batch[:, :-1])
        targets_BL = batch[:, 1:]
        total = F.cross_entropy(
            scores_BLV.flatten(0, 1).float(), targets_BL.flatten(), reduction="sum"
        )
        return Loss(total, targets_BL.numel())

    def evaluate(self, model: nn.Module) -> float:
        """Mean loss per token of the evaluation sequences, in nats."""
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        mine = self.ranks.share(range(len(self.evaluation)))
        for begin in range(0, len(mine), EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(mine[begin : begin + EVALUATION_BATCH])
            loss = self.loss(model, batch)
            sums += torch.tensor([float(loss.total), float(loss.items)], device=self.device)
        total, count = self.ranks.sum(sums).tolist()
        return float(total / count)


EVALUATION_BATCH = 32

TASK = Pretraining
