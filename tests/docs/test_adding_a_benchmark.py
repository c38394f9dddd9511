"""`docs/adding_a_benchmark.md`, followed on a copy of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.logging_spec import read_log
from tests.docs.pages import copied


@pytest.mark.long
def test_following_the_page_gives_a_successful_training_run(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    copy.follow("adding_a_benchmark.md")
    records = read_log(tmp_path / "logs" / "result_0.txt").records
    assert records[0].key == "cache_clear"
    stop = next(record for record in records if record.key == "run_stop")
    assert stop.metadata["status"] == "success"
    assert "xor" in copy.podium("run", "--list").stdout
