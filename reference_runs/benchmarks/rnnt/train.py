"""The speech recognition task of the shared loop."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from podium.reference_runs.benchmarks.rnnt.config import RnnT
from podium.reference_runs.benchmarks.rnnt.data import Batch, Utterances, from_files, synthetic
from podium.reference_runs.benchmarks.rnnt.model import (
    Transducer,
    encode_and_extend,
    greedy,
)
from podium.reference_runs.benchmarks.rnnt.transducer import transducer_loss
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.modeling.ema import Averaged
from podium.reference_runs.modeling.optimizers import LAMB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer


class Recognition(Task[RnnT]):
    """Speech recognition; the quality is the word error rate of greedy decoding."""

    files: ClassVar[tuple[str, ...]] = ("librispeech1023.vocab",)
    plans_evaluation: ClassVar[bool] = True

    training: Utterances
    evaluation: Utterances

    def generated_data(self) -> tuple[Utterances, Utterances]:
        """Utterances of the toy language."""
        config, seed = self.config, self.setting.seed
        training, evaluation = synthetic(config, seed)
        if config.shuffled_labels:
            order = np.random.default_rng(seed).permutation(len(training))
            training = replace(training, texts=[training.texts[index] for index in order])
        return training, evaluation

    def data_from_files(self) -> tuple[Utterances, Utterances]:
        """LibriSpeech, from its manifests."""
        return from_files(self.data_folder, self.config, self.setting.seed, self.expected)

    def order(self, epoch: int) -> Sequence[int]:
        """Batches from buckets of utterances of similar duration, all in random order."""
        size = self.config.global_batch_size
        rng = np.random.default_rng([self.setting.seed, epoch])
        by_length = np.argsort(np.asarray(self.training.seconds), kind="stable")
        buckets = np.array_split(by_length, self.config.data_train_num_buckets)
        order = np.concatenate([rng.permutation(bucket) for bucket in buckets])
        # The utterances that are dropped differ from epoch to epoch.
        begin = int(rng.integers(0, len(order) % size + 1))
        whole = order[begin : begin + len(order) // size * size].reshape(-1, size)
        mixed: Sequence[int] = rng.permutation(whole).flatten()  # type: ignore[assignment]
        return mixed

    def largest_batch(self) -> Batch:
        """Utterances of the maximum duration at the lowest speed, with as many symbols as possible.

        The bound of symbols is that of predictions. Transcripts are usually shorter.
        """
        count, config = self.micro_batch_size, self.config
        seconds = config.data_train_max_duration / config.data_speed_perturbaton_min
        features, symbols = self._silent(count, seconds), config.eval_max_prediction_symbols
        return Batch(
            features=features,
            frames=torch.full((count,), features.shape[1]),
            symbols=torch.zeros(count, symbols, dtype=torch.long),
            counts=torch.full((count,), symbols),
            indices=(*range(count),),
        )

    def _silent(self, count: int, seconds: float) -> Tensor:
        """Features of utterances of a duration, (B, T, F)."""
        config = self.config
        frames = math.ceil(seconds / config.hop_seconds)
        stacked = -(-frames // config.stacked_frames)
        return torch.zeros(count, stacked, config.stacked_frames * config.mel_bands)

    def build(self) -> nn.Module:
        """The transducer with random weights, and their average."""
        return Averaged(Transducer(self.config))

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """LAMB, with decay on all weights."""
        config = self.config
        lamb = self.optimizer(
            LAMB,
            [parameter for parameter in model.parameters() if parameter.requires_grad],
            betas=(config.opt_lamb_beta_1, config.opt_lamb_beta_2),
            eps=config.opt_lamb_epsilon,
            weight_decay=config.opt_weight_decay,
        )
        return [lamb]

    def learning_rate(self, step: int) -> float:
        """Linear warmup over some epochs, a hold, then a decay per epoch."""
        config, epoch_steps = self.config, self.config.steps_per_epoch
        warmup, base = config.opt_learning_rate_warmup_epochs, config.opt_base_learning_rate
        if step <= warmup * epoch_steps:
            # One more than the warmup's steps, as in the reference: the base rate comes right after
            return base * step / (warmup * epoch_steps + 1)
        past = (
            math.floor((step - 1) / epoch_steps)
            - warmup
            - config.opt_lamb_learning_rate_hold_epochs
        )
        decayed = base * config.opt_lamb_learning_rate_decay_poly_power ** max(0, past)
        # The floor must not raise a lower base rate, such as 0 in a run without learning
        return max(min(base, config.opt_lamb_learning_rate_min), decayed)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The negative log probability of the transcripts, summed over utterances."""
        features, frames, symbols, counts = (part.to(self.device) for part in batch[:4])
        scores = model(features, symbols)
        total = transducer_loss(scores, symbols, -(-frames // 2), counts).sum()
        return Loss(total, len(batch.indices))

    def after_step(self, model: nn.Module, step: int) -> None:
        """Update the average."""
        assert isinstance(model, Averaged)
        model.follow(self.config.model_eval_ema_factor)

    def evaluate_largest(self, model: nn.Module, batch: Batch) -> None:
        """The encoder and a step of decoding, for utterances of the maximum duration."""
        assert isinstance(model, Averaged)
        known: Utterances | None = getattr(self, "evaluation", None)
        seconds = max(known.seconds) if known else LONGEST_EVALUATED
        count = self.largest_evaluation_batch(EVALUATION_BATCH)
        encode_and_extend(model.average, self._silent(count, seconds).to(self.device))

    def evaluate(self, model: nn.Module) -> float:
        """Inserted, deleted and replaced words, divided by the number of spoken words."""
        from torchmetrics.functional.text import word_error_rate

        assert isinstance(model, Averaged)
        by_length = np.argsort(self.evaluation.seconds).tolist()
        heard: list[tuple[int, str]] = []
        for indices in self.ranks.batches_of(by_length, EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(indices)
            heard += zip(batch.indices, self._texts(model.average, batch), strict=True)
        everything = dict(pair for part in self.ranks.gather(heard) for pair in part)
        texts = [everything[index] for index in range(len(self.evaluation))]
        return float(word_error_rate(texts, list(self.evaluation.texts)))

    def _texts(self, model: Transducer, batch: Batch) -> list[str]:
        features, frames = batch.features.to(self.device), batch.frames.to(self.device)
        limit = self.config.eval_max_prediction_symbols
        decoded = greedy(model, features, -(-frames // 2), limit)
        return [self.evaluation.pieces.text(ids) for ids in decoded]


EVALUATION_BATCH = 512
LONGEST_EVALUATED = 35.0
"""Seconds of an utterance for plans without data; those of LibriSpeech's dev-clean have fewer."""

TASK = Recognition
