"""Several ranks: running statistics, timeouts and cached files."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks, joined  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402
from podium.reference_runs.errors import RunFault  # noqa: E402
from podium.reference_runs.log.declare import clear_caches  # noqa: E402

STEPS = 2


def running_statistics(name: str, ranks: Ranks) -> torch.Tensor:
    """Return the buffers of a model after a few steps, as one vector."""
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
    """Train as one of two ranks and write the statistics to the folder."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    found = running_statistics(name, Ranks(torch.device("cpu"), rank, 2))
    torch.save(found, folder / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.long
@pytest.mark.parametrize("name", ["deepcam", "resnet"])
def test_two_ranks_have_the_running_statistics_of_one_rank(name: str, tmp_path: Path) -> None:
    mp.spawn(as_rank, (name, tmp_path), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert torch.equal(first, second)
    alone = running_statistics(name, Ranks(torch.device("cpu")))
    assert torch.allclose(first, alone, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("minutes", ["0", "ten", "1.5", "99999999"])
def test_an_invalid_rank_timeout_is_an_error(minutes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_RANK_TIMEOUT", minutes)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with (
        pytest.raises(RunFault, match="; expected minutes, 1 to 10080"),
        joined("cpu"),
    ):
        pass


def test_the_rank_timeout_is_passed_to_the_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []
    monkeypatch.setenv("PODIUM_RANK_TIMEOUT", "90")
    monkeypatch.setenv("WORLD_SIZE", "2")

    def refuse(_: str, *, timeout: timedelta) -> None:
        waits.append(timeout)
        raise dist.DistNetworkError("EADDRINUSE")

    monkeypatch.setattr(dist, "init_process_group", refuse)
    with pytest.raises(RunFault, match="is in use"), joined("cpu"):
        pass
    assert waits == [timedelta(minutes=90)]


@pytest.mark.parametrize(("rank", "count"), [("0", 2), ("1", 0)])
def test_one_rank_of_a_node_drops_cached_files(
    rank: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part").mkdir()
    for path in (tmp_path / "a.bin", tmp_path / "part" / "b.bin"):
        path.write_bytes(b"x")
    monkeypatch.setenv("LOCAL_RANK", rank)
    stream = io.StringIO()
    with Logger(stream, rank=0) as log:
        clear_caches(log, Setting(scale="reference", data=tmp_path))
    assert f"DONTNEED on {count} data files" in stream.getvalue()
