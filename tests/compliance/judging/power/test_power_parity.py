"""Power checks compared with the official checker: the blamed runs and the total energy."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import math
import os
import random
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.judging.power.check import PoweredRun, check_power
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import find_round
from podium.rules.finding import Severity
from podium.rules.run import Run
from tests.compliance.judging.power.test_check import POLICY, VERIFIER, line, write
from tests.locations import CORPUS

POOL = ["node_0.txt", "node_1.txt", "node_2.txt", "sw_0.txt", "sw_1.txt", "plot.png", "node_00.txt"]
POOL += ["nodes_1_to_2.png", "node_0.log", "x", "Node_0.txt", "node_-1.txt", "switch_0.txt"]
CRASHING = ["node_a.txt", "node.txt", "sw", "switch.txt", "node_0.txt.gz"]


def random_names(chance: random.Random, stems: list[str]) -> dict[str, list[str]]:
    base = chance.choice(
        [["node_0.txt"], ["node_0.txt", "node_1.txt"], ["node_0.txt", "sw_0.txt"], ["node_1.txt"]]
    )
    files = {stem: list(base) for stem in stems}
    for _ in range(chance.randint(0, 4)):
        stem = chance.choice(stems)
        if chance.random() < 0.35:
            files.pop(stem, None)
        else:
            files[stem] = chance.sample(POOL, chance.randint(0, 3)) + base
    if chance.random() < 0.1:
        files[chance.choice(stems)] = [chance.choice(CRASHING)]
    return files


@contextlib.contextmanager
def silence() -> Any:
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(disabled)


def incumbent_blames(folder: Path) -> frozenset[str] | None:
    module = importlib.import_module("mlperf_logging.package_checker.power_checker")
    logs = sorted(str(path) for path in folder.glob("result_*.txt"))
    with silence():
        try:
            return frozenset(
                module.PowerChecker("5.0.0").check_power(str(folder / "power"), logs)[1]
            )
        except (ValueError, OSError):
            return None


def test_the_official_checker_blames_the_same_runs(tmp_path: Path) -> None:
    chance = random.Random(4)
    rules = find_round("training", "5.0")
    seen = set()
    for number in range(300):
        folder = tmp_path / str(number)
        stems = [f"result_{index + number % 2}" for index in range(10)]
        (folder / "power").mkdir(parents=True)
        for stem in stems:
            (folder / f"{stem}.txt").write_text("")
        for stem, names in random_names(chance, stems).items():
            (folder / "power" / stem).mkdir()
            for name in names:
                (folder / "power" / stem / name).write_text("")
        marks = [PoweredRun(stem, None, None) for stem in stems]
        verdict = check_power(folder, marks, 1, rules, VERIFIER, str)
        blames = incumbent_blames(folder)
        assert (None if verdict.crashed else verdict.blamed) == blames, os.listdir(folder / "power")
        errors = any(finding.severity is Severity.ERROR for finding in verdict.findings)
        assert errors == bool(blames or verdict.crashed)
        seen.add("crash" if blames is None else len(blames))
    assert {"crash", 0, 1, 2} <= seen


def random_log(chance: random.Random) -> str:
    text = line(0, "power_measurement_start") if chance.random() < 0.8 else ""
    for _ in range(chance.randint(0, 8)):
        time = chance.choice([0, 0, 500, 1000, 1000, 2000, 2500, 3000, 4000])
        watts: Any = chance.choice([100, 200, 300, 0, 1.5, -5])
        if chance.random() < 0.03:
            watts = chance.choice(["1", None, [1], True, 10**400, math.nan])
        key = chance.choice(
            ["power_measurement_start", "power_measurement_stop", *(["power_reading"] * 4), "other"]
            if chance.random() < 0.7
            else ["conversion_eff", "interconnect_power_est"]
        )
        text += line(time, key, watts)
        text += chance.choice(["", "", "", "", "noise\n", ":::MLLOG {\n"])
    return text + chance.choice(["", "", "", "", "", ":::MLLOG [1]\n"])


def incumbent_energy(folder: Path, duration: float) -> float | None:
    module = importlib.import_module("mlperf_logging.result_summarizer.result_summarizer")
    total: Any = vars(module)["_compute_total_power"]
    with silence():
        try:
            return float(total(str(folder), str(folder / "result_0.txt"), duration, "5.0.0"))
        except Exception:
            return None


def test_the_official_checker_computes_the_same_energy(tmp_path: Path) -> None:
    chance = random.Random(5)
    rules = find_round("training", "5.0")
    reported = 0
    for number in range(400):
        folder = tmp_path / str(number)
        kinds = ["node_0.txt", *chance.choice([(), ("node_1.txt",), ("sw_0.txt",), ("sw_a.txt",)])]
        write(folder, {name: random_log(chance) for name in kinds}, 0)
        one = [PoweredRun("result_0", 1000.0, 61_000.0)]
        ours = check_power(folder, one, 1, rules, VERIFIER, str).energies["result_0"]
        theirs = incumbent_energy(folder, 60_000.0)
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs is not None:
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9, nan_ok=True)
            reported += 1
        check_power(folder, one, 1, rules, POLICY, str)
    assert reported > 100


@pytest.mark.corpus
def test_published_power_logs_have_the_expected_findings_and_energy() -> None:
    """Logs of 4.0 have a reading every two seconds, and a stop with the time of the start."""
    found = sorted(CORPUS.glob("*_results_v*/*/results/**/power"))
    assert found
    for power in found:
        marks = []
        for path in sorted(power.parent.glob("result_*.txt")):
            run = Run(read_log(path).records)
            start, stop = run.first("run_start"), run.first("run_stop")
            assert start is not None
            assert stop is not None
            marks.append(PoweredRun(path.stem, start.time_ms, stop.time_ms))
        verdict = check_power(power.parent, marks, 1, find_round("training", "4.0"), POLICY, str)
        assert {finding.id for finding in verdict.findings} == {"power.markers", "power.cadence"}
        assert all(1e6 < (energy or 0) < 5e6 for energy in verdict.energies.values())
        assert incumbent_blames(power.parent) == verdict.blamed == frozenset()
