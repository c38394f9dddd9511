"""Batch norm over several ranks has the losses of one rank; an inconsistent group is an error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.checkpoints.randomness import seed_everything  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402
from podium.reference_runs.errors import RunFault  # noqa: E402
from tests.reference_runs.engine.test_mesh import doubled  # noqa: E402

STEPS = 3
FEW = {"train_samples": "24", "eval_samples": "2", "middle_blocks": "1"}


def losses(ranks: Ranks, devices: int) -> list[float]:
    """The losses of DeepCAM's first steps; a norm group contains all 8 maps of a batch."""
    span = {"batchnorm_span": str(8 // devices), "batchnorm_group_size": str(devices)}
    config = find("deepcam").smoke().with_settings({**FEW, **span})
    assert config.records("3.0")["batchnorm_group_size"] == devices
    task = task_of("deepcam")(config, Setting(device="cpu", usage="hpc"), ranks)
    seed_everything(1)
    task.prepare()
    task.read_in_place()
    task.open_data()
    of_batch = task.loss
    task.loss = lambda model, batch: of_batch(model, doubled(batch))  # type: ignore[method-assign]
    return [float(loss) for loss in Stepper(task).steps(1, 0, STEPS)]


def as_rank(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    # Moments are computed with .float(): make that double precision
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    cpu = torch.device("cpu")
    found = [losses(Ranks(cpu, rank, 2), 2)]
    if rank == 0:
        found.append(losses(Ranks(cpu), 1))
        (folder / "losses.json").write_text(json.dumps(found))
    dist.destroy_process_group()


@pytest.mark.long
def test_two_ranks_that_share_batch_norm_have_the_losses_of_one_rank(tmp_path: Path) -> None:
    mp.spawn(as_rank, (tmp_path,), nprocs=2)
    shared, alone = json.loads((tmp_path / "losses.json").read_text())
    assert len(alone) == STEPS
    assert np.ptp(alone) > 1e-4
    np.testing.assert_allclose(shared, alone, rtol=1e-9)


@pytest.mark.parametrize(("devices", "span"), [(1, 8), (2, 2), (4, 4), (3, 4), (0, 4)])
def test_an_inconsistent_batch_norm_group_is_an_error(devices: int, span: int) -> None:
    changes = {"batchnorm_span": str(span), "batchnorm_group_size": str(devices)}
    config = find("deepcam").smoke().with_settings(changes)
    # A batch has 8 maps, and the micro-batch of each rank has 4
    task = task_of("deepcam")(config, Setting(usage="hpc"), Ranks(torch.device("cpu"), 0, 2))
    with pytest.raises(RunFault, match="batchnorm_"):
        task.check_settings()
