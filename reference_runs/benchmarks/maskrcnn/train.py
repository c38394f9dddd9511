"""The Mask R-CNN task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.maskrcnn.config import MaskRCNN
from podium.reference_runs.benchmarks.maskrcnn.data import (
    MULTIPLE,
    Batch,
    Scenes,
    generated,
    normalise,
)
from podium.reference_runs.benchmarks.maskrcnn.detector import Detector
from podium.reference_runs.benchmarks.maskrcnn.evaluation import (
    Results,
    in_original,
    precisions,
    results,
)
from podium.reference_runs.benchmarks.maskrcnn.files import ANNOTATIONS, Files
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.modeling.detection.backbone import load_backbone
from podium.reference_runs.modeling.schedule import stepped, warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn
    from torch.optim import Optimizer

    from podium.reference_runs.benchmarks.maskrcnn.data import Source, TrueScenes

EVALUATION_BATCH, MEASURED = 8, 64
"""Images that are evaluated at once; images whose statistics the norms of smoke scale have."""
LONGEST_SIDE = 640
"""Pixels of the longer side of an image of COCO, for plans without data."""


class Segmentation(Task[MaskRCNN]):
    """Object detection; the quality is the mean average precision of boxes and of masks."""

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = (
        *(ANNOTATIONS.format(part) for part in ("train2017", "val2017")),
        "backbone.pt",
    )

    training: Scenes
    evaluation: Scenes
    truth: TrueScenes

    def generated_data(self) -> tuple[Source, TrueScenes]:
        """Generated scenes."""
        return generated(self.config, self.setting.seed)

    def data_from_files(self) -> tuple[Source, TrueScenes]:
        """COCO's images with their annotations."""
        expected, folder = self.expected, self.data_folder
        training = Files(folder, "train2017", self.config, annotated=True)
        expected.check_training(training.path, len(training), "images with objects")
        evaluation = Files(folder, "val2017", self.config)
        expected.check_evaluation(evaluation.path, len(evaluation), "images")
        return training, evaluation

    def use(self, data: tuple[Source, TrueScenes]) -> None:
        """Mirror training scenes at random."""
        self.training, self.evaluation = Scenes(data[0], self.setting.seed), Scenes(data[1], None)
        self.truth = data[1]

    def largest_batch(self) -> Batch | None:
        """Images of both orientations, with as many objects as the fullest one."""
        config, count = self.config, self.micro_batch_size
        # Some images are wide and others are high
        side = -(-config.max_image_size // MULTIPLE) * MULTIPLE
        objects = count, config.most_objects
        return Batch(
            torch.zeros(count, 3, side, side, dtype=torch.uint8),
            torch.full((count, 2), float(config.max_image_size)),
            torch.zeros(*objects, 4),
            torch.zeros(objects, dtype=torch.int64),
            torch.zeros(*objects, config.mask_points, config.mask_points, dtype=torch.uint8),
            torch.zeros(count, dtype=torch.int64),
        )

    def build(self) -> nn.Module:
        """The detector; at reference scale, its backbone is trained on ImageNet."""
        model = Detector(self.config)
        if next(model.parameters()).is_meta:
            pass  # shapes only
        elif self.setting.scale == "smoke":
            # In place of the images that determine the norms of a trained backbone
            some = self.training.__getitems__(range(min(MEASURED, len(self.training))))
            model.body.measure(normalise(some.images, some.sizes))
        else:
            load_backbone(model.body, self.data_folder / "backbone.pt", "ResNet-50")
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return model

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """SGD with momentum; biases have no decay and twice the rate, as in the reference."""
        config = self.config
        trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        biases = [p for name, p in trained if name.endswith("bias")]
        others = [p for name, p in trained if not name.endswith("bias")]
        groups = [
            {"params": others, "weight_decay": config.opt_weight_decay},
            {"params": biases, "weight_decay": 0.0, "scale": 2.0},
        ]
        return [self.optimizer(torch.optim.SGD, groups, momentum=config.opt_momentum)]

    def learning_rate(self, step: int) -> float:
        """Linear warmup from a share of the base rate, then a tenth after each decay step."""
        config = self.config
        base = config.opt_base_learning_rate
        start = base * config.opt_learning_rate_warmup_factor
        steps = config.opt_learning_rate_decay_steps
        factors = (config.opt_learning_rate_decay_factor,) * len(steps)
        warm = warmed_up(step, config.opt_learning_rate_warmup_steps, base, start)
        return warm * stepped(step, boundaries=steps, factors=factors)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The losses of proposals, boxes and masks, summed over images."""
        batch = Batch(*(tensor.to(self.device, non_blocking=True) for tensor in batch))
        images = normalise(batch.images, batch.sizes)
        return Loss(model(images, batch.sizes, batch.objects).sum(), len(images))

    def evaluate_largest(self, model: nn.Module, batch: Batch) -> None:
        """Detections in as many images as at once, all of whose regions may have an object."""
        count = self.largest_evaluation_batch(min(EVALUATION_BATCH, self.micro_batch_size))
        images, sizes = (part[:count].to(self.device) for part in (batch.images, batch.sizes))
        known: TrueScenes | None = getattr(self, "truth", None)
        _, height, width = known.original(0) if known else (0, LONGEST_SIDE, LONGEST_SIDE)
        for detection, size in zip(model(normalise(images, sizes), sizes), sizes, strict=True):
            in_original(detection, size, height, width)

    def evaluate(self, model: nn.Module) -> float:
        """COCO's mean average precision over all evaluation scenes."""
        image_results: list[Results] = []
        parts = self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH)
        for indices, batch in zip(parts, self.loaded(self.evaluation, parts), strict=True):
            images, sizes = batch.images.to(self.device), batch.sizes.to(self.device)
            detected = model(normalise(images, sizes), sizes)
            for index, detection, size in zip(indices, detected, sizes, strict=True):
                image_results.append(results(self.truth, index, detection, size))
        everyone = [result for part in self.ranks.gather(image_results) for result in part]
        return precisions(self.truth, everyone)


TASK = Segmentation
