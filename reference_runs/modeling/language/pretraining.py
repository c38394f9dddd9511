"""Next-token prediction as a task, and pretraining from random or published weights."""

from __future__ import annotations

from abc import abstractmethod
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import torch

from podium.reference_runs.engine.machine.precision import TYPES
from podium.reference_runs.engine.order import Permutation
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.decoder import deviation_of
from podium.reference_runs.modeling.language.base import base_weights
from podium.reference_runs.modeling.language.config import DecoderConfig, PretrainingConfig
from podium.reference_runs.modeling.language.corpus import (
    LANGUAGE_SEED,
    UNSCORED,
    Batch,
    Language,
    Sequences,
    synthetic,
)
from podium.reference_runs.modeling.language.files import from_files
from podium.reference_runs.modeling.schedule import cosine
from podium.reference_runs.weights.layout import LLAMA, Layout
from podium.reference_runs.weights.published import Published
from podium.reference_runs.weights.starting import (
    check_start,
    fill,
    fitting,
    published_weights,
    start_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.optim import Optimizer

    from podium.reference_runs.parallel.filling import RandomTensors

D = TypeVar("D", bound=DecoderConfig)
P = TypeVar("P", bound=PretrainingConfig)

CHANGED_SHARE, CHANGED_SEED = 0.5, 405


class Tokens(Protocol):
    """Token sequences in memory or in files."""

    def __len__(self) -> int: ...

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        ...


class LanguageModel(Task[D]):
    """Next-token prediction; the quality is the mean loss on held-out sequences, in nats."""

    files: ClassVar[tuple[str, ...]] = ("train.bin", "validation.bin")
    fp8_parts: ClassVar[tuple[str, ...]] = ("blocks.",)
    plans_evaluation: ClassVar[bool] = True
    layout: ClassVar[Layout] = LLAMA
    """The tensor names of the published model."""

    training: Tokens
    evaluation: Tokens

    def language(self) -> Language:
        """The synthetic language of smoke scale."""
        return Language(self.config.vocabulary, LANGUAGE_SEED)

    @property
    def starts_trained(self) -> bool:
        """Whether the benchmark continues from published weights."""
        return False

    def start_weights(self) -> Path | None:
        """The published weights to start from; None for random or generated ones."""
        if self.setting.weights is not None:
            return self.setting.weights
        if self.setting.scale == "smoke" or not self.starts_trained:
            return None
        return start_path(self.data_folder)

    @property
    def reads_weights(self) -> bool:
        """Whether there are published weights to start from."""
        return self.start_weights() is not None

    def check_files(self) -> None:
        """Check the token files and the weights to start from."""
        super().check_files()
        place = self.start_weights()
        if place is not None:
            check_start(place)

    def check_takes_weights(self) -> None:
        """Raise RunFault if the closed rules require random initial weights."""
        if not self.starts_trained and self.setting.division == "closed":
            raise RunFault(
                f"--weights requires --division open: {self.config.name} starts from random weights"
            )

    def published(self, path: Path, names: Sequence[str]) -> Mapping[str, Tensor]:
        """Published weights in the model's layout, from a folder or a file; raises DataMissing."""
        if path.is_dir():
            return Published(path, self.layout, names)
        return published_weights(path)

    def initial_weights(self, model: nn.Module) -> Callable[[str, torch.Size], Tensor]:
        """The published weights, or random ones with the model's own standard deviations."""
        random, place = super().initial_weights(model), self.start_weights()
        if place is None:
            return random
        weights = self.published(place, [*filterfalse(self.is_new, model.state_dict())])

        def initial(name: str, shape: torch.Size) -> Tensor:
            if self.is_new(name):
                return random(name, shape)
            return fitting(weights, name, tuple(shape), place)

        return initial

    def is_new(self, name: str) -> bool:
        """Whether a tensor is specific to the benchmark, and not in a published model."""
        return False

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values of a tensor that is not published."""
        if len(shape) == 1:
            return torch.ones(shape, device=self.device)
        deviation = deviation_of(name, self.deviation, self.config.layers)
        return draws.normal(name, shape, deviation)

    @property
    def deviation(self) -> float:
        """Standard deviation of random weights."""
        return 0.02

    def generated_data(self) -> tuple[Sequences, Sequences]:
        """Sentences of the synthetic language."""
        return synthetic(self.language(), self.config, self.setting.seed)

    def data_from_files(self) -> tuple[Tokens, Tokens]:
        """The tokenized files."""
        return from_files(self.data_folder, self.config, self.expected)

    def pipelined(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The decoder in stages."""
        from podium.reference_runs.parallel.pipeline import Pipeline

        config, stream = self.config, TYPES.get(self.setting.precision)
        micro, batch = config.gradient_accumulation_steps, config.global_batch_size
        return Pipeline(model, mesh, micro, batch, stream)

    def order(self, epoch: int) -> Sequence[int]:
        """A permutation by seed and epoch, as upstream; not a list, which would take 13 GB."""
        return Permutation(self.config.train_samples, [self.setting.seed, epoch])

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Cross-entropy summed over the scored tokens."""
        tokens_BL, targets_BL = (part.to(self.device, non_blocking=True) for part in batch)
        return Loss(model(tokens_BL, targets_BL), (targets_BL != UNSCORED).sum())

    def evaluate(self, model: nn.Module) -> float:
        """Mean loss per scored token of the evaluation sequences, in nats."""
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for batch in self._evaluation_batches():
            loss = self.loss(model, batch)
            sums += torch.tensor([float(loss.total), float(loss.items)], device=self.device)
        total, count = self.ranks.sum(sums).tolist()
        return float(total / count)

    def _evaluation_batches(self) -> Iterator[Batch]:
        """The rank's part; on a mesh all ranks have equally many batches, for all must join."""
        count = len(self.evaluation)
        for indices in self.evaluation_batches(count):
            yield self.evaluation.__getitems__(indices)
        for _ in range(self.idle_evaluation_batches(count)):
            tokens, targets = self.evaluation.__getitems__([0])
            yield Batch(tokens, torch.full_like(targets, UNSCORED))


class Pretraining(LanguageModel[P]):
    """Training of the whole decoder, from random weights or from a base model.

    At reference scale the base is the published checkpoint: a folder `base` of safetensors, or
    `base.pt` with the model's own tensor names. Smoke scale generates it.
    """

    def language(self) -> Language:
        """The synthetic language; after a base, half of its contexts differ from the base's."""
        language = super().language()
        return language.changed(CHANGED_SHARE, CHANGED_SEED) if self.starts_trained else language

    @abstractmethod
    def decoder(self) -> nn.Module:
        """The model with random weights."""

    def build(self) -> nn.Module:
        """The decoder, with random weights or those of the base."""
        model = self.decoder()
        # A model on the meta device has shapes only and cannot be filled
        if next(model.parameters()).is_meta:
            return model
        path = self.start_weights()
        if path is not None:
            fill(model, self.published(path, [*model.state_dict()]), path)
        elif self.starts_trained:
            model.load_state_dict(self.base())
        return model

    def base(self) -> dict[str, Tensor]:
        """The base weights of smoke scale, generated if they are not cached."""
        return base_weights(self.config, self.setting, lambda _: self.decoder())

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW; without weight decay for norms."""
        parameters = [p for p in model.parameters() if p.requires_grad]
        groups: list[dict[str, Any]] = [
            {"params": [p for p in parameters if p.dim() > 1]},
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
        ]
        return [self.adamw([group for group in groups if group["params"]])]

    def learning_rate(self, step: int) -> float:
        """Linear warmup, then a cosine decay to the end rate."""
        config = self.config
        return cosine(
            step,
            warmup=config.opt_learning_rate_warmup_steps,
            decay=config.opt_learning_rate_decay_steps,
            base=config.opt_base_learning_rate,
            end=config.opt_end_learning_rate,
        )
