"""The climate segmentation task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.deepcam.config import CLASSES, DeepCam
from podium.reference_runs.benchmarks.deepcam.data import Weather, write
from podium.reference_runs.benchmarks.deepcam.model import DeepLab
from podium.reference_runs.engine.spans import check_span
from podium.reference_runs.engine.staging import StagedTask
from podium.reference_runs.engine.task import Loss
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.optimizers import LAMB
from podium.reference_runs.modeling.schedule import cosine, warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor, nn
    from torch.optim import Optimizer


OPTIMIZERS: dict[str, type[Optimizer]] = {
    "Adam": torch.optim.Adam,
    "AdamW": torch.optim.AdamW,
    "LAMB": LAMB,
}
SCHEDULES = ("multistep", "cosine_annealing")
WEIGHT_POWER = -0.125
EVALUATION_BATCH = 16


class Segmentation(StagedTask[DeepCam]):
    """Find storms in weather maps; the quality is the mean intersection over union."""

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("train", "validation", "stats.npz")

    training: Weather
    evaluation: Weather

    def write_generated(self, folder: Path) -> None:
        """Write synthetic maps."""
        write(self.config, folder, self.setting.seed)

    def check_settings(self) -> None:
        """Raise RunFault for an invalid optimizer, schedule or span."""
        config = self.config
        for name, known in (("opt_name", (*OPTIMIZERS,)), ("scheduler_type", SCHEDULES)):
            if getattr(config, name) not in known:
                raise RunFault(
                    f"{name} is {getattr(config, name)}; expected one of {', '.join(known)}"
                )
        devices, span, size = config.batchnorm_group_size, config.norm_span, self.micro_batch_size
        if devices != max(1, span // size):
            raise RunFault(
                f"batchnorm_group_size is {devices}, and batchnorm_span is {config.batchnorm_span};"
                f" expected the {size} maps of a rank's micro-batch on each of several devices, or"
                " at most as many on 1"
            )
        check_span(self, "batchnorm_span", "maps", devices)

    def open_data(self) -> None:
        """List the copies, and read the extremes of the channels."""
        near, source = self.near.path, self.source
        self.training, self.evaluation = Weather(near, "train"), Weather(near, "validation")
        what = "maps data-*.npy"
        self.expected.check_training(source / "train", len(self.training), what)
        self.expected.check_evaluation(source / "validation", len(self.evaluation), what)

    def build(self) -> nn.Module:
        """DeepLabV3+, with random weights."""
        return DeepLab(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """The optimizer that `opt_name` selects, for all weights."""
        config = self.config
        chosen = self.optimizer(
            OPTIMIZERS[config.opt_name],
            model.parameters(),
            betas=config.opt_betas,
            eps=config.opt_eps,
            weight_decay=config.opt_weight_decay,
        )
        return [chosen]

    def clip(self, parameters: Sequence[nn.Parameter]) -> None:
        """LAMB uses gradients with a limited norm."""
        if self.config.opt_name == "LAMB":
            torch.nn.utils.clip_grad_norm_(parameters, self.config.opt_max_grad_norm)

    def learning_rate(self, step: int) -> float:
        """Warmup to the base rate times its factor, then steps down or half a cosine."""
        config = self.config
        warmup, factor = config.scheduler_lr_warmup_steps, config.scheduler_lr_warmup_factor
        top = config.opt_lr * factor
        if step < warmup:
            # A factor of 1 starts from zero, a larger one from the base rate.
            return warmed_up(step, warmup, top, 0.0 if factor == 1 else config.opt_lr)
        if config.scheduler_type == "multistep":
            since = step - warmup
            passed = sum(since > milestone for milestone in config.scheduler_milestones)
            return float(top * config.scheduler_decay_rate**passed)
        decay, low = config.scheduler_t_max, config.scheduler_eta_min
        return cosine(step, warmup=warmup, decay=decay, base=top, end=low)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Loss:
        """Weighted cross-entropy, a mean over each map's points, summed over maps."""
        maps, labels = (part.to(self.device, non_blocking=True) for part in batch)
        shares = torch.tensor(self.config.class_frequencies, device=self.device)
        scores = model(maps).float()
        # Summed separately: a GPU's own sum of this loss differs from run to run.
        point_losses = F.cross_entropy(scores, labels, shares**WEIGHT_POWER, reduction="none")
        return Loss(point_losses.sum() / labels[0].numel(), len(labels))

    def after_step(self, model: nn.Module, step: int) -> None:
        """Average the running statistics over all ranks, as if one rank had all samples."""
        self.ranks.average(model.buffers())

    def evaluate(self, model: nn.Module) -> float:
        """Intersection over union, a mean over classes and then over maps."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for indices in self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH):
            maps, labels = self.evaluation.__getitems__(indices)
            predicted = model(maps.to(self.device)).argmax(1)
            total += overlap(predicted, labels.to(self.device)).sum()
        return float(self.ranks.sum(total)) / len(self.evaluation)


def overlap(predicted: Tensor, true: Tensor) -> Tensor:
    """Mean intersection over union of each map, (B,); 1 for a class that is in neither."""
    class_ratios = []
    for number in range(CLASSES):
        here, there = (part.flatten(1) == number for part in (predicted, true))
        both, either = (here & there).sum(1), (here | there).sum(1)
        class_ratios.append(
            torch.where(either > 0, both / either.clamp(min=1), torch.ones_like(both))
        )
    return torch.stack(class_ratios).double().mean(0)


TASK = Segmentation
