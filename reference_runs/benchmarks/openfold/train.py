"""The protein structure task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from podium.reference_runs.benchmarks.openfold.config import OpenFold
from podium.reference_runs.benchmarks.openfold.data import PROTEIN_SEED, Chains
from podium.reference_runs.benchmarks.openfold.losses import CA, lddt, losses
from podium.reference_runs.benchmarks.openfold.model import AlphaFold
from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import DataMissing, RunFault
from podium.reference_runs.modeling.ema import Averaged
from podium.reference_runs.modeling.schedule import warmed_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.benchmarks.openfold.data import Batch

EVALUATION_BATCH = 32


class Folding(Task[OpenFold]):
    """Fold chains; the quality is the mean lDDT of their alpha carbons."""

    plans_evaluation: ClassVar[bool] = True
    # The head for resolved atoms has no weight in the loss
    unused_parameters = True

    training: Chains
    evaluation: Chains

    def check_files(self) -> None:
        """Raise DataMissing at reference scale, whose files podium does not read."""
        if self.setting.scale == "reference":
            raise DataMissing(
                "openfold supports smoke scale only: podium reads neither structures in mmCIF"
                " nor their alignments; --dry-log has the reference's records"
            )

    def generated_data(self) -> tuple[Chains, Chains]:
        """Synthetic chains."""
        config, seed = self.config, self.setting.seed
        training = Chains(config, config.train_samples, seed)
        if config.shuffled_labels:
            rng = np.random.default_rng(seed)
            training.fold_of = rng.permutation(config.train_samples)
        return training, Chains(config, config.eval_samples, PROTEIN_SEED)

    def batches(self, epoch: int, first: int) -> Iterator[Batch]:
        """The local micro-batches of an epoch, each with the number of recycles of its chains."""
        parts = self.config.gradient_accumulation_steps
        for number, batch in enumerate(super().batches(epoch, first)):
            # Per step: all ranks fold equally often
            rng = np.random.default_rng([self.setting.seed, epoch, first + number // parts])
            recycles = int(rng.integers(self.config.num_recycling_iters + 1))
            yield batch._replace(recycles=recycles)

    def build(self) -> nn.Module:
        """The network with random weights, and their average.

        Raises RunFault if its number of parameters is not that in the config.
        """
        model = AlphaFold(self.config)
        count = sum(parameter.numel() for parameter in model.parameters())
        if count != self.config.model_parameters_count:
            raise RunFault(
                f"model_parameters_count is {self.config.model_parameters_count}; the network has"
                f" {count}; set this value as well"
            )
        return Averaged(model)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam for all trained parameters."""
        config = self.config
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        decay, amsgrad = config.opt_weight_decay, config.opt_amsgrad
        return [self.adam(trained, weight_decay=decay, amsgrad=amsgrad)]

    def learning_rate(self, step: int) -> float:
        """Linear warmup from the initial rate to the base rate, then constant."""
        config = self.config
        start, base = config.opt_learning_rate_warmup_init, config.opt_base_learning_rate
        return warmed_up(step, config.opt_learning_rate_warmup_steps, base, min(start, base))

    def clip(self, parameters: Sequence[nn.Parameter]) -> None:
        """Clip the gradient norm if the config says so."""
        if self.config.opt_gradient_clipping:
            super().clip(parameters)

    def after_step(self, model: nn.Module, step: int) -> None:
        """Update the average."""
        assert isinstance(model, Averaged)
        model.follow(self.config.swa_decay_rate)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The weighted losses, summed over chains."""
        batch = batch.to(self.device)
        return Loss(losses(self.config, model(batch), batch).sum(), len(batch.target))

    def evaluate_largest(self, model: Any, batch: Batch) -> None:
        """Fold as many chains as at once in an evaluation, with the maximum number of recycles."""
        count = self.largest_evaluation_batch(EVALUATION_BATCH)
        rows = torch.zeros(count, dtype=torch.long, device=self.device)
        parts: dict[str, Any] = {
            name: part[rows]
            for name, part in batch._asdict().items()
            if isinstance(part, torch.Tensor)
        }
        self._scores(model, batch._replace(**parts))

    def evaluate(self, model: Any) -> float:
        """Mean lDDT of alpha carbons over residues, then over chains."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for indices in self.ranks.batches_of(range(len(self.evaluation)), EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(indices).to(self.device)
            total += self._scores(model, batch).sum()
        return float(self.ranks.sum(total)) / len(self.evaluation)

    def _scores(self, model: Any, batch: Batch) -> Tensor:
        """The mean lDDT of alpha carbons of each chain."""
        chosen = model.average if self.config.swa_enabled else model.trained
        folded = chosen(batch._replace(recycles=self.config.num_recycling_iters))
        return lddt(folded.atoms[:, :, CA], batch.atoms[:, :, CA]).mean(1)


TASK = Folding
