"""The BERT task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.bert.base import base_weights, language
from podium.reference_runs.benchmarks.bert.config import Bert as Config
from podium.reference_runs.benchmarks.bert.data import Batch, Pairs, synthetic
from podium.reference_runs.benchmarks.bert.files import Files
from podium.reference_runs.benchmarks.bert.model import Bert
from podium.reference_runs.benchmarks.bert.published import is_transposed, published_names
from podium.reference_runs.engine.order import Permutation
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.language.corpus import UNSCORED
from podium.reference_runs.modeling.optimizers import LAMB
from podium.reference_runs.weights.starting import FILE, fitting, published_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

EVALUATION_BATCH = 64
CHANGED_SHARE, CHANGED_SEED = 0.3, 512
"""Fraction of contexts of smoke scale's language that differ from the base's."""


class MaskedWords(Task[Config]):
    """Predict masked words, and whether a text follows another; the quality is of the words.

    Training continues from the weights of phase 1: those of `base.pt`, under their published names;
    smoke scale generates them.
    """

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("train", "eval", FILE)
    fp8_parts: ClassVar[tuple[str, ...]] = ("blocks.",)

    training: Pairs | Files
    evaluation: Pairs | Files

    def check_settings(self) -> None:
        """Raise RunFault if sequences of that length have too few words to mask."""
        config = self.config
        words, masked = config.max_sequence_length - 3, config.max_predictions_per_seq
        if not 0 < masked <= words:
            raise RunFault(
                f"max_predictions_per_seq is {masked}; expected 1 to {words}, the words of a"
                f" sequence of {config.max_sequence_length}"
            )

    def generated_data(self) -> tuple[Pairs, Pairs]:
        """Pairs of a language, some of whose contexts continue differently from the base's."""
        changed = language(self.config).changed(CHANGED_SHARE, CHANGED_SEED)
        return synthetic(changed, self.config, self.setting.seed)

    def data_from_files(self) -> tuple[Files, Files]:
        """The Wikipedia files."""
        folders = self.data_folder / "train", self.data_folder / "eval"
        training, evaluation = (Files(folder, self.config) for folder in folders)
        self.expected.check_training(folders[0], len(training), "sequences")
        self.expected.check_evaluation(folders[1], len(evaluation), "sequences")
        return training, evaluation

    def order(self, epoch: int) -> Sequence[int]:
        """A permutation by seed and epoch; not a list, which would take a gigabyte."""
        return Permutation(self.config.train_samples, [self.setting.seed, epoch])

    def build(self) -> nn.Module:
        """The model with the weights of phase 1."""
        model = Bert(self.config)
        # A model on the meta device has shapes only and cannot be filled
        if model.word_bias.is_meta:
            return model
        if self.setting.scale == "smoke":
            model.load_state_dict(base_weights(self.config, self.setting))
            return model
        path = self.data_folder / FILE
        weights = published_weights(path)
        own = model.state_dict()
        for name, published in published_names(self.config.layers).items():
            wanted = own[name].T if is_transposed(published) else own[name]
            wanted.copy_(fitting(weights, published, tuple(wanted.shape), path))
        return model

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """LAMB; norms and biases have no decay and use Adam steps."""
        config = self.config
        plain = [p for p in model.parameters() if p.dim() == 1]
        lamb = self.optimizer(
            LAMB,
            [
                {"params": [p for p in model.parameters() if p.dim() > 1]},
                {"params": plain, "weight_decay": 0.0, "adapt": False},
            ],
            betas=(config.opt_lamb_beta_1, config.opt_lamb_beta_2),
            eps=config.opt_epsilon,
            weight_decay=config.opt_lamb_weight_decay_rate,
        )
        return [lamb]

    def learning_rate(self, step: int) -> float:
        """Linear warmup, then the decay, which counts from the first step of training."""
        config = self.config
        # The reference counts from 0, so that its first rate is 0
        step -= 1
        base, warm = config.opt_base_learning_rate, step - config.start_warmup_step
        if warm < config.num_warmup_steps:
            return base * warm / config.num_warmup_steps
        left = max(0.0, 1 - step / config.opt_learning_rate_training_steps)
        rate: float = base * left**config.opt_lamb_learning_rate_decay_poly_power
        return rate

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The mean cross-entropy of words plus that of pairs, as a sum over the words.

        The pairs' mean is multiplied by the number of words of its micro-batch.
        """
        words, relation, near = self._predicted(model, batch)
        count = (near.targets != UNSCORED).sum()
        of_words = F.cross_entropy(words.flatten(0, 1), near.targets.flatten(), reduction="sum")
        return Loss(of_words + count * F.cross_entropy(relation, near.unrelated), count)

    def evaluate(self, model: nn.Module) -> float:
        """Share of the masked words that are predicted correctly, over all ranks."""
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for indices in self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH):
            words, _, near = self._predicted(model, self.evaluation.__getitems__(indices))
            sums[0] += (words.argmax(-1) == near.targets).sum()
            sums[1] += (near.targets != UNSCORED).sum()
        right, count = self.ranks.sum(sums).tolist()
        return float(right / count)

    def _predicted(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Batch]:
        """Scores of words and of relations, and the batch on this rank's device."""
        near = Batch(*(tensor.to(self.device, non_blocking=True) for tensor in batch))
        words, relation = model(near.tokens, near.segments, near.attended, near.positions)
        return words.float(), relation.float(), near


TASK = MaskedWords
