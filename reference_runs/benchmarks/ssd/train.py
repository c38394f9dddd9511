"""The SSD task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.ssd.boxes import default_boxes
from podium.reference_runs.benchmarks.ssd.config import Ssd
from podium.reference_runs.benchmarks.ssd.data import Crops
from podium.reference_runs.benchmarks.ssd.detection import detect, losses
from podium.reference_runs.benchmarks.ssd.model import Detector
from podium.reference_runs.engine.spans import check_span
from podium.reference_runs.modeling.detection.backbone import load_backbone
from podium.reference_runs.modeling.detection.scenes import Batch, Files
from podium.reference_runs.modeling.detection.task import Detection
from podium.reference_runs.modeling.schedule import stepped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.modeling.detection.precision import Detections
    from podium.reference_runs.modeling.detection.scenes import Source
    from podium.reference_runs.modeling.detection.share import Level

TRAINING, EVALUATION = (f"annotations/instances_{part}2017.json" for part in ("train", "val"))

MOST_OBJECTS = 93
"""Objects of the fullest training image of COCO 2017, for plans."""


class SingleShotDetection(Detection[Ssd]):
    """Detection with default boxes and hard negatives."""

    files: ClassVar[tuple[str, ...]] = (TRAINING, EVALUATION, "backbone.pt")

    def check_settings(self) -> None:
        """Raise RunFault if the batch cannot be normalized in groups."""
        check_span(self, "model_bn_span", "images")

    def all_anchors(self) -> Tensor:
        """The default boxes."""
        return default_boxes(self.config)

    def levels(self) -> Sequence[Level]:
        """The backbone's map and those of the blocks after it."""
        return [*zip(self.config.sides(), self.config.shapes(), strict=True)]

    def data_from_files(self) -> tuple[Source, Source]:
        """COCO's images; those without objects only for evaluation."""
        config, folder, expected = self.config, self.data_folder, self.expected
        classes, side = config.classes, config.image_size
        training = Files(folder / TRAINING, folder / "train2017", classes, empty=False)
        expected.check_training(training.path, len(training), "images with objects")
        evaluation = Files(folder / EVALUATION, folder / "val2017", classes, side=side)
        expected.check_evaluation(evaluation.path, len(evaluation), "images")
        return training, evaluation

    def use(self, data: tuple[Source, Source]) -> None:
        """Crop training scenes at random."""
        side, attempts = self.config.image_size, self.config.max_samples
        self.training = Crops(data[0], self.setting.seed, side, attempts)
        self.evaluation = Crops(data[1], None, side, attempts)

    def largest_batch(self) -> Batch:
        """Images with as many objects as the fullest one."""
        count, side = self.micro_batch_size, self.config.image_size
        return Batch(
            torch.zeros(count, side, side, 3, dtype=torch.uint8).permute(0, 3, 1, 2),
            torch.zeros(count, MOST_OBJECTS, 4),
            torch.zeros(count, MOST_OBJECTS, dtype=torch.int64),
        )

    def build(self) -> nn.Module:
        """The detector; at reference scale, its backbone is trained on ImageNet."""
        model = Detector(self.config)
        if self.setting.scale == "reference" and not next(model.parameters()).is_meta:
            load_backbone(model.body, self.data_folder / "backbone.pt", "ResNet-34")
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return model

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """SGD with momentum; norms and biases decay as well."""
        config = self.config
        momentum, decay = config.opt_momentum, config.opt_weight_decay
        sgd = torch.optim.SGD
        return [self.optimizer(sgd, model.parameters(), momentum=momentum, weight_decay=decay)]

    def learning_rate(self, step: int) -> float:
        """Linear warmup from a part of the base rate, then the base rate with two decays."""
        config = self.config
        base, warmup = config.opt_base_learning_rate, config.opt_learning_rate_warmup_steps
        epochs = config.opt_learning_rate_decay_boundary_epochs
        boundaries = tuple(epoch * config.steps_per_epoch for epoch in epochs)
        factors = (config.opt_learning_rate_decay_factor,) * len(boundaries)
        base *= stepped(step, boundaries=boundaries, factors=factors)
        missing = max(0, warmup - (step - 1)) / warmup
        return float(base - base * missing / 2**config.opt_learning_rate_warmup_factor)

    def losses(self, output: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        """Cross-entropy and box error, by image."""
        return losses(self.config, self.anchors, output, batch, self.share)

    def after_step(self, model: nn.Module, step: int) -> None:
        """Average the running statistics over all ranks, as if one rank had all samples."""
        self.ranks.average(model.buffers())

    def detect(self, scores_AK: Tensor, offsets_A4: Tensor) -> Detections:
        """The objects in an image."""
        return detect(self.config, self.anchors, scores_AK, offsets_A4)


TASK = SingleShotDetection
