"""The RetinaNet task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from podium.reference_runs.benchmarks.retinanet.boxes import anchors
from podium.reference_runs.benchmarks.retinanet.config import RetinaNet, level_sides
from podium.reference_runs.benchmarks.retinanet.data import Scenes
from podium.reference_runs.benchmarks.retinanet.detection import detect, losses
from podium.reference_runs.benchmarks.retinanet.model import SHAPES, Body, Detector
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.modeling.detection.backbone import load_backbone
from podium.reference_runs.modeling.detection.drawn import synthetic
from podium.reference_runs.modeling.detection.precision import mean_average_precision, rows
from podium.reference_runs.modeling.detection.scenes import Batch, Files, normalise
from podium.reference_runs.modeling.detection.share import Share
from podium.reference_runs.modeling.schedule import warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.optim import Optimizer

    from podium.reference_runs.modeling.detection.scenes import Source
    from podium.reference_runs.parallel.spatial import Rows

EVALUATION_BATCH, MEASURED = 16, 64


class Detection(Task[RetinaNet]):
    """Object detection; the quality is the mean average precision of boxes."""

    evaluates_as_trains: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = (
        "train/labels/openimages-mlperf.json",
        "validation/labels/openimages-mlperf.json",
        "backbone.pt",
    )
    keeps_whole: ClassVar[bool] = True

    training: Scenes
    evaluation: Scenes
    anchors: Tensor
    share: Share

    def prepare(self) -> None:
        """Create the anchors, and the data of smoke scale."""
        self.anchors = anchors(self.config).to(self.device)
        self.share = self._share()
        super().prepare()

    def generated_data(self) -> tuple[Source, Source]:
        """Generated scenes."""
        config, seed = self.config, self.setting.seed
        counts = config.train_samples, config.eval_samples
        training, evaluation = synthetic(counts, config.image_size, seed)
        if config.shuffled_labels:
            training.targets = np.random.default_rng([seed, 0x5FF]).permutation(counts[0])
        return training, evaluation

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

    def _share(self, rows: Rows | None = None) -> Share:
        config = self.config
        sides = level_sides(config.image_size, len(config.anchor_sizes))
        return Share([(side, SHAPES) for side in sides], self.device, rows)

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
            model.measure(normalise(some.images))
        else:
            body = model.backbone["body"]
            assert isinstance(body, Body)
            load_backbone(body, self.data_folder / "backbone.pt", "ResNeXt-50 32x4d")
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return model

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The detector for parts of images; its output is that of their anchors."""
        from podium.reference_runs.parallel.spatial import Rows, divide

        if mesh["sp"].size() > 1:
            self.share = self._share(Rows(mesh["sp"].get_group()))
        return divide(model, mesh, gathers=False)

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

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Focal loss and box error, summed over images."""
        batch = Batch(*(each.to(self.device, non_blocking=True) for each in batch))
        output = model(normalise(batch.images))
        part = losses(self.config, self.anchors, output, batch, self.share.mine).sum()
        return Loss(self.share.total(part), len(batch.images))

    def evaluate(self, model: nn.Module) -> float:
        """COCO's mean average precision over all evaluation scenes."""
        found: list[NDArray[np.float64]] = []
        parts = self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH)
        for indices, batch in zip(parts, self.loaded(self.evaluation, parts), strict=True):
            output = model(normalise(batch.images.to(self.device)))
            scores, offsets = (self.share.whole(each) for each in output)
            for at, index in enumerate(indices):
                if not self.share.takes(at):
                    continue
                detected = detect(self.config, self.anchors, scores[at], offsets[at])
                found.append(rows(index, detected))
        everyone = [each for part in self.ranks.gather(found) for each in part]
        return mean_average_precision(self.evaluation.source, everyone, self.config.classes)


TASK = Detection
