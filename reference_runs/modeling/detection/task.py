"""The task that all detectors share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.modeling.detection.config import DetectionConfig
from podium.reference_runs.modeling.detection.drawn import synthetic
from podium.reference_runs.modeling.detection.precision import mean_average_precision, rows
from podium.reference_runs.modeling.detection.scenes import Batch, Scenes, normalise
from podium.reference_runs.modeling.detection.share import Share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh

    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.engine.setting import Setting
    from podium.reference_runs.modeling.detection.precision import Detections
    from podium.reference_runs.modeling.detection.scenes import Source
    from podium.reference_runs.modeling.detection.share import Level

D = TypeVar("D", bound=DetectionConfig)

EVALUATION_BATCH = 16


class Detection(Task[D]):
    """Object detection by anchors; the quality is the mean average precision of boxes.

    The model returns the scores (B, A, K) and the offsets (B, A, 4) of all anchors of each image:
    level by level, positions row by row, the anchors of a position consecutively.
    """

    plans_evaluation: ClassVar[bool] = True
    keeps_whole: ClassVar[bool] = True

    training: Scenes
    evaluation: Scenes
    anchors: Tensor
    share: Share

    @abstractmethod
    def all_anchors(self) -> Tensor:
        """The anchors of an image, (A, 4), in the order of the model's output."""

    @abstractmethod
    def levels(self) -> Sequence[Level]:
        """The sides of the feature maps and their anchors per cell."""

    @abstractmethod
    def losses(self, output: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        """The losses of the rank's anchors, by image, (B,)."""

    @abstractmethod
    def detect(self, scores_AK: Tensor, offsets_A4: Tensor) -> Detections:
        """The objects in an image."""

    def __init__(self, config: D, setting: Setting, ranks: Ranks) -> None:
        super().__init__(config, setting, ranks)
        self.anchors = self.all_anchors().to(self.device)
        self.share = Share(self.levels(), self.device)
        """The anchors of this rank: all of them unless the model is divided."""

    def generated_data(self) -> tuple[Source, Source]:
        """Generated scenes."""
        config, seed = self.config, self.setting.seed
        counts = config.train_samples, config.eval_samples
        training, evaluation = synthetic(counts, config.image_size, seed)
        if config.shuffled_labels:
            training.targets = np.random.default_rng([seed, 0x5FF]).permutation(counts[0])
        return training, evaluation

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The detector for parts of images; its output is that of their anchors."""
        from podium.reference_runs.parallel.spatial import Rows, divide

        if mesh["sp"].size() > 1:
            self.share = Share(self.levels(), self.device, Rows(mesh["sp"].get_group()))
        return divide(model, mesh, gathers=False)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The losses summed over images."""
        batch = Batch(*(tensor.to(self.device, non_blocking=True) for tensor in batch))
        part = self.losses(model(normalise(batch.images)), batch).sum()
        return Loss(self.share.total(part), len(batch.images))

    def evaluate(self, model: nn.Module) -> float:
        """COCO's mean average precision over all evaluation scenes."""
        detections: list[NDArray[np.float64]] = []
        parts = self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH)
        for indices, batch in zip(parts, self.loaded(self.evaluation, parts), strict=True):
            output = model(normalise(batch.images.to(self.device)))
            scores, offsets = (self.share.whole(tensor) for tensor in output)
            for position, index in enumerate(indices):
                if self.share.takes(position):
                    detections.append(rows(index, self.detect(scores[position], offsets[position])))
        everyone = [image_rows for part in self.ranks.gather(detections) for image_rows in part]
        return mean_average_precision(self.evaluation.source, everyone, self.config.classes)
