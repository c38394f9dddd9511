"""`podium profile --roofs all`: four rates, the work of a step, and the limit that binds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.judging.systems.probe.topology import DeviceLink
from podium.compliance.reporting.profiled.page import render
from tests.compliance import command_line

pytest.importorskip("torch")

from podium.reference_runs.profiling.profile import Limit, Roofs
from podium.reference_runs.profiling.text import roofs_lines

STEPS = 5
"""The number of recorded steps."""
FAST = ("--device", "cpu", "--turns", "1", "--steps", "3", "--utilisation", "none")


def podium(*words: object) -> tuple[int, str, str]:
    done = command_line.podium(*words)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a profile and the printed text."""
    folder = tmp_path_factory.mktemp("roofs") / "out"
    status, out, err = podium("profile", "ncf", *FAST, "--roofs", "all", "--output", folder)
    assert (status, err) == (0, "")
    return folder, out


@pytest.fixture
def profile(made: tuple[Path, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made[0] / "profile.json").read_text())
    return found


def test_one_rank_has_three_limits(made: tuple[Path, str], profile: dict[str, Any]) -> None:
    limits = profile["roofs"]["limits"]
    assert [each["name"] for each in limits] == ["computing", "memory", "reading data"]
    for each in limits:
        assert each["ms"] == pytest.approx(each["per_step"] / each["per_s"] * 1000)
        assert f"  {each['name']} " in made[1]
    assert max(map(len, made[1].splitlines())) <= 80


def test_the_work_is_that_of_all_operators(profile: dict[str, Any]) -> None:
    work = {each["name"]: each["per_step"] for each in profile["roofs"]["limits"]}
    assert work["computing"] == sum(each["flop"] for each in profile["operators"])
    assert work["memory"] >= sum(each["bytes"] for each in profile["operators"])
    # A sample has two indices of 8 bytes and a label of 4
    assert work["reading data"] == profile["global_batch_size"] * 20


def test_the_limit_with_the_longest_time_binds(
    made: tuple[Path, str], profile: dict[str, Any]
) -> None:
    roofs = profile["roofs"]
    longest = max(roofs["limits"], key=lambda each: each["ms"])
    assert (roofs["binds"], roofs["least_ms"]) == (longest["name"], longest["ms"])
    assert f"{roofs['binds']} binds: at least " in made[1]


def test_a_limit_longer_than_a_step_is_explained() -> None:
    slow = Limit(name="memory", per_s=1e6, per_step=1e5, ms=100, intensity=2)
    roofs = Roofs(limits=(slow,), binds="memory", least_ms=100, step_ms=40)
    assert roofs_lines(roofs)[-2:] == [
        "memory binds: at least 100 ms at this rate, but a step takes 40 ms;",
        "other work on the machine slowed the measurement of the rate",
    ]
    roofs = Roofs(limits=(slow,), binds="memory", least_ms=100, step_ms=160)
    assert roofs_lines(roofs)[-1] == "memory binds: at least 100 ms of the 160 ms of a step (62%)"


def test_the_page_has_a_chart_with_a_line_for_each_roof(
    made: tuple[Path, str], profile: dict[str, Any]
) -> None:
    text = (made[0] / "profile.html").read_text()
    assert "Limits of a step" in text
    picture = text[text.index('class="roofline roofs"') :].partition("</svg>")[0]
    assert picture.count("<polyline") == 1 + 2
    assert picture.count("<circle") == 2
    # A profile of an earlier version has no roofs
    old = {name: value for name, value in profile.items() if name != "roofs"}
    assert "Limits of a step" not in render(old)


@pytest.mark.long
def test_two_ranks_also_have_the_limit_of_all_reduce(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    few = (*FAST, "--processes", "2", "--threads", "1", "--roofs", "all", "--output", str(folder))
    words = (sys.executable, "-m", "podium", "profile", "ncf", *few)
    subprocess.run(words, check=True, capture_output=True, timeout=300)
    profile = json.loads((folder / "profile.json").read_text())
    limits = {each["name"]: each for each in profile["roofs"]["limits"]}
    # All gradients, and the loss and the number of samples in double precision
    gradients = 4 * profile["layers"][0]["parameters"]
    assert limits["all-reduce"]["per_step"] == gradients + 16
    # Both collectives of a step wait for the other rank
    (collective,) = profile["collectives"]
    assert (collective["name"], collective["calls"]) == ("gloo:all_reduce", 2 * STEPS)
    assert collective["ms"] >= collective["transfer_ms"] > 0
    assert "skew" in (folder / "profile.html").read_text()


def test_the_idle_time_of_a_profile_has_causes(
    made: tuple[Path, str], profile: dict[str, Any]
) -> None:
    causes = {each["name"] for each in profile["idle"]}
    assert causes == {"host: Python, outside of operators", "host: data loader"}
    assert sum(each["ms"] for each in profile["critical"]) > sum(
        each["ms"] for each in profile["idle"]
    )
    assert "idle time of a recorded step by cause (ms)" in made[1]
    assert "Idle time by cause" in (made[0] / "profile.html").read_text()


def test_a_profile_contains_the_links_between_accelerators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = [DeviceLink(0, 1, "NV18"), DeviceLink(0, 2, "SYS"), DeviceLink(1, 2, "SYS")]
    monkeypatch.setattr("podium.compliance.cli.running.topology.device_links", lambda: links)
    words = ("profile", "ncf", *FAST[2:], "--level", "run", "--output", tmp_path / "out")
    status, out, _ = podium(*words)
    assert status == 0
    assert "links between pairs of accelerators: SYS x2, NV18 x1" in out
    kept = json.loads((tmp_path / "out/profile.json").read_text())
    assert kept["topology"][0] == {"first": 0, "second": 1, "link": "NV18"}


def test_roofs_need_the_kernels_level() -> None:
    status, out, err = podium("profile", "ncf", "--roofs", "all", "--level", "run")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--roofs all counts the operators of a step: omit --level run" in err
