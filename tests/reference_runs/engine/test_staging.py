"""Staging: the ranks of a node copy a folder together."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

torch = pytest.importorskip("torch")

from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.engine import staging  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402

PATIENCE = 300
"""Seconds that a rank waits for a failed rank."""


class Together(Ranks):
    """A rank of a node that is a thread of this process."""

    shelf: ClassVar[dict[int, Any]] = {}
    meeting: ClassVar = threading.Barrier(2)

    def gather(self, mine: Any) -> list[Any]:
        self.shelf[self.rank] = mine
        self.meeting.wait(PATIENCE)
        everyone = [self.shelf[rank] for rank in range(self.world)]
        # A fast rank must not overwrite a value that a slow rank has not read yet
        self.meeting.wait(PATIENCE)
        return everyone


def test_ranks_of_a_node_stage_all_files_into_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        (tmp_path / f"part-{number % 2}").mkdir(exist_ok=True)
        (tmp_path / f"part-{number % 2}" / f"{number}.npy").write_bytes(bytes([number]) * 100)
    local = threading.local()
    monkeypatch.setattr(staging, "local_rank", lambda: local.rank)
    monkeypatch.setattr(staging, "ranks_per_node", lambda: 2)
    found: dict[int, staging.Folder] = {}

    def work(rank: int) -> None:
        local.rank = rank
        with Logger(io.StringIO(), rank=rank) as log:
            found[rank] = staging.stage(log, tmp_path, Together(torch.device("cpu"), rank, 2))

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0].path == found[1].path
    near = sorted(path.relative_to(found[0].path) for path in found[0].path.rglob("*.npy"))
    assert near == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.npy"))
    assert all((found[0].path / p).read_bytes() == (tmp_path / p).read_bytes() for p in near)


def test_the_staged_folder_is_deleted_with_its_object(tmp_path: Path) -> None:
    (tmp_path / "one.npy").write_bytes(b"1")
    with Logger(io.StringIO(), rank=0) as log:
        near = staging.stage(log, tmp_path, Ranks(torch.device("cpu")))
    there = near.path
    assert (there / "one.npy").is_file()
    del near
    assert not there.exists()
