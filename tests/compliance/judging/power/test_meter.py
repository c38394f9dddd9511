"""Power logs: their errors and the energy that they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance.judging.power.check import PoweredRun, PowerVerdict, check_power
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile, Severity
from tests.compliance.judging.power.test_check import (
    DAY,
    GOOD,
    POLICY,
    START,
    STOP,
    VERIFIER,
    began,
    checked,
    ended,
    line,
    only,
    readings,
    result,
    write,
)

__all__ = ["result"]

NOTED = {"stop when it starts"}
"""Errors of many published logs whose energy can still be computed."""

FAULTS: dict[str, tuple[str, str, int | None]] = {
    "no line at all": ("", "power.no-readings", None),
    "no readings": (began() + ended(), "power.no-readings", None),
    "a broken line": (GOOD + ":::MLLOG {\n", "power.unreadable", 105),
    "watts as text": (
        began() + line(START - 500, "power_reading", "500") + GOOD,
        "power.bad-reading",
        2,
    ),
    "no watts": (began() + line(START, "power_reading", "n/a") + GOOD, "power.bad-reading", 2),
    "watts below 0": (began() + line(START, "power_reading", -1) + GOOD, "power.bad-reading", 2),
    "watts true": (began() + line(START, "power_reading", True) + GOOD, "power.bad-reading", 2),
    "efficiency above 1": (
        line(START, "conversion_eff", 1.2, measurement_type="AC") + GOOD,
        "power.efficiency",
        1,
    ),
    "efficiency 0": (
        line(START, "conversion_eff", 0, measurement_type="AC") + GOOD,
        "power.efficiency",
        1,
    ),
    "efficiency as a word": (
        line(START, "conversion_eff", "high", measurement_type="DC") + GOOD,
        "power.efficiency",
        1,
    ),
    "no measurement type": (line(START, "conversion_eff", 0.9) + GOOD, "power.measurement-type", 1),
    "another measurement type": (
        line(START, "conversion_eff", 0.9, measurement_type="ac") + GOOD,
        "power.measurement-type",
        1,
    ),
    "no start": (readings(START - 1000) + ended(), "power.markers", 104),
    "no stop": (began() + readings(), "power.markers", 1),
    "stop when it starts": (began() + readings() + ended(START - 1000), "power.markers", 104),
    "two starts": (began(START - 2000) + GOOD, "power.markers", 105),
    "readings after stop": (began() + ended(START) + readings(), "power.markers", 2),
    "another day": (
        began(START - DAY) + readings(START - DAY, STOP - DAY) + ended(),
        "power.clock",
        2,
    ),
    "after the run": (
        began(STOP + 5000) + readings(STOP + 6000, STOP + 99_000) + ended(STOP + 99_000),
        "power.clock",
        2,
    ),
    "late": (began(START + 9000) + readings(START + 10_000) + ended(), "power.coverage", 2),
    "ends early": (began() + readings(last=STOP - 9000) + ended(STOP), "power.coverage", 93),
    "a gap": (
        began() + readings(last=START + 40_000) + readings(START + 44_000) + ended(),
        "power.cadence",
        43,
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_an_error_in_one_log_is_reported_with_its_line(result: Path, case: str) -> None:
    text, rule, place = FAULTS[case]
    write(result, {"node_0.txt": text})
    found = {finding.id: finding for finding in checked(result).findings}
    assert rule in found
    weight = Severity.NOTE if case in NOTED else Severity.WARNING
    assert found[rule].severity is weight
    assert (found[rule].path, found[rule].line) == ("power/result_3/node_0.txt", place)
    allowed = {"watts as text", "no watts", "watts below 0", "watts true"}
    assert case in allowed or set(found) == {rule}
    names = [finding.id for finding in checked(result, VERIFIER).findings]
    assert set(names) <= {"power.no-summary"}


def test_a_stop_that_repeats_the_start_is_a_note(result: Path) -> None:
    write(result, {"node_0.txt": began() + readings() + ended(START - 1000)})
    assert only(checked(result)).severity is Severity.NOTE
    write(result, {"node_0.txt": began() + readings() + ended(START - 1001)})
    assert only(checked(result)).severity is Severity.WARNING


@pytest.mark.parametrize(("every", "severity"), [(3000, Severity.NOTE), (3001, Severity.WARNING)])
def test_one_missing_reading_is_only_a_note(result: Path, every: int, severity: Severity) -> None:
    gap = readings(last=START + 40_000) + readings(START + 40_000 + every)
    write(result, {"node_0.txt": began() + gap + ended()})
    [cadence] = [f for f in checked(result).findings if f.id == "power.cadence"]
    assert cadence.severity is severity


def test_a_meter_that_is_not_read_every_second_is_an_error(result: Path) -> None:
    write(result, {"node_0.txt": began() + readings(every=2000) + ended()})
    [cadence] = [f for f in checked(result).findings if f.id == "power.cadence"]
    assert cadence.severity is Severity.ERROR


def test_sixty_readings_are_enough(result: Path) -> None:
    def short(seconds: int) -> PowerVerdict:
        stop = START + seconds * 1000
        text = began() + readings(START, stop) + ended(stop)
        for index in range(10):
            write(result, {"node_0.txt": text}, index)
        short_runs = [PoweredRun(f"result_{index}", START, stop) for index in range(10)]
        return check_power(result, short_runs, 1, find_round("hpc", "3.0"), POLICY, str)

    assert short(59).findings == []
    assert {finding.id for finding in short(58).findings} == {"power.too-few-readings"}


def test_readings_out_of_order_are_a_note(result: Path) -> None:
    lines = GOOD.splitlines(keepends=True)
    lines[50], lines[51] = lines[51], lines[50]
    write(result, {"node_0.txt": "".join(lines)})
    finding = only(checked(result))
    assert (finding.id, finding.severity, finding.line) == ("power.unordered", "note", 52)


def test_findings_of_one_rule_in_one_run_are_merged(result: Path) -> None:
    slow = began() + readings(every=2000) + ended()
    for index in range(10):
        write(result, {"node_0.txt": GOOD, "node_1.txt": GOOD, "sw_0.txt": GOOD}, index)
    write(result, {"node_0.txt": slow, "node_1.txt": slow})
    verdict = checked(result, nodes=2)
    assert [finding.id for finding in verdict.findings] == [
        "power.cadence",
        "power.too-few-readings",
    ]
    assert "(and 1 more in 2 files of this run)" in verdict.findings[0].message


def test_metadata_that_is_a_string_is_accepted(result: Path) -> None:
    write(result, {"node_0.txt": GOOD.replace('"metadata": {}', '"metadata": ""')})
    assert checked(result).findings == []


# --- energy ---


def joules(folder: Path, text: str, profile: Profile = POLICY) -> float | None:
    write(folder, {"node_0.txt": text})
    return checked(folder, profile).energies["result_3"]


def test_energy_is_power_times_time_within_the_run(result: Path) -> None:
    assert joules(result, GOOD) == pytest.approx(500 * 100)
    before = began(START - 600_000) + readings(START - 599_000, watts=500) + ended()
    assert joules(result, before) == pytest.approx(500 * 100)


def test_idle_time_after_the_run_does_not_change_the_energy(result: Path) -> None:
    idle = GOOD.replace(ended(), "") + readings(STOP + 2000, STOP + 600_000, watts=10)
    assert joules(result, idle + ended(STOP + 600_000)) == pytest.approx(500 * 100)
    officially = joules(result, idle + ended(STOP + 600_000), VERIFIER)
    assert officially is not None
    assert officially < 500 * 20


def test_intervals_are_clipped_to_the_run(result: Path) -> None:
    text = began(START - 500) + readings(START + 500, STOP + 500) + ended()
    assert joules(result, text) == pytest.approx(500 * 100)
    steps = began() + readings(START, STOP, 10_000, 100) + ended(STOP)
    assert joules(result, steps) == pytest.approx(100 * 100)


def test_the_policy_applies_the_efficiency_only_to_alternating_current(result: Path) -> None:
    alternating = line(START, "conversion_eff", 0.9, measurement_type="AC")
    assert joules(result, alternating + GOOD) == pytest.approx(0.9 * 500 * 100)
    direct = line(START, "conversion_eff", 0.9, measurement_type="DC")
    assert joules(result, direct + GOOD) == pytest.approx(500 * 100)
    assert joules(result, direct + GOOD, VERIFIER) == pytest.approx(0.9 * 500 * 100)


@pytest.mark.parametrize("text", ["", began() + ended(), line(START, "conversion_eff", 9) + GOOD])
def test_an_invalid_log_has_no_energy(result: Path, text: str) -> None:
    assert joules(result, text) is None


def test_a_log_of_another_day_has_no_energy(result: Path) -> None:
    assert joules(result, began(START - DAY) + readings(START - DAY, STOP - DAY)) is None


def test_a_run_without_valid_start_and_stop_has_no_energy(result: Path) -> None:
    rules = find_round("training", "5.0")
    for start, stop in ((None, STOP), (START, None), (STOP, START)):
        one = [PoweredRun("result_3", start, stop)]
        assert check_power(result, one, 1, rules, POLICY, str).energies == {"result_3": None}


def test_only_the_policy_counts_measured_switches(result: Path) -> None:
    write(result, {"sw_0.txt": GOOD})
    assert checked(result).energies["result_3"] == pytest.approx(2 * 500 * 100)
    assert checked(result, VERIFIER).energies["result_3"] == joules(result, GOOD, VERIFIER)


def test_a_crash_of_the_official_summary_is_a_warning(result: Path) -> None:
    assert joules(result, began() + readings() + ended(START - 1000), VERIFIER) is None
    finding = only(checked(result, VERIFIER))
    assert (finding.id, finding.severity) == ("power.no-summary", "warning")
    assert "division by zero" in finding.message
    assert joules(result, GOOD + ":::MLLOG [1]\n", VERIFIER) is None
    assert only(checked(result, VERIFIER)).line == 105
