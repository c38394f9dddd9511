"""The benchmark of `podium review code` generates rounds and measures their review."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import code_review


def test_a_small_round_is_generated_and_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"SUBMITTERS": 5, "OWN_FILES": 4, "LIBRARY_FILES": 30, "LIBRARIES": 2}
    for name, value in {**sizes, "DATA_FILES": 1, "DATA_LINES": 10}.items():
        monkeypatch.setattr(code_review, name, value)
    for name in ("5.0", "5.1"):
        code_review.Maker().round(tmp_path, name)
    # The measurement is printed even if a busy machine misses the goal
    code_review.measure(tmp_path)
    out = capsys.readouterr().out
    assert "compared with round 5.0" in out
    assert "s of processor time (goal 60)" in out
