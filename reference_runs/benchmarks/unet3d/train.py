"""The 3D U-Net task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.unet3d.config import UNet3D
from podium.reference_runs.benchmarks.unet3d.data import (
    Patches,
    Source,
    from_files,
    padded,
    synthetic,
)
from podium.reference_runs.benchmarks.unet3d.evaluation import dice, dice_loss, segment
from podium.reference_runs.benchmarks.unet3d.model import SegmentationNet
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.modeling.schedule import stepped, warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.optim import Optimizer


class Segmentation(Task[UNet3D]):
    """Segmentation of volumes; the quality is the mean Dice score of kidney and tumor."""

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("evaluation_cases.txt",)
    keeps_whole: ClassVar[bool] = True

    training: Patches
    evaluation: Source

    def generated_data(self) -> tuple[Source, Source]:
        """Generated volumes."""
        config, seed = self.config, self.setting.seed
        counts = config.train_samples, config.eval_samples
        training, evaluation = synthetic(counts, config.volume_size, seed)
        if config.shuffled_labels:
            training.shuffle(np.random.default_rng([seed, 0x5FF]))
        return training, evaluation

    def data_from_files(self) -> tuple[Source, Source]:
        """The cases' files."""
        return from_files(self.data_folder, self.config, self.expected)

    def use(self, data: tuple[Source, Source]) -> None:
        """Set the training patches and the evaluation volumes."""
        self.training, self.evaluation = Patches(data[0], self.config, self.setting.seed), data[1]

    def build(self) -> nn.Module:
        """The network, with random weights."""
        model = SegmentationNet(self.config)
        model.to(memory_format=torch.channels_last_3d)  # type: ignore[call-overload]
        return model

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The network for parts of volumes; its logits are whole."""
        from podium.reference_runs.parallel.spatial import divide

        return divide(model, mesh, gathers=True)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """SGD with Nesterov's momentum."""
        config = self.config
        sgd = self.optimizer(
            torch.optim.SGD,
            list(model.parameters()),
            momentum=config.opt_momentum,
            nesterov=True,
            weight_decay=config.opt_weight_decay,
        )
        return [sgd]

    def learning_rate(self, step: int) -> float:
        """Linear warmup, then step decay after the boundary epochs, if there are any."""
        config = self.config
        epochs = config.steps_per_epoch
        warmup = config.opt_learning_rate_warmup_epochs * epochs
        base, start = config.opt_base_learning_rate, config.opt_initial_learning_rate
        boundaries = tuple(
            boundary * epochs for boundary in config.opt_learning_rate_decay_boundary_epochs
        )
        factors = (config.opt_learning_rate_decay_factor,) * len(boundaries)
        falls = stepped(step, boundaries=boundaries, factors=factors)
        return warmed_up(step, warmup, base, min(base, start)) * falls

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Loss:
        """Half the soft Dice loss and half the cross-entropy, summed over patches."""
        images, labels = (tensor.to(self.device, non_blocking=True) for tensor in batch)
        scores = model(images).float()
        entropy = F.cross_entropy(scores, labels, reduction="none").flatten(1).mean(1)
        return Loss((dice_loss(scores, labels) + entropy).sum() / 2, len(labels))

    def evaluate(self, model: nn.Module) -> float:
        """Mean Dice score over classes and volumes, each segmented by sliding windows."""
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for index in self.ranks.share(range(len(self.evaluation))):
            case = padded(self.evaluation.case(index), self.config.validation_input_shape)
            image = torch.from_numpy(case.image).to(self.device)
            label = torch.from_numpy(case.label.astype(np.int64)).to(self.device)
            score = dice(segment(model, image, self.config, self.micro_batch_size), label).mean()
            sums += torch.stack([score, torch.ones_like(score)])
        total, count = self.ranks.sum(sums).tolist()
        return float(total / count)


TASK = Segmentation
