"""Each rank has its own random numbers, and a resumed run continues their sequence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.checkpoints.checkpoint import save  # noqa: E402
from podium.reference_runs.engine.checkpoints.randomness import seed_rank  # noqa: E402
from podium.reference_runs.engine.loop import start  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks, divided  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.parallel.mesh import parse  # noqa: E402
from podium.reference_runs.planning.fake_tensors import fake_process_group  # noqa: E402


def as_rank(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    state = folder / "state.pt"
    found = [drawn(rank, folder, Setting(device="cpu", checkpoint=state))]
    setting = Setting(device="cpu", checkpoint=state, resume=True)
    found.append(drawn(rank, folder, setting))
    (folder / f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def drawn(rank: int, folder: Path, setting: Setting) -> Any:
    """Random numbers at the start and after the checkpoint, and the sum of the first weights."""
    config = find("llama31_8b").smoke().with_settings({"train_samples": "256"})
    ranks = Ranks(torch.device("cpu"), rank, 2)
    task = task_of("llama31_8b")(config, setting, ranks)
    with Logger(str(folder / f"log-{setting.resume}.txt"), rank=rank) as log:
        stepper, _ = start(task, log)
    if setting.resume:
        return torch.rand(4).tolist()
    first = torch.rand(4).tolist()
    weights = float(next(stepper.model.parameters()).double().sum())
    save(stepper, setting.checkpoint, 1)  # type: ignore[arg-type]
    return first, torch.rand(4).tolist(), weights


def test_ranks_share_a_model_and_resume_their_own_random_numbers(tmp_path: Path) -> None:
    mp.spawn(as_rank, (tmp_path,), nprocs=2)
    (one, resumed_one), (two, resumed_two) = (
        json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)
    )
    assert one[0] != two[0]
    assert one[2] == two[2]
    # After the checkpoint, each rank continues its own sequence
    assert (resumed_one, resumed_two) == (one[1], two[1])
    assert resumed_one != resumed_two


@pytest.mark.parametrize("axis", ["sp", "tp"])
def test_ranks_that_compute_the_same_layers_draw_the_same_dropout(axis: str) -> None:
    found = []
    for rank in range(4):
        with fake_process_group(4, rank):
            ranks = divided(Ranks(torch.device("cpu"), rank, 4), parse(f"dp=2,{axis}=2"))
            torch.manual_seed(1)
            seed_rank(1, ranks)
            found.append(torch.rand(4).tolist())
    assert found[0] == found[1] != found[2] == found[3]
