"""The interface between the shared loop and a benchmark: only the benchmark-specific parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch

from podium.reference_runs.engine.loading import Loader
from podium.reference_runs.engine.samples import DatasetSize
from podium.reference_runs.errors import DataMissing, RunFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
    from pathlib import Path

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.optim import Optimizer

    from podium.logging_spec import Logger
    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.engine.setting import Setting
    from podium.reference_runs.parallel.filling import RandomTensors

C = TypeVar("C", bound="Config")


class Loss(NamedTuple):
    """A batch's loss as a sum, and the number of items in the sum (samples, tokens, positives).

    The loop divides the sum over all ranks and micro-batches by the number of items, so that a step
    does not depend on how the global batch is divided.
    """

    total: Tensor
    items: Tensor | float


class Task(ABC, Generic[C]):
    """The data, model, loss and metric of one benchmark, called by the loop.

    Order of calls on every rank: `prepare`, `build` and `optimizers` in the untimed part; `stage`
    and `open_data` in the timed part; then for each step `loss`, the loop's backward pass,
    `learning_rate` and `after_step`; at each evaluation `evaluate`. `prepare` uses `generated_data`
    at smoke scale, `open_data` uses `data_from_files` at reference scale.
    """

    training: Sized
    """The training data, set by `use`."""
    evaluation: Sized

    unused_parameters: ClassVar[bool] = False
    """Whether a step may leave some parameters without a gradient (DDP must then find them)."""
    files: ClassVar[tuple[str, ...]] = ()
    """Names of the files that `data_folder` must contain: the dataset and initial weights."""
    data_grow: ClassVar[bool] = False
    """Whether the training data change between epochs by other means than `set_epoch`."""
    fp8_parts: ClassVar[tuple[str, ...]] = ()
    """Name prefixes of layers whose products can be in 8 bits (`--precision fp8`)."""
    plans_evaluation: ClassVar[bool] = False
    """Whether `evaluate_largest` needs as much memory as an evaluation; else plans omit it."""
    keeps_whole: ClassVar[bool] = False
    """Whether every rank of a mesh has all weights, whose gradients DDP then averages."""

    def __init__(self, config: C, setting: Setting, ranks: Ranks) -> None:
        self.config = config
        self.declared = config
        """The config before the samples were counted."""
        self.saved_samples: tuple[int, int] | None = None
        """The number of samples of the data when the checkpoint of a resumed run was written."""
        self.setting = setting
        self.ranks = ranks
        self.device: torch.device = ranks.device
        self._loaders: dict[int, Loader] = {}

    # --- defined by each benchmark ---

    @abstractmethod
    def build(self) -> nn.Module:
        """A newly initialized model, on the CPU or the meta device; depends on `config` alone."""

    @abstractmethod
    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """The optimizers of the model's parameters; create each with `self.optimizer`."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """The loss of one local micro-batch. `model` may be wrapped: only call it."""

    @abstractmethod
    def evaluate(self, model: nn.Module) -> float:
        """The quality on the evaluation data; the same value on every rank.

        The loop has switched the model to evaluation mode, without gradients.
        """

    # --- data ---

    def check_settings(self) -> None:
        """Raise RunFault for invalid settings."""

    def generated_data(self) -> Any:
        """The synthetic data of smoke scale, in the form that `use` accepts."""
        raise NotImplementedError(f"{type(self).__name__} does not generate data")

    def data_from_files(self) -> Any:
        """The real data below `data_folder`, in the form that `use` accepts.

        Raises DataMissing if they are not as the benchmark's README describes.
        """
        raise NotImplementedError(f"{type(self).__name__} does not read files")

    def use(self, data: Any) -> None:
        """Set the data for training and evaluation: by default a pair of both."""
        self.training, self.evaluation = data

    def prepare(self) -> None:
        """Check the settings and generate the synthetic data; read none of the real files."""
        self.check_settings()
        if self.setting.scale == "smoke":
            self.use(self.generated_data())

    def open_data(self) -> None:
        """Open the real files at reference scale, in the timed part."""
        if self.setting.scale == "reference":
            self.use(self.data_from_files())

    def training_data(self) -> Any:
        """A dataset with `__len__` and `__getitems__(indices) -> batch`, for `batches`."""
        return self.training

    # --- defaults that most benchmarks use ---

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1; a group's `scale` multiplies it.

        By default the base rate at every step.
        """
        rate: float = getattr(self.config, self.config.rate_field)
        return rate

    @property
    def data_folder(self) -> Path:
        """The folder of the real dataset; raises DataMissing without `--data`."""
        if self.setting.data is None:
            raise DataMissing("--data is required at reference scale")
        return self.setting.data

    def samples(self) -> tuple[int, int]:
        """The number of training and evaluation samples, as in the log."""
        return len(self.training), len(self.evaluation)

    @property
    def expected(self) -> DatasetSize:
        """The number of samples that the dataset must contain."""
        config = self.config
        exactly = not self.setting.allow_subset
        return DatasetSize(
            training=config.train_samples,
            evaluation=config.eval_samples,
            exactly=exactly,
            more_training=config.samples_are_least,
        )

    def needed_files(self) -> tuple[str, ...]:
        """`files`, and further files that the config needs."""
        return self.files

    def check_files(self) -> None:
        """Raise DataMissing if one of `files` does not exist; none is opened."""
        if self.setting.scale == "smoke":
            return
        for path in (self.data_folder / name for name in self.needed_files()):
            if not path.exists():
                raise DataMissing(f"{path} is missing")

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The model divided along a mesh, with or without weights; by default for decoders."""
        from podium.reference_runs.parallel.sharding import shard

        return shard(model, mesh, self.setting.precision)

    def pipelined(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The module to call instead of the model if this rank has one stage of a pipeline.

        With gradients it is called with all micro-batches as one and runs the backward pass itself.
        """
        raise NotImplementedError(f"{type(self).__name__} has no pipeline stages")

    def initial_weights(self, model: nn.Module) -> Callable[[str, torch.Size], Tensor]:
        """A function from the name and shape of a tensor to its initial values, for a mesh."""
        from podium.reference_runs.parallel.filling import RandomTensors

        return partial(self.initial_tensor, RandomTensors(self.setting.seed, self.device))

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random initial values of one tensor, with the distribution of `build`."""
        raise NotImplementedError(f"{type(self).__name__} cannot be divided along a mesh")

    @property
    def reads_weights(self) -> bool:
        """Whether `initial_weights` reads files."""
        return False

    def check_takes_weights(self) -> None:
        """Raise RunFault if training cannot start from published weights (`--weights`)."""
        raise RunFault(f"--weights: {self.config.name} does not start from published weights")

    def order(self, epoch: int) -> Sequence[int]:
        """The samples of an epoch (from 1) in order; a permutation by seed and epoch."""
        rng = np.random.default_rng([self.setting.seed, epoch])
        order: Sequence[int] = rng.permutation(self.config.train_samples)  # type: ignore[assignment]
        return order

    def batches(self, epoch: int, first: int) -> Iterator[Any]:
        """The local micro-batches of an epoch, from its step `first` (0 is the epoch's start).

        `gradient_accumulation_steps` of them make one optimizer step.
        """
        indices = self._local_indices(self.order(epoch), first)
        yield from self.loaded(self.training_data(), indices, epoch)

    def largest_batch(self) -> Any:
        """A micro-batch of meaningless values with the most samples and the largest shapes.

        None if drawing one takes no more memory than a step; for plans at reference scale.
        """
        return None

    def evaluate_largest(self, model: nn.Module, batch: Any) -> None:
        """Compute the largest batch of an evaluation; for plans, whose tensors have no values.

        Masks select everything, and numbers that are read are 1.
        `batch` is a micro-batch of training. By default the forward pass of `loss` on it, which
        suffices if an evaluation needs no more memory.
        """
        self.loss(model, batch)

    def largest_evaluation_batch(self, most: int) -> int:
        """Samples in the largest batch of a rank that evaluates at most `most` at once."""
        return min(most, -(-self.config.eval_samples // self.ranks.world))

    def loaded(self, data: Any, indices: Iterable[Sequence[int]], epoch: int = 0) -> Iterator[Any]:
        """Batches of a dataset by the indices of each, loaded by `config.workers` processes."""
        known = self._loaders.get(id(data))
        if known is None or self.data_grow:
            pinned = self.device.type == "cuda"
            known = self._loaders[id(data)] = Loader(data, self.config.workers, pinned=pinned)
        return known.batches(indices, epoch)

    @property
    def micro_batch_size(self) -> int:
        """Samples per micro-batch of a rank."""
        parts = self.config.gradient_accumulation_steps * self.ranks.world
        return self.config.global_batch_size // parts

    def evaluation_batches(self, count: int, most: int | None = None) -> list[Sequence[int]]:
        """The rank's part of the evaluation samples, divided like the training data.

        A batch has at most as many samples as in training, and at most `most`.
        """
        return self.ranks.batches_of(range(count), self._evaluated_at_once(most))

    def idle_evaluation_batches(self, count: int) -> int:
        """How many fewer batches this rank has than others; on a mesh, all must join in."""
        return self.ranks.idle_batches(count, self._evaluated_at_once(None))

    def _evaluated_at_once(self, most: int | None) -> int:
        size = self.micro_batch_size
        return size if most is None else min(size, most)

    def _local_indices(self, order: Sequence[int], first: int) -> Iterator[list[int]]:
        """The rank's part of each micro-batch: consecutive samples of the global batch."""
        size, parts = self.config.global_batch_size, self.config.gradient_accumulation_steps
        share = self.micro_batch_size
        for step in range(first, self.config.steps_per_epoch):
            for part in range(parts):
                begin = step * size + (part * self.ranks.world + self.ranks.rank) * share
                yield np.asarray(order[begin : begin + share]).tolist()

    def clip(self, parameters: Sequence[nn.Parameter]) -> None:
        """Clip the gradient norm if the config has `opt_gradient_clip_norm`."""
        limit = getattr(self.config, "opt_gradient_clip_norm", None)
        if limit and self.ranks.mesh is not None:
            from podium.reference_runs.parallel.sharding import clip

            clip(parameters, limit, self.ranks.mesh)
        elif limit:
            torch.nn.utils.clip_grad_norm_(parameters, limit)

    def after_step(self, model: nn.Module, step: int) -> None:
        """Work after an optimizer step, such as an average of weights."""

    def stage(self, log: Logger) -> None:
        """Stage the data (HPC): log `staging_start` and `staging_stop` around the copy."""

    def read_in_place(self) -> None:
        """Make `open_data` read the data in place, instead of `stage`, outside of a run."""

    def optimizer(self, kind: type[Optimizer], groups: Any, **settings: Any) -> Optimizer:
        """An optimizer; with `setting.shard` each rank keeps the state of its share of the tensors.

        The loop sets the learning rate at every step, from `learning_rate`.
        """
        settings.setdefault("lr", 1.0)
        if self.ranks.mesh is not None:
            from podium.reference_runs.parallel.sharding import groups_by_mesh

            groups = groups_by_mesh(groups)
        if self.device.type == "cuda" and kind in FUSED:
            settings["fused"] = True
        if not self.setting.shard or self.ranks.world == 1:
            return kind(groups, **settings)
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return ZeroRedundancyOptimizer(groups, kind, **settings)

    def adam(
        self, groups: Any, kind: type[Optimizer] = torch.optim.Adam, **settings: Any
    ) -> Optimizer:
        """Adam with the config fields that are named like its log keys."""
        config: Any = self.config
        betas = config.opt_adam_beta_1, config.opt_adam_beta_2
        return self.optimizer(kind, groups, betas=betas, eps=config.opt_adam_epsilon, **settings)

    def adamw(self, groups: Any) -> Optimizer:
        """AdamW with the config fields that are named like its log keys.

        A group may have a separate `weight_decay`.
        """
        config: Any = self.config
        return self.optimizer(
            torch.optim.AdamW,
            groups,
            betas=(config.opt_adamw_beta_1, config.opt_adamw_beta_2),
            eps=config.opt_adamw_epsilon,
            weight_decay=config.opt_adamw_weight_decay,
        )


FUSED = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)
"""Optimizers with a fused step on a GPU: faster, without copies as large as the model."""
