"""The table of submissions that `podium review` prints for a terminal."""

from __future__ import annotations

from pathlib import Path

from tests.compliance.command_line import podium
from tests.compliance.trees import good


def test_columns_are_aligned_with_their_headers(tmp_path: Path) -> None:
    place = tmp_path / "training_results_v5.1"
    good(place, "training", "5.1", "llama31_405b")
    lines = podium("review", place, "--no-curves").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("submitter"))
    head, row = lines[at : at + 2]
    assert row.startswith("Acme ")
    assert row.index("accepted") == head.index("policy")
    assert row.rindex("accepted") == head.index("official")
