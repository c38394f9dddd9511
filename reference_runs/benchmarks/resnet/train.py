"""The ResNet task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.resnet.config import ResNet
from podium.reference_runs.benchmarks.resnet.data import (
    Centres,
    Crops,
    Source,
    images_in,
    normalise,
    synthetic,
)
from podium.reference_runs.benchmarks.resnet.model import ResidualNet
from podium.reference_runs.engine.spans import check_span
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.optimizers import LARS
from podium.reference_runs.modeling.schedule import polynomial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.optim import Optimizer

EVALUATION_BATCH = 125  # Divides the evaluation sets of both scales


class Classification(Task[ResNet]):
    """Image classification; the quality is the share of correctly classified evaluation images."""

    plans_evaluation: ClassVar[bool] = True
    keeps_whole: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("train", "val")

    training: Crops
    evaluation: Centres

    def check_settings(self) -> None:
        """Raise RunFault if the batch cannot be normalized in groups."""
        check_span(self, "model_bn_span", "images")

    def generated_data(self) -> tuple[Source, Source]:
        """Generated images."""
        config, seed = self.config, self.setting.seed
        counts = config.train_samples, config.eval_samples
        training, evaluation = synthetic(counts, config.image_size, seed)
        if config.shuffled_labels:
            training.labels = np.random.default_rng([seed, 0x5FF]).permutation(training.labels)
        return training, evaluation

    def data_from_files(self) -> tuple[Source, Source]:
        """ImageNet's images."""
        folder, classes, expected = self.data_folder, self.config.classes, self.expected
        training, evaluation = (images_in(folder / part, classes) for part in self.files)
        expected.check_training(folder / "train", len(training.labels), "images")
        expected.check_evaluation(folder / "val", len(evaluation.labels), "images")
        return training, evaluation

    def use(self, data: tuple[Source, Source]) -> None:
        """Crop the images: randomly for training, at the center for evaluation."""
        config, (training, evaluation) = self.config, data
        self.training = Crops(training, config.image_size, config.least_area, self.setting.seed)
        self.evaluation = Centres(evaluation, config.image_size)

    def build(self) -> nn.Module:
        """The network, with random weights."""
        model = ResidualNet(self.config)
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return model

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The network for parts of images; its output is whole."""
        from podium.reference_runs.parallel.spatial import divide

        return divide(model, mesh, gathers=False)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """LARS or SGD with momentum; norms and biases have neither decay nor adaptation."""
        config = self.config
        tensors = [p for p in model.parameters() if p.dim() > 1]
        vectors = [p for p in model.parameters() if p.dim() <= 1]
        groups: list[dict[str, Any]] = [
            {"params": tensors},
            {"params": vectors, "weight_decay": 0.0},
        ]
        if config.opt_name == "lars":
            groups[1]["adapt"] = False
            lars = self.optimizer(
                LARS,
                groups,
                momentum=config.lars_opt_momentum,
                weight_decay=config.lars_opt_weight_decay,
                eps=config.lars_epsilon,
            )
            return [lars]
        if config.opt_name != "sgd":
            raise RunFault(f"opt_name is {config.opt_name}; expected sgd or lars")
        sgd = self.optimizer(
            torch.optim.SGD,
            groups,
            momentum=config.sgd_opt_momentum,
            weight_decay=config.sgd_opt_weight_decay,
        )
        return [sgd]

    def learning_rate(self, step: int) -> float:
        """Linear warmup, then decay to the end rate, quadratic unless the power is changed."""
        base, end, epochs, decay, power = self.config.schedule
        warmup = epochs * self.config.steps_per_epoch
        return polynomial(step, warmup=warmup, decay=decay, base=base, end=end, power=power)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Loss:
        """Cross-entropy with label smoothing, summed over images."""
        images, labels = (tensor.to(self.device, non_blocking=True) for tensor in batch)
        # Normalized on the device, since bytes are a quarter of the size of floats
        scores = model(normalise(images)).float()
        smoothing = self.config.label_smoothing
        total = F.cross_entropy(scores, labels, reduction="sum", label_smoothing=smoothing)
        return Loss(total, len(labels))

    def after_step(self, model: nn.Module, step: int) -> None:
        """Average the running statistics over all ranks, as if one rank had all samples."""
        self.ranks.average(model.buffers())

    def evaluate(self, model: nn.Module) -> float:
        """Top-1 accuracy."""
        counts = torch.zeros(2, dtype=torch.float64, device=self.device)
        parts = self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH)
        for batch in self.loaded(self.evaluation, parts):
            images, labels = (tensor.to(self.device) for tensor in batch)
            right = (model(normalise(images)).argmax(-1) == labels).sum()
            counts += torch.stack([right, torch.full_like(right, len(labels))])
        right, count = self.ranks.sum(counts).tolist()
        return float(right / count)


TASK = Classification
