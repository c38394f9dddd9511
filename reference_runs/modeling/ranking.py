"""Binary prediction tasks, whose quality is the ranking of the samples by log odds."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom
from torchmetrics.functional.classification import binary_auroc

from podium.reference_runs.engine.task import C, Loss, Task
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh

EVALUATION_BATCH = 4096


class Ranking(Task[C]):
    """Binary prediction; the quality is the area under the ROC curve of all evaluation samples."""

    plans_evaluation: ClassVar[bool] = True
    evaluation: Any
    """A dataset with `__len__` and `__getitems__`."""

    @abstractmethod
    def log_odds(self, model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
        """Log odds and labels of a batch, (B,) each, in single precision on the device."""

    @property
    def evaluation_batch_size(self) -> int:
        """Evaluation samples per batch of a rank."""
        return min(EVALUATION_BATCH, self.micro_batch_size)

    def check_settings(self) -> None:
        """Raise RunFault if the ranks cannot sum the gradients of tables."""
        sparse = getattr(self.config, "sparse_gradients", False)
        if sparse and self.ranks.world > 1 and self.ranks.device.type == "cuda":
            raise RunFault(
                "NCCL cannot sum sparse gradients; train in one process"
                " or use --set sparse_gradients=False"
            )

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """Tables by rows, with lookups on the ranks that own them; the rest by FSDP."""
        from podium.reference_runs.parallel.tables import divide

        return divide(model, mesh)

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Binary cross-entropy summed over samples."""
        odds, label = self.log_odds(model, batch)
        return Loss(F.binary_cross_entropy_with_logits(odds, label, reduction="sum"), len(label))

    def evaluate(self, model: nn.Module) -> float:
        """Area under the ROC curve, exact, over the evaluation samples of all ranks."""
        # A rank may have no samples: the empty first element covers that.
        odds, labels = [torch.empty(0)], [torch.empty(0, dtype=torch.bool)]
        for indices, own in self._evaluation_batches():
            some, label = self.log_odds(model, self.evaluation.__getitems__(indices))
            odds.append(some[:own].cpu())
            labels.append(label[:own].cpu().bool())
        everyone = self.ranks.gather((torch.cat(odds), torch.cat(labels)))
        all_odds, all_labels = (torch.cat(parts) for parts in zip(*everyone, strict=True))
        return float(binary_auroc(all_odds, all_labels.int()))

    def _evaluation_batches(self) -> Iterator[tuple[Sequence[int], int]]:
        """Batches of this rank's evaluation samples, and the number of samples to count in each.

        On a mesh all ranks need the same number: the first sample pads missing ones.
        """
        count, size, ranks = len(self.evaluation), self.evaluation_batch_size, self.ranks
        begins = ranks.share(range(0, count, size))
        mine: list[Sequence[int]] = [range(begin, min(begin + size, count)) for begin in begins]
        if ranks.mesh is not None:
            mine += [()] * (math.ceil(count / (size * ranks.world)) - len(mine))
        for some in mine:
            missing = size - len(some) if ranks.mesh is not None else 0
            yield [*some, *[0] * missing], len(some)
