"""`podium watch --metrics` writes a file that OpenMetrics readers can parse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from podium.compliance.errors import UsageFault
from tests.compliance.command_line import podium
from tests.compliance.tools.live.test_watch import Clock, good, until, watched


def read(path: Path) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return the samples of a file by name."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(path.read_text(encoding="utf-8")):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def phase(path: Path) -> list[str]:
    return [
        labels["podium_run_phase"] for labels, on in read(path)["podium_run_phase"] if on == 1.0
    ]


def test_the_metrics_follow_a_run(tmp_path: Path) -> None:
    log, file = tmp_path / "result_0.txt", tmp_path / "podium.prom"
    log.write_bytes(until("init_start"))
    seen: list[Any] = []

    def grows(data: bytes) -> Any:
        def write() -> None:
            seen.append((phase(file), read(file)))
            log.write_bytes(data)

        return write

    clock = Clock(grows(until("run_start")), grows(good().bytes()))
    watched(log, clock, metrics=file)
    assert [phases for phases, _ in seen] == [["init"], ["running"]]
    assert "podium_run_quality" not in seen[0][1]
    last = read(file)
    assert phase(file) == ["stopped"]
    ((labels, quality),) = last["podium_run_quality"]
    assert labels == {"log": str(log), "benchmark": "llama31_8b", "division": "closed"}
    ((_, target),) = last["podium_run_target"]
    assert 0 < quality <= target
    ((_, elapsed),) = last["podium_run_elapsed_seconds"]
    start, stop = (good().first(key).time_ms for key in ("run_start", "run_stop"))
    assert elapsed == pytest.approx((stop - start) / 1000)


def test_the_findings_of_a_whole_log_are_counted(tmp_path: Path) -> None:
    log, file = tmp_path / "result_0.txt", tmp_path / "podium.prom"
    good().set("opt_adamw_beta_2", 0.5).drop("submission_org").write(log)
    done = podium("watch", log, "--once", "--round", "6.1", "--metrics", file)
    assert done.exit_code == 1
    counts = {labels["severity"]: count for labels, count in read(file)["podium_run_findings"]}
    assert counts["error"] == 2


@pytest.mark.parametrize("name", ['a"b\\c\nd.txt', "é\udcff.txt", "{x=1}.txt"])
def test_special_characters_in_a_log_name_are_escaped(tmp_path: Path, name: str) -> None:
    log, file = tmp_path / name, tmp_path / "podium.prom"
    log.write_bytes(until("run_start"))
    assert podium("watch", log, "--once", "--round", "6.1", "--metrics", file).exit_code == 0
    wanted = str(log).encode("utf-8", "replace").decode()
    assert {labels["log"] for labels, _ in read(file)["podium_run_records"]} == {wanted}


def test_a_watched_log_is_not_overwritten(tmp_path: Path) -> None:
    log = tmp_path / "result_0.txt"
    good().write(log)
    before = log.read_bytes()
    done = podium("watch", log, "--once", "--metrics", tmp_path / "." / "result_0.txt")
    assert done.exit_code == 2
    assert "is a log that is watched" in done.stderr
    assert log.read_bytes() == before


def test_an_unwritable_metrics_file_ends_the_watch(tmp_path: Path) -> None:
    log = tmp_path / "result_0.txt"
    log.write_bytes(until("run_start"))
    with pytest.raises(UsageFault, match="cannot be written"):
        watched(log, Clock(), metrics=tmp_path / "none" / "podium.prom")
