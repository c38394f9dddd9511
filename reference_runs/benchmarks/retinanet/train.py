"""The RetinaNet task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.retinanet.boxes import anchors
from podium.reference_runs.benchmarks.retinanet.config import RetinaNet, level_sides
from podium.reference_runs.benchmarks.retinanet.detection import detect, losses
from podium.reference_runs.benchmarks.retinanet.model import SHAPES, Detector
from podium.reference_runs.modeling.detection.backbone import load_backbone
from podium.reference_runs.modeling.detection.scenes import Files, Scenes, normalise
from podium.reference_runs.modeling.detection.task import Detection
from podium.reference_runs.modeling.schedule import warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.modeling.detection.precision import Detections
    from podium.reference_runs.modeling.detection.scenes import Batch, Source
    from podium.reference_runs.modeling.detection.share import Level

MEASURED = 64
"""Images that determine the norms of a backbone that is not trained."""


class FocalDetection(Detection[RetinaNet]):
    """Detection with focal loss, by a pyramid of features."""

    files: ClassVar[tuple[str, ...]] = (
        "train/labels/openimages-mlperf.json",
        "validation/labels/openimages-mlperf.json",
        "backbone.pt",
    )

    def all_anchors(self) -> Tensor:
        """Nine anchors per cell."""
        return anchors(self.config)

    def levels(self) -> Sequence[Level]:
        """The five levels of the pyramid."""
        config = self.config
        sides = level_sides(config.image_size, len(config.anchor_sizes))
        return [(side, SHAPES) for side in sides]

    def data_from_files(self) -> tuple[Source, Source]:
        """The real scenes with their annotations."""
        expected = self.expected
        training, evaluation = (self._files(part) for part in ("train", "validation"))
        expected.check_training(training.path, len(training), "images")
        expected.check_evaluation(evaluation.path, len(evaluation), "images")
        return training, evaluation

    def _files(self, part: str) -> Files:
        config, folder = self.config, self.data_folder / part
        annotations = folder / "labels" / "openimages-mlperf.json"
        return Files(annotations, folder / "data", config.classes, side=config.image_size)

    def use(self, data: tuple[Source, Source]) -> None:
        """Mirror training scenes at random."""
        self.training, self.evaluation = Scenes(data[0], self.setting.seed), Scenes(data[1], None)

    def build(self) -> nn.Module:
        """The detector; at reference scale, its backbone is trained on ImageNet."""
        model = Detector(self.config)
        if next(model.parameters()).is_meta:
            pass  # shapes only
        elif self.setting.scale == "smoke":
            # In place of the images that determine the norms of a trained backbone
            some = self.training.__getitems__(range(min(MEASURED, len(self.training))))
            model.body.measure(normalise(some.images))
        else:
            load_backbone(model.body, self.data_folder / "backbone.pt", "ResNeXt-50 32x4d")
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return model

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam."""
        parameters = [p for p in model.parameters() if p.requires_grad]
        decay = self.config.opt_weight_decay
        return [self.optimizer(torch.optim.Adam, parameters, weight_decay=decay)]

    def learning_rate(self, step: int) -> float:
        """Linear warmup from a small share of the base rate, then the base rate."""
        config = self.config
        base = config.opt_base_learning_rate
        warmup = config.opt_learning_rate_warmup_epochs * config.steps_per_epoch
        return warmed_up(step, warmup, base, base * config.opt_learning_rate_warmup_factor)

    def losses(self, output: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        """Focal loss and box error, by image."""
        return losses(self.config, self.anchors, output, batch, self.share.mine)

    def detect(self, scores_AK: Tensor, offsets_A4: Tensor) -> Detections:
        """The objects in an image."""
        return detect(self.config, self.anchors, scores_AK, offsets_A4)


TASK = FocalDetection
