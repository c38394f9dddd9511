"""`podium rules points`: a new round inherits the reference points of an earlier round."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.rulebook.points import carry_points
from podium.rules.catalogue import find_round
from podium.rules.convergence import data
from podium.rules.convergence.data import points_of
from tests.compliance import command_line

DATA = Path(data.__file__).parent / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the reference points of training rounds."""
    shutil.copytree(DATA / "training", tmp_path / "training")
    return tmp_path


def test_a_kept_benchmark_inherits_the_points_of_the_previous_round(folder: Path) -> None:
    old = find_round("training", "6.1")
    new = old.next("6.2", retires=("flux1",))
    written = carry_points(old, new, folder)
    assert [path.stem for path in written] == [
        name for name in new.benchmarks if points_of("training", "6.1", name)
    ]
    for path in written:
        before = json.loads((DATA / "training" / path.name).read_text())
        after = json.loads(path.read_text())
        assert after.pop("rounds") == before["rounds"] | {"6.2": before.pop("rounds")["6.1"]}
        assert after == before
    others = {path.name for path in folder.rglob("*.json")} - {path.name for path in written}
    assert "flux1.json" in others
    for name in others:
        path = folder / "training" / name
        assert path.read_bytes() == (DATA / "training" / name).read_bytes()


def test_each_round_is_on_a_separate_line(folder: Path) -> None:
    old = find_round("training", "6.1")
    [path] = [
        path
        for path in carry_points(old, old.next("6.2", retires=("flux1",)), folder)
        if path.stem == "llama31_8b"
    ]
    assert path.read_text().endswith('"6.1":[0,1,2,3,4],\n"6.2":[0,1,2,3,4]\n}}\n')


def test_a_round_that_has_points_is_not_changed() -> None:
    done = command_line.podium("rules", "points", "6.0", "6.1")
    assert (done.exit_code, done.stdout) == (0, "")


def test_points_cannot_be_carried_over_to_another_usage(folder: Path) -> None:
    with pytest.raises(UsageFault, match="different usages"):
        carry_points(find_round("hpc", "3.0"), find_round("training", "6.1"), folder)
