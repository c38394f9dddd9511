"""What several ranks make together is what one would make alone."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402

STEPS = 2


def running_statistics(name: str, ranks: Ranks) -> torch.Tensor:
    """A model's buffers after some steps, as one vector."""
    benchmark = find(name)
    config = benchmark.smoke().with_settings({"train_samples": "128", "eval_samples": "4"})
    task = task_of(name)(config, Setting(device="cpu", usage=benchmark.usage), ranks)
    task.prepare()
    with Logger(io.StringIO(), rank=ranks.rank) as log:
        task.stage(log)
    task.open_data()
    torch.manual_seed(1)
    stepper = Stepper(task)
    for _ in stepper.steps(1, 0, STEPS):
        pass
    return torch.cat([each for each in stepper.model.buffers() if each.is_floating_point()])


def as_rank(rank: int, name: str, folder: Path) -> None:
    """One of two processes; leaves its statistics in the folder."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    found = running_statistics(name, Ranks(torch.device("cpu"), rank, 2))
    torch.save(found, folder / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.long
@pytest.mark.parametrize("name", ["deepcam", "resnet"])
def test_two_ranks_have_the_running_statistics_of_one(name: str, tmp_path: Path) -> None:
    mp.spawn(as_rank, (name, tmp_path), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert torch.equal(first, second)
    alone = running_statistics(name, Ranks(torch.device("cpu")))
    assert torch.allclose(first, alone, rtol=1e-3, atol=1e-5)
