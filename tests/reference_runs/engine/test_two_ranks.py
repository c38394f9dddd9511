"""Two ranks have the losses of one rank in double precision, for every benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

from podium.reference_runs.catalogue import find, names, task_of  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from tests.reference_runs.shrunken import losses_of, opened  # noqa: E402

pytestmark = pytest.mark.long

STEPS = 20
PARTS = 6
"""Groups of benchmarks; the processes start once per group."""

BASED = {
    *("bert", "deepseekv3_671b", "gpt3", "llama2_70b_lora", "llama31_405b", "qwen35_397b_grpo")
}
"""Benchmarks whose smoke runs start from a trained base."""

APART = {"rnnt": 1e-4}
"""Tolerances where more than rounding differs: RNN-T stacks the last of an odd number of frames
with encoded padding, which depends on the longest utterance in the batch of a rank."""


def doubled(batch: Any) -> Any:
    """Return a batch with its numbers in double precision."""
    if isinstance(batch, torch.Tensor):
        return batch.double() if batch.is_floating_point() else batch
    if hasattr(batch, "_map"):
        return batch._map(doubled)
    if isinstance(batch, tuple | list):
        parts = [doubled(part) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def losses(name: str, ranks: Ranks, cache: Path) -> list[float]:
    """Return the loss of each step, computed in double precision."""
    setting = Setting(device="cpu", usage=find(name).usage, cache=cache)
    with opened(name, setting, ranks) as stepper:
        of_batch = stepper.task.loss
        stepper.task.loss = lambda model, batch: of_batch(  # type: ignore[method-assign]
            model, doubled(batch)
        )
        assert {each.dtype for each in stepper.model.parameters()} == {torch.float64}
        return losses_of(stepper, 0, STEPS)


def as_process(number: int, folder: Path, chosen: tuple[str, ...]) -> None:
    """Run one of two ranks, or the single process, and write its losses to the folder."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    # Losses are computed with .float(): make that double precision
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    ranks = Ranks(torch.device("cpu"))
    if number < 2:
        dist.init_process_group("gloo", f"file://{folder}/meeting", rank=number, world_size=2)
        ranks = Ranks(torch.device("cpu"), number, 2)
    for name in chosen:
        found = losses(name, ranks, folder / "cache")
        (folder / f"{name}-{number}.json").write_text(json.dumps(found))
    if number < 2:
        dist.destroy_process_group()


def differences(folder: Path, *chosen: str) -> dict[str, float]:
    """Return the largest relative difference of the losses of two ranks and one, by benchmark."""
    for name in BASED & {*chosen}:
        # Train the base once: otherwise each of the three processes would train it
        setting = Setting(cache=folder / "cache")
        task_of(name)(find(name).smoke(), setting, Ranks(torch.device("cpu"))).build()
    mp.spawn(as_process, (folder, chosen), nprocs=3)
    found = {}
    for name in chosen:
        first, second, alone = (
            np.array(json.loads((folder / f"{name}-{number}.json").read_text()))
            for number in range(3)
        )
        assert np.array_equal(first, second)
        assert len(alone) == STEPS
        # The loss must change in training: an untrained model would agree as well
        assert np.ptp(alone) > 1e-6
        # The loss of a policy is 0 up to rounding if all answers have the same length
        size = np.maximum(np.abs(alone), 1e-6)
        found[name] = float(np.max(np.abs(first - alone) / size))
    return found


@pytest.mark.daily(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_two_ranks_have_the_losses_of_one_rank_over_twenty_steps(part: int, tmp_path: Path) -> None:
    found = differences(tmp_path, *names()[part::PARTS])
    limits = {name: APART.get(name, 1e-9) for name in found}
    assert {name: far for name, far in found.items() if not far < limits[name]} == {}
