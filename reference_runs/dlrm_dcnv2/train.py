"""What DLRM-DCNv2 adds to the shared loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom
from torchmetrics.functional.classification import binary_auroc

from podium.reference_runs.dlrm_dcnv2.config import DlrmDcnv2
from podium.reference_runs.dlrm_dcnv2.data import Clicks, DayFiles, synthetic
from podium.reference_runs.dlrm_dcnv2.model import DlrmDcn
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import RunFault
from podium.reference_runs.parallel.filling import Drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.optim import Optimizer

    from podium.reference_runs.dlrm_dcnv2.data import Batch

EVALUATION_BATCH = 4096
TRAINING_DAYS, EVALUATION_DAYS = range(23), range(23, 24)


class ClickPrediction(Task[DlrmDcnv2]):
    """Predict clicks; the quality is the area under the ROC curve of all evaluation clicks."""

    files: ClassVar[tuple[str, ...]] = ("day_0_labels.npy", "day_23_labels.npy")

    training: Clicks | DayFiles
    evaluation: Clicks | DayFiles

    def prepare(self) -> None:
        """Draw clicks.

        Raises RunFault where the ranks' common gradient cannot be summed.
        """
        config, ranks = self.config, self.ranks
        if config.sparse_gradients and ranks.world > 1 and ranks.device.type == "cuda":
            raise RunFault(
                "NCCL cannot sum sparse gradients: train in one process,"
                " or with --set sparse_gradients=False"
            )
        if self.setting.scale == "smoke":
            self.training, self.evaluation = synthetic(config, self.setting.seed)

    def open_data(self) -> None:
        """Map Criteo's days: the first 23 to train, half of the last to evaluate."""
        if self.setting.scale == "smoke":
            return
        folder, config = self.data_folder, self.config
        self.training = DayFiles(folder, TRAINING_DAYS, config)
        self.evaluation = DayFiles(folder, EVALUATION_DAYS, config, share=0.5)
        days = folder / f"day_{{{TRAINING_DAYS[0]}..{TRAINING_DAYS[-1]}}}_labels.npy"
        self.wanted.check_training(days, len(self.training), "samples")
        last = folder / f"day_{EVALUATION_DAYS[0]}_labels.npy"
        self.wanted.check_evaluation(last, len(self.evaluation), "samples in its first half")

    def training_data(self) -> Clicks | DayFiles:
        """The clicks that `batches` shares out."""
        return self.training

    def order(self, epoch: int) -> Sequence[int]:
        """As they are: the files were shuffled when they were made, and the rules allow no more."""
        return range(self.config.train_samples)

    def build(self) -> nn.Module:
        """Tables, perceptrons and cross network, with random weights."""
        return DlrmDcn(self.config)

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """Tables by rows, which are looked up where they are; all else by FSDP."""
        from podium.reference_runs.parallel.tables import divide

        return divide(model, mesh)

    def initial_weights(self, model: nn.Module) -> Callable[[str, torch.Size], Tensor]:
        """Random numbers with the deviations of the model's own."""
        numbers = Drawn(self.setting.seed, self.device)

        def first(name: str, shape: torch.Size) -> Tensor:
            if name.startswith("tables."):
                return numbers.uniform(name, shape, math.sqrt(1 / shape[0]))
            if len(shape) > 1:
                return numbers.normal(name, shape, math.sqrt(2 / sum(shape)))
            if name.startswith("crosses."):
                return torch.zeros(shape, device=self.device)
            return numbers.normal(name, shape, math.sqrt(1 / shape[0]))

        return first

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adagrad on everything, tables included."""
        config = self.config
        adagrad = self.optimizer(
            torch.optim.Adagrad,
            model.parameters(),
            lr_decay=config.opt_adagrad_learning_rate_decay,
            weight_decay=config.opt_weight_decay,
            initial_accumulator_value=config.opt_adagrad_initial_accumulator_value,
            eps=config.opt_adagrad_epsilon,
        )
        return [adagrad]

    def learning_rate(self, step: int) -> float:
        """The same at every step."""
        return self.config.opt_base_learning_rate

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Binary cross-entropy summed over samples."""
        odds, label = self._log_odds(model, batch)
        return Loss(F.binary_cross_entropy_with_logits(odds, label, reduction="sum"), len(label))

    def evaluate(self, model: nn.Module) -> float:
        """Area under the ROC curve, exact, over the evaluation samples of all ranks."""
        # A rank may have no share: the empty beginning stands for it.
        odds, labels = [torch.empty(0)], [torch.empty(0, dtype=torch.bool)]
        for indices, own in self._portions():
            some, label = self._log_odds(model, self.evaluation.__getitems__(indices))
            odds.append(some[:own].cpu())
            labels.append(label[:own].cpu().bool())
        everyone = self.ranks.gather((torch.cat(odds), torch.cat(labels)))
        all_odds, all_labels = (torch.cat(parts) for parts in zip(*everyone, strict=True))
        return float(binary_auroc(all_odds, all_labels.int()))

    def _portions(self) -> Iterator[tuple[Sequence[int], int]]:
        """Evaluation samples of this rank, so many at a time, and how many of them count.

        On a mesh all ranks take as many: the first sample stands for those that are missing.
        """
        count, size, ranks = len(self.evaluation), EVALUATION_BATCH, self.ranks
        begins = ranks.share(range(0, count, size))
        mine: list[Sequence[int]] = [range(at, min(at + size, count)) for at in begins]
        if ranks.mesh is not None:
            mine += [()] * (math.ceil(count / (size * ranks.world)) - len(mine))
        for some in mine:
            missing = size - len(some) if ranks.mesh is not None else 0
            yield [*some, *[0] * missing], len(some)

    def _log_odds(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        dense, ids, label = batch
        near = [each.to(self.device, non_blocking=True) for each in ids]
        odds = model(dense.to(self.device, non_blocking=True), near)
        return odds.float(), label.to(self.device, non_blocking=True)


TASK = ClickPrediction
