"""What Llama 3.1 pretraining adds to the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import torch

from podium.reference_runs.engine.order import Permutation
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.llama31.base import base_weights, fill, published_weights
from podium.reference_runs.llama31.config import Decoder, Llama31, Llama31Large
from podium.reference_runs.llama31.data import (
    LANGUAGE_SEED,
    UNSCORED,
    Batch,
    Language,
    synthetic,
)
from podium.reference_runs.llama31.files import from_files
from podium.reference_runs.llama31.model import Llama
from podium.reference_runs.modeling.schedule import cosine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn
    from torch.optim import Optimizer

D = TypeVar("D", bound=Decoder)


class Tokens(Protocol):
    """Token sequences, wherever they are."""

    def __len__(self) -> int: ...

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        ...


class LanguageModel(Task[D]):
    """Next-token prediction; the quality is the mean loss on held-out sequences, in nats."""

    files: ClassVar[tuple[str, ...]] = ("train.bin", "validation.bin")

    training: Tokens
    evaluation: Tokens

    def language(self) -> Language:
        """The synthetic language of smoke scale."""
        return Language(self.config.vocabulary, LANGUAGE_SEED)

    def prepare(self) -> None:
        """Draw sentences of the synthetic language."""
        if self.setting.scale == "smoke":
            language, seed = self.language(), self.setting.seed
            self.training, self.evaluation = synthetic(language, self.config, seed)

    def open_data(self) -> None:
        """Map the tokenised files."""
        if self.setting.scale == "reference":
            self.training, self.evaluation = from_files(self.data_folder, self.config, self.wanted)

    def training_data(self) -> Tokens:
        """The sequences that `batches` shares out."""
        return self.training

    def order(self, epoch: int) -> Sequence[int]:
        """Another order for each seed and epoch, as upstream's; no list, which would take 13 GB."""
        return Permutation(self.config.train_samples, [self.setting.seed, epoch])

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Cross-entropy summed over the tokens that count."""
        tokens_BL, targets_BL = (part.to(self.device, non_blocking=True) for part in batch)
        return Loss(model(tokens_BL, targets_BL), (targets_BL != UNSCORED).sum())

    def evaluate(self, model: nn.Module) -> float:
        """Mean loss per token that counts of the evaluation sequences, in nats."""
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for indices in self.ranks.portions(range(len(self.evaluation)), EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(indices)
            loss = self.loss(model, batch)
            sums += torch.tensor([float(loss.total), float(loss.items)], device=self.device)
        total, count = self.ranks.sum(sums).tolist()
        return float(total / count)


class Pretraining(LanguageModel[Llama31]):
    """The whole decoder is trained; 405B goes on from a base, which smoke scale makes itself.

    At reference scale the base is the published checkpoint, `base.pt`, in the model's own names.
    """

    def needed_files(self) -> tuple[str, ...]:
        """The tokens' files and, for 405B, the weights that training begins with."""
        return (*self.files, BASE) if isinstance(self.config, Llama31Large) else self.files

    def language(self) -> Language:
        """For 405B another language than its base's: half of the contexts go on differently."""
        language = super().language()
        large = isinstance(self.config, Llama31Large)
        return language.changed(CHANGED_SHARE, CHANGED_SEED) if large else language

    def build(self) -> nn.Module:
        """The decoder, with random weights or those of the base."""
        model = Llama(self.config)
        # A model on the meta device has shapes only, which nothing can fill
        if not isinstance(self.config, Llama31Large) or next(model.parameters()).is_meta:
            return model
        if self.setting.scale == "smoke":
            model.load_state_dict(base_weights(self.config, self.setting))
        else:
            path = self.data_folder / BASE
            fill(model, published_weights(path), path)
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

BASE = "base.pt"

CHANGED_SHARE, CHANGED_SEED = 0.5, 405

TASK = Pretraining
