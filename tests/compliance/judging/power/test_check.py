from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.judging.power.check import PoweredRun, PowerVerdict, check_power
from podium.rules.catalogue import find_round
from podium.rules.finding import Finding, Profile

POLICY, VERIFIER = Profile.POLICY, Profile.VERIFIER

DAY = 86_400_000
START = 20_000 * DAY
STOP = START + 100_000
"""A run of 100 s."""


def line(time: Any, key: str, value: Any = None, **metadata: Any) -> str:
    record = {"namespace": "", "time_ms": time, "event_type": "POINT_IN_TIME", "key": key}
    return ":::MLLOG " + json.dumps(record | {"value": value, "metadata": metadata}) + "\n"


def began(time: int = START - 1000) -> str:
    return line(time, "power_measurement_start")


def ended(time: int = STOP + 1000) -> str:
    return line(time, "power_measurement_stop")


def readings(
    first: int = START, last: int = STOP + 1000, every: int = 1000, watts: Any = 500
) -> str:
    return "".join(line(time, "power_reading", watts) for time in range(first, last + 1, every))


GOOD = began() + readings() + ended()


def measured(tmp_path: Path) -> Path:
    """Create a result of ten runs, each with one good node log."""
    folder = tmp_path / "results" / "system" / "bert"
    for index in range(10):
        write(folder, {"node_0.txt": GOOD}, index)
    return folder


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return measured(tmp_path)


def write(folder: Path, files: dict[str, str], index: int = 3) -> Path:
    """Write files into the power folder of one run."""
    place = folder / "power" / f"result_{index}"
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name).write_text(text)
    return place


def runs() -> list[PoweredRun]:
    return [PoweredRun(f"result_{index}", START, STOP) for index in range(10)]


def checked(folder: Path, profile: Profile = POLICY, nodes: int | None = 1) -> PowerVerdict:
    rules = find_round("training", "5.0")
    return check_power(folder, runs(), nodes, rules, profile, lambda p: str(p.relative_to(folder)))


def reported(verdict: PowerVerdict) -> list[tuple[str, str, str]]:
    return [(f.id, f.severity.value, f.path) for f in verdict.findings]


def only(verdict: PowerVerdict) -> Finding:
    [finding] = verdict.findings
    return finding


# --- good input ---


@pytest.mark.parametrize("profile", list(Profile))
def test_good_logs_have_no_findings(result: Path, profile: Profile) -> None:
    verdict = checked(result, profile)
    assert verdict.findings == []
    assert not verdict.blamed
    assert not verdict.crashed


@pytest.mark.parametrize("profile", list(Profile))
def test_a_missing_power_folder_is_accepted(tmp_path: Path, profile: Profile) -> None:
    assert checked(tmp_path, profile) == PowerVerdict()


def test_measured_and_estimated_switches_are_accepted(result: Path) -> None:
    for index in range(10):
        estimate = line(START, "interconnect_power_est", 100)
        write(result, {"sw_0.txt": GOOD, "sw_1.txt": estimate}, index)
    verdict = checked(result)
    assert verdict.findings == []
    assert verdict.energies["result_3"] == pytest.approx(500 * 100 + 500 * 100 + 100 * 100)


# --- names ---


@pytest.mark.parametrize("profile", list(Profile))
def test_a_run_without_a_power_folder_is_an_error(result: Path, profile: Profile) -> None:
    shutil.rmtree(result / "power" / "result_5")
    verdict = checked(result, profile)
    assert reported(verdict) == [("power.no-run-folder", "error", "power/result_5")]
    assert verdict.blamed == {"result_5"}
    assert verdict.energies["result_5"] is None


@pytest.mark.parametrize("profile", list(Profile))
def test_file_numbers_must_begin_at_0(result: Path, profile: Profile) -> None:
    place = result / "power" / "result_3"
    (place / "node_0.txt").rename(place / "node_1.txt")
    verdict = checked(result, profile)
    assert reported(verdict) == [("power.numbering", "error", "power/result_3")]
    assert verdict.blamed == {"result_3"}


@pytest.mark.parametrize("profile", list(Profile))
def test_all_runs_must_have_the_same_number_of_files(result: Path, profile: Profile) -> None:
    write(result, {"node_1.txt": GOOD})
    for index in range(10):
        write(result, {"sw_0.txt": GOOD}, index)
    assert reported(checked(result, profile)) == [("power.file-count", "error", "power/result_3")]


def test_a_missing_folder_makes_the_official_verifier_blame_another_run(result: Path) -> None:
    shutil.rmtree(result / "power" / "result_5")
    write(result, {"node_1.txt": GOOD}, 7)
    verdict = checked(result, VERIFIER)
    assert verdict.blamed == {"result_5", "result_6"}
    assert "reports this for result_6" in verdict.findings[1].message


def test_a_number_of_files_other_than_the_number_of_nodes_is_a_warning(result: Path) -> None:
    for index in range(10):
        write(result, {"sw_0.txt": GOOD}, index)
    assert checked(result, VERIFIER, nodes=2).findings == []
    assert checked(result, nodes=None).findings == []
    finding = only(checked(result, nodes=2))
    assert (finding.id, finding.severity, finding.path) == ("power.node-count", "warning", "power")
    assert finding.message == "runs have 1 node files; the system has 2 nodes"


@pytest.mark.parametrize(
    "name", ["plot.png", "total_power.txt", "node_0.log", "node_00.txt", "Node_0"]
)
def test_other_files_are_reported_with_their_names(result: Path, name: str) -> None:
    write(result, {name: ""})
    found = {finding.id: finding for finding in checked(result).findings}
    assert found["power.stray-file"].path == "power/result_3"
    assert name in found["power.stray-file"].message


def test_a_file_that_only_the_official_verifier_counts_is_a_warning(result: Path) -> None:
    write(result, {"nodes_1_to_8.png": ""})
    assert checked(result, VERIFIER).blamed == {"result_3"}
    found = {finding.id: finding.severity.value for finding in checked(result).findings}
    assert found == {"power.verifier-names": "warning", "power.stray-file": "warning"}


def test_surplus_run_folders_are_reported_by_the_policy(result: Path) -> None:
    shutil.copytree(result / "power" / "result_3", result / "power" / "result_10")
    assert checked(result, VERIFIER).findings == []
    finding = only(checked(result))
    assert (finding.id, finding.path) == ("power.surplus", "power")
    assert finding.message == "result_10: not the name of a run of this result"


@pytest.mark.parametrize("name", ["node_a.txt", "node.txt", "switch.txt", "node_0.txt.gz"])
def test_a_crash_of_the_official_verifier_on_a_file_name_is_reported(
    result: Path, name: str
) -> None:
    write(result, {name: ""})
    verdict = checked(result, VERIFIER)
    assert verdict.crashed
    assert verdict.findings[0].id == "power.verifier-crash"
    assert verdict.findings[0].severity == "error"
    assert checked(result).findings[0].severity == "warning"


@pytest.mark.parametrize("what", ["empty", "file", "broken link"])
def test_an_invalid_power_folder_crashes_the_official_verifier(result: Path, what: str) -> None:
    power = result / "power"
    shutil.rmtree(power)
    if what == "empty":
        power.mkdir()
    elif what == "file":
        power.write_text("")
    else:
        power.symlink_to("nowhere")
    for profile in Profile:
        verdict = checked(result, profile)
        assert verdict.crashed
        assert len(verdict.findings) == 11


def test_a_run_folder_that_is_a_file_crashes_the_official_verifier(result: Path) -> None:
    shutil.rmtree(result / "power" / "result_3")
    (result / "power" / "result_3").write_text("")
    assert checked(result, VERIFIER).crashed
    assert checked(result).crashed


def test_links_out_of_the_result_are_not_followed(result: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(GOOD)
    place = result / "power" / "result_3"
    (place / "node_0.txt").unlink()
    (place / "node_0.txt").symlink_to(outside)
    finding = only(checked(result))
    assert (finding.id, finding.path) == ("power.unreadable", "power/result_3/node_0.txt")
    (place / "node_0.txt").unlink()
    (place / "node_0.txt").symlink_to("node_0.txt")  # a link to itself
    assert only(checked(result)).id == "power.unreadable"


def test_power_logs_of_a_round_without_power_rules_are_a_note(result: Path) -> None:
    rules = find_round("training", "3.0")
    verdict = check_power(result, runs(), 1, rules, POLICY, str)
    assert [(f.id, f.severity.value) for f in verdict.findings] == [("power.too-early", "note")]


# --- interconnect and values ---


@pytest.mark.parametrize(("nodes", "fault"), [(1, False), (2, True), (None, True)])
def test_a_system_of_several_nodes_needs_interconnect_logs(
    result: Path, nodes: int | None, fault: bool
) -> None:
    for index in range(10) if nodes != 1 else ():
        write(result, {"node_1.txt": GOOD}, index)
    found = [f for f in checked(result, nodes=nodes).findings if f.id == "power.no-interconnect"]
    assert [finding.path for finding in found] == ["power"] * fault
    assert checked(result, VERIFIER, nodes).findings == []


def test_every_run_needs_an_interconnect_log(result: Path) -> None:
    for index in range(10):
        write(result, {"node_1.txt": GOOD}, index)
        if index != 4:
            write(result, {"sw_0.txt": GOOD}, index)
    [finding] = [f for f in checked(result, nodes=2).findings if f.id == "power.no-interconnect"]
    assert finding.message.startswith("1 of 10 runs have no sw file, including result_4; expected ")


@pytest.mark.parametrize(("watts", "fault"), [(0, True), (0.5, False), (100, False)])
def test_an_interconnect_power_of_0_is_reported(result: Path, watts: float, fault: bool) -> None:
    estimate = line(START, "interconnect_power_est", watts)
    measured = began() + readings(watts=watts) + ended()
    for index in range(10):
        write(result, {"sw_0.txt": estimate, "sw_1.txt": measured}, index)
    found = [f for f in checked(result).findings if f.id == "power.no-watts"]
    assert len(found) == 10 * fault


@pytest.mark.parametrize(
    ("watts", "fault"),
    [(0, True), (1, True), (19.9, True), (20, False), (300_000, False), (300_001, True)],
)
def test_an_implausible_node_power_is_reported(result: Path, watts: float, fault: bool) -> None:
    write(result, {"node_0.txt": began() + readings(watts=watts) + ended()})
    found = [f for f in checked(result).findings if f.id == "power.implausible"]
    assert [finding.path for finding in found] == ["power/result_3/node_0.txt"] * fault


@pytest.mark.parametrize(("share", "fault"), [(1, False), (1.01, True), (0, True), (0.01, False)])
def test_an_efficiency_outside_0_to_1_is_reported(result: Path, share: float, fault: bool) -> None:
    efficiency = line(START, "conversion_eff", share, measurement_type="DC")
    write(result, {"node_0.txt": efficiency + GOOD})
    assert ("power.efficiency" in [f.id for f in checked(result).findings]) == fault
