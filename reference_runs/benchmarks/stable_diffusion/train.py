"""The Stable Diffusion task of the shared loop."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.stable_diffusion.config import Scores, StableDiffusion
from podium.reference_runs.benchmarks.stable_diffusion.data import (
    EVALUATION_SEED,
    Batch,
    Captions,
    Pairs,
    Samples,
    synthetic,
)
from podium.reference_runs.benchmarks.stable_diffusion.files import (
    EVALUATION,
    NETWORKS,
    TRAINING,
    from_files,
    networks,
)
from podium.reference_runs.benchmarks.stable_diffusion.frozen import Frozen, made
from podium.reference_runs.benchmarks.stable_diffusion.model import UNet
from podium.reference_runs.benchmarks.stable_diffusion.quality import (
    frechet_distance,
    gaussian,
    sums,
)
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import DataMissing, RunFault
from podium.reference_runs.modeling.diffusion import Steps, chances
from podium.reference_runs.modeling.schedule import warmed_up
from podium.reference_runs.modeling.shapes import LENGTH, PATCH, SIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

EVALUATION_BATCH = 64


class Diffusion(Task[StableDiffusion]):
    """Images from captions; the quality is the Fréchet distance and the CLIP score."""

    files: ClassVar[tuple[str, ...]] = (TRAINING, *EVALUATION, *NETWORKS)
    plans_evaluation: ClassVar[bool] = True
    training: Pairs
    evaluation: Captions
    frozen: Frozen

    @cached_property
    def process(self) -> Steps:
        """The noise process."""
        config = self.config
        return Steps(config.process_steps, config.first_beta, config.last_beta)

    def check_settings(self) -> None:
        """Raise RunFault for a number of steps, or for shapes, that sampling does not support."""
        config = self.config
        if not 1 <= config.sampling_steps < config.process_steps:
            raise RunFault(
                f"sampling_steps is {config.sampling_steps}; expected 1 or more, below"
                f" {config.process_steps}"
            )
        if self.setting.scale == "reference":
            return
        for name, drawn in (("latent_size", SIDE // PATCH), ("context_length", LENGTH)):
            if (value := getattr(config, name)) != drawn:
                raise RunFault(f"{name} is {value}; without --data, images have {drawn}")

    def generated_data(self) -> tuple[Pairs, Captions, Frozen]:
        """Generated shapes, and the evaluation networks, which are trained here."""
        frozen, judge = made(self.config, self.setting)
        return *synthetic(self.config, self.setting.seed, frozen, judge), frozen

    def data_from_files(self) -> tuple[Pairs, Captions, Frozen]:
        """Encoded images, captions and networks."""
        pairs = from_files(self.data_folder, self.config, self.expected)
        return *pairs, networks(self.data_folder, self.device)

    def use(self, data: tuple[Pairs, Captions, Frozen]) -> None:
        """Draw noise for the pairs."""
        self.training, self.evaluation, frozen = data
        self.frozen = frozen.to(self.device)
        self._samples = Samples(self.training, self.config, self.setting.seed)

    def training_data(self) -> Samples:
        """The samples that `batches` divides among ranks."""
        return self._samples

    def largest_batch(self) -> Batch:
        """A synthetic batch, with encoded captions (B, L, D), since the encoder is in a file."""
        count, config = self.micro_batch_size, self.config
        image = (count, config.latent_channels, config.latent_size, config.latent_size)
        return Batch(
            latents=torch.zeros(image),
            noise=torch.zeros(image),
            steps=torch.zeros(count, dtype=torch.long),
            words=torch.zeros(count, config.context_length, config.context_width),
        )

    def build(self) -> nn.Module:
        """The U-Net, with random weights."""
        return UNet(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW, with the same decay for every tensor."""
        return [self.adamw(model.parameters())]

    def learning_rate(self, step: int) -> float:
        """Linear warmup to the base rate times the batch, then constant."""
        config = self.config
        rate = config.opt_base_learning_rate * config.global_batch_size
        return warmed_up(step, config.opt_learning_rate_warmup_steps, rate)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Mean squared error of v, summed over samples."""
        latents, noise, steps, words = (part.to(self.device, non_blocking=True) for part in batch)
        noisy, v = self.process.noised(latents, noise, steps)
        if words.is_floating_point():
            text = words  # already encoded
        else:
            with torch.no_grad():
                text = self.frozen.text(words).type_as(latents)
        predicted = model(noisy, steps, text)
        return Loss((predicted.float() - v).square().mean((1, 2, 3)).sum(), len(words))

    def evaluate(self, model: nn.Module) -> float:
        """An image for each caption: their Fréchet distance to real ones, and their CLIP score."""
        real, embedded = self.evaluation.real, torch.from_numpy(self.evaluation.embedded)
        size = len(real.mean) + 1
        added = torch.zeros(size, size, dtype=torch.float64, device=self.device)
        likeness = torch.zeros((), dtype=torch.float64, device=self.device)
        for places in self.ranks.batches_of(range(len(self.evaluation)), EVALUATION_BATCH):
            features, vectors = self._judged(self.generated(model, places))
            check_width(EVALUATION[2], size - 1, NETWORKS[2], features)
            check_width(EVALUATION[1], embedded.shape[1], NETWORKS[3], vectors)
            added += sums(features)
            captions = embedded[list(places)].to(vectors)
            likeness += F.cosine_similarity(vectors, captions, dim=-1).sum()
        distance = frechet_distance(gaussian(self.ranks.sum(added).cpu()), real)
        return Scores(distance, float(self.ranks.sum(likeness)) / len(self.evaluation))

    def evaluate_largest(self, model: nn.Module, batch: Batch) -> None:
        """Two steps of sampling, since all are alike; the networks around the U-Net are omitted."""
        config, count = self.config, self.largest_evaluation_batch(EVALUATION_BATCH)
        start = torch.zeros(count, *batch.latents.shape[1:], device=self.device)
        shape = count, config.context_length, config.context_width
        text, nothing = (torch.zeros(shape, device=self.device) for _ in range(2))
        self.process.sampled(start, 2, self._predictor(model, text, nothing))

    def generated(self, model: nn.Module, places: Sequence[int]) -> Tensor:
        """Latents of captions by index, (B, C, H, W), from noise that depends on the index."""
        config = self.config
        shape = (config.latent_channels, config.latent_size, config.latent_size)
        drawn = (
            chances(EVALUATION_SEED, 0, index).standard_normal(shape, np.float32)
            for index in places
        )
        start = torch.from_numpy(np.stack([*drawn])).to(self.device)
        words = torch.from_numpy(self.evaluation.words[list(places)])
        empty = torch.zeros_like(words)
        empty[:, : len(config.empty_caption)] = torch.tensor(config.empty_caption)
        text, nothing = (self.frozen.text(tokens.to(self.device)) for tokens in (words, empty))
        predict = self._predictor(model, text, nothing)
        return self.process.sampled(start, config.sampling_steps, predict)

    def _predictor(
        self, model: nn.Module, text: Tensor, nothing: Tensor
    ) -> Callable[[Tensor, int], Tensor]:
        """The prediction of v with guidance, away from that for the empty caption."""
        guidance = self.config.guidance

        def predict(x: Tensor, step: int) -> Tensor:
            steps = torch.full((len(x),), step, device=x.device)
            v: Tensor = model(x, steps, text).float()
            if guidance == 1:
                return v
            without: Tensor = model(x, steps, nothing).float()
            return without + guidance * (v - without)

        return predict

    def _judged(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Features and vectors of the images, (B, F) and (B, E), in double precision."""
        # In single precision regardless of the U-Net's: the scores of all runs are comparable
        with torch.autocast(self.device.type, enabled=False):
            images = self.frozen.decoder(latents / self.config.latent_scale)
            features, vectors = self.frozen.features(images), self.frozen.embedding(images)
        return features.flatten(1).double(), vectors.flatten(1).double()


def check_width(file: str, described: int, network: str, output: Tensor) -> None:
    """Raise DataMissing if a network's output does not have the size that a file describes."""
    if output.shape[1] != described:
        raise DataMissing(
            f"{file} describes {described} numbers of each image; {network} gives {output.shape[1]}"
        )


TASK = Diffusion
