"""What translation adds to the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.transformer.config import Transformer
from podium.reference_runs.benchmarks.transformer.data import Pairs, from_files, synthetic
from podium.reference_runs.benchmarks.transformer.decoding import beam_search
from podium.reference_runs.benchmarks.transformer.model import PAD, Translator
from podium.reference_runs.engine.task import Loss, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer


class Translation(Task[Transformer]):
    """Sentences from one language into another; the quality is the corpus BLEU of a beam search."""

    files: ClassVar[tuple[str, ...]] = ("vocabulary.txt",)

    training: Pairs
    evaluation: Pairs
    references: list[str]

    def generated_data(self) -> tuple[Pairs, Pairs, list[str]]:
        """Pairs of the toy languages."""
        config, seed = self.config, self.setting.seed
        counts = config.train_samples, config.eval_samples
        training, evaluation = synthetic(config.vocabulary, counts, seed)
        references = [evaluation.text(ids) for ids in evaluation.target]
        if config.shuffled_labels:
            training = training.shuffled(seed)
        return training, evaluation, references

    def data_from_files(self) -> tuple[Pairs, Pairs, list[str]]:
        """The sentences of WMT17, cut into sub-words."""
        return from_files(self.data_folder, self.config, self.expected)

    def use(self, data: tuple[Pairs, Pairs, list[str]]) -> None:
        """Pairs to train on and to evaluate on, and the references of the latter."""
        self.training, self.evaluation, self.references = data
        self.lengths = self.training.lengths()

    def order(self, epoch: int) -> Sequence[int]:
        """Batches of sentences of like length in random order, so that little is padded."""
        size = self.config.global_batch_size
        rng = np.random.default_rng([self.setting.seed, epoch])
        order = rng.permutation(len(self.training))
        windows = np.array_split(order, max(1, len(order) // (size * WINDOW)))
        sorted_by_length = np.concatenate([part[self.lengths[part].argsort()] for part in windows])
        whole = len(order) // size * size
        batches = sorted_by_length[:whole].reshape(-1, size)
        mixed: Sequence[int] = rng.permutation(batches).flatten()  # type: ignore[assignment]
        return mixed

    def build(self) -> nn.Module:
        """Encoder and decoder, with random weights."""
        return Translator(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam."""
        return [self.adam(model.parameters())]

    def learning_rate(self, step: int) -> float:
        """Base rate · width^-½ · min(1, step/W) · max(step, W)^-½ with W warm-up steps."""
        config = self.config
        warmup = max(1, config.opt_learning_rate_warmup_steps)
        scale = config.opt_base_learning_rate * config.width**-0.5
        return float(scale * min(1.0, step / warmup) * max(step, warmup) ** -0.5)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Loss:
        """Cross-entropy with smoothed labels, summed over target words and END."""
        source_BS, target_BL = (side.to(self.device, non_blocking=True) for side in batch)
        scores_BLV = model(source_BS, target_BL)
        total = F.cross_entropy(
            scores_BLV.flatten(0, 1).float(),
            target_BL.flatten(),
            ignore_index=PAD,
            label_smoothing=self.config.label_smoothing,
            reduction="sum",
        )
        return Loss(total, (target_BL != PAD).sum())

    def evaluate(self, model: nn.Module) -> float:
        """BLEU of all translations as a fraction, without regard to case."""
        from sacrebleu import corpus_bleu

        assert isinstance(model, Translator)
        # A batch takes as many steps as its longest sentence
        by_length = self.evaluation.lengths().argsort().tolist()
        translated: list[tuple[int, str]] = []
        for indices in self.ranks.batches_of(by_length, EVALUATION_BATCH):
            source_BS = self.evaluation.__getitems__(indices)[0].to(self.device)
            found = beam_search(model, source_BS, self.config)
            texts = (self.evaluation.text(ids) for ids in found)
            translated += zip(indices, texts, strict=True)
        everything = dict(pair for part in self.ranks.gather(translated) for pair in part)
        hypotheses = [everything[index] for index in range(len(self.evaluation))]
        bleu = corpus_bleu(hypotheses, [self.references], lowercase=True)
        return float(bleu.score / 100)


WINDOW = 16
"""Batches among which sentences are sorted by length."""
EVALUATION_BATCH = 100

TASK = Translation
