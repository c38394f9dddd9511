"""Cases of power logs: a result of ten runs with good logs and one change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from podium.compliance.judging.power.check import check_power
from podium.rules.catalogue import find_round
from podium.rules.finding import Finding, Profile
from tests.compliance.judging.power.test_check import (
    DAY,
    GOOD,
    START,
    STOP,
    began,
    checked,
    ended,
    line,
    measured,
    readings,
    runs,
    write,
)
from tests.compliance.rulebook.case import Case, Reported

Change = Callable[[Path], object]


def nothing(folder: Path) -> None:
    """Leave a good result unchanged."""


def changed(change: Change = nothing, nodes: int = 1) -> Reported:
    def case(tmp_path: Path, profile: str) -> list[Finding]:
        folder = measured(tmp_path)
        change(folder)
        return checked(folder, Profile(profile), nodes).findings

    return case


def of_round(name: str) -> Reported:
    def case(tmp_path: Path, profile: str) -> list[Finding]:
        rules = find_round("training", name)
        return check_power(measured(tmp_path), runs(), 1, rules, Profile(profile), str).findings

    return case


def log(text: str) -> Case:
    """A case in which the log of one node has this text."""
    return Case(changed(lambda folder: write(folder, {"node_0.txt": text})), changed())


def beside(name: str) -> Case:
    """A case with an extra file next to the log of one node."""
    return Case(changed(lambda folder: write(folder, {name: GOOD})), changed())


def without_folder(folder: Path) -> None:
    shutil.rmtree(folder / "power" / "result_5")


def from_one(folder: Path) -> None:
    run = folder / "power" / "result_3"
    (run / "node_0.txt").rename(run / "node_1.txt")


def surplus(folder: Path) -> None:
    shutil.copytree(folder / "power" / "result_3", folder / "power" / "result_10")


def two_nodes(folder: Path) -> None:
    for index in range(10):
        write(folder, {"node_1.txt": GOOD}, index)


def with_switch(folder: Path) -> None:
    two_nodes(folder)
    switch_of(100)(folder)


def switch_of(watts: float) -> Change:
    def change(folder: Path) -> None:
        for index in range(10):
            write(folder, {"sw_0.txt": line(START, "interconnect_power_est", watts)}, index)

    return change


def swapped() -> str:
    lines = GOOD.splitlines(keepends=True)
    lines[50], lines[51] = lines[51], lines[50]
    return "".join(lines)


CASES: dict[str, Case] = {
    "power.verifier-crash": beside("node_a.txt"),
    "power.no-run-folder": Case(changed(without_folder), changed()),
    "power.numbering": Case(changed(from_one), changed()),
    "power.file-count": beside("node_1.txt"),
    "power.node-count": Case(changed(nodes=2), changed(nodes=1)),
    "power.no-interconnect": Case(changed(two_nodes, nodes=2), changed(with_switch, nodes=2)),
    "power.no-watts": Case(changed(switch_of(0)), changed(switch_of(100))),
    "power.implausible": log(began() + readings(watts=1) + ended()),
    "power.verifier-names": beside("nodes_1_to_8.png"),
    "power.stray-file": beside("plot.png"),
    "power.surplus": Case(changed(surplus), changed()),
    "power.too-early": Case(of_round("3.0"), of_round("5.0")),
    "power.unreadable": log(GOOD + ":::MLLOG {\n"),
    "power.no-readings": log(began() + ended()),
    "power.bad-reading": log(began() + line(START - 500, "power_reading", "500") + GOOD),
    "power.efficiency": log(line(START, "conversion_eff", 1.2, measurement_type="AC") + GOOD),
    "power.measurement-type": log(line(START, "conversion_eff", 0.9) + GOOD),
    "power.markers": log(began() + readings()),
    "power.unordered": log(swapped()),
    "power.clock": log(began(START - DAY) + readings(START - DAY, STOP - DAY) + ended()),
    "power.coverage": log(began() + readings(last=STOP - 9000) + ended(STOP)),
    "power.cadence": log(
        began() + readings(last=START + 40_000) + readings(START + 44_000) + ended()
    ),
    "power.too-few-readings": log(began() + readings(every=2000) + ended()),
    "power.no-summary": log(began() + readings() + ended(START - 1000)),
}
