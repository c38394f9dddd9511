"""Staging: several ranks of a node copy a folder together, each its share."""

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
"""Seconds after which a rank that waits for a failed one ends."""


class Together(Ranks):
    """Ranks of one node that are threads of one process."""

    shelf: ClassVar[dict[int, Any]] = {}
    meeting: ClassVar = threading.Barrier(2)

    def gather(self, mine: Any) -> list[Any]:
        self.shelf[self.rank] = mine
        self.meeting.wait(PATIENCE)
        everyone = [self.shelf[rank] for rank in range(self.world)]
        # The next gathering of a fast rank must not replace what a slow one has not read
        self.meeting.wait(PATIENCE)
        return everyone


def test_ranks_of_a_node_share_one_folder_and_the_copying(
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


def test_the_nodes_folder_goes_when_its_maker_lets_go(tmp_path: Path) -> None:
    (tmp_path / "one.npy").write_bytes(b"1")
    with Logger(io.StringIO(), rank=0) as log:
        near = staging.stage(log, tmp_path, Ranks(torch.device("cpu")))
    there = near.path
    assert (there / "one.npy").is_file()
    del near
    assert not there.exists()
