"""The reference configs are legal in the closed division; changed hyperparameters are not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.tools.live.declaration import read_declaration
from podium.compliance.tools.live.preflight import Preflight, preflight
from podium.reference_runs.catalogue import find, names
from podium.reference_runs.engine.launch import dry_log, run_request
from podium.reference_runs.engine.setting import Setting
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile
from tests.builders import LogKind, effective

CASES = [
    (name, each)
    for name in names()
    for each in find(name).rounds
    if (find(name).usage, each) != ("hpc", "0.7")  # that round has no machine-readable rules
]

EARLIER = (pytest.mark.long, pytest.mark.daily(3))
"""Marks for the cases of rounds other than the newest round of a trainer."""

STRANGE: tuple[Any, ...] = (-1, 0, 0.123, 1e9, 7, "bent", [], False)
"""Values of which every fixed hyperparameter rejects at least one."""


def declared(name: str, round_name: str, path: Path) -> list[dict[str, Any]]:
    """The records of the reference config's dry log."""
    request = run_request(name, Setting(scale="reference"), {}, (round_name, "closed"))
    dry_log(request, str(path))
    return [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()]


def judged(name: str, round_name: str, records: list[dict[str, Any]], path: Path) -> Preflight:
    """The preflight result of the records under the official rules."""
    path.write_text("".join(f":::MLLOG {json.dumps(record)}\n" for record in records))
    benchmark = find(name)
    rules = find_round(benchmark.usage, round_name)
    in_log = benchmark.reference().benchmark_in(round_name)
    return preflight(read_declaration(path), rules, "closed", in_log)


@pytest.mark.parametrize(("name", "round_name"), CASES)
def test_reference_hyperparameters_are_legal(name: str, round_name: str, tmp_path: Path) -> None:
    records = declared(name, round_name, tmp_path / "dry.txt")
    found = judged(name, round_name, records, tmp_path / "log.txt")
    assert [str(f) for f in found.findings if f.severity.value == "error"] == []
    assert [each.key for each in found.missing] == []


@pytest.mark.parametrize("name", [name for name in names() if find(name).rounds])
def test_the_target_of_a_reference_run_is_that_of_the_newest_round(name: str) -> None:
    benchmark, config = find(name), find(name).reference()
    rules = find_round(benchmark.usage, benchmark.rounds[-1])
    text = rules.benchmarks[config.benchmark_in(benchmark.rounds[-1])].target
    written = [float(each) for each in re.findall(r"\d+\.\d+|\d+", text)]
    # Some rules state the quality in percent
    unit = next(each for each in (1, 100) if pytest.approx(each * config.target) in written)
    assert unit == 1 or "%" in text or "BLEU" in text


@pytest.mark.parametrize(
    ("name", "round_name"),
    [
        # Earlier rounds differ only in their rules, which other tests violate
        case if case[1] == find(case[0]).rounds[-1] else pytest.param(*case, marks=EARLIER)
        for case in CASES
    ],
)
def test_a_wrong_value_of_a_fixed_hyperparameter_is_reported(
    name: str, round_name: str, tmp_path: Path
) -> None:
    records = declared(name, round_name, tmp_path / "dry.txt")
    for key in fixed(name, round_name, records):
        assert any(
            judged(name, round_name, bent(records, key, value), tmp_path / "log.txt").findings
            for value in STRANGE
        ), f"{key} may be anything"


def fixed(name: str, round_name: str, records: list[dict[str, Any]]) -> list[str]:
    """The logged keys whose value the round's closed rules constrain."""
    benchmark = find(name)
    in_log = benchmark.reference().benchmark_in(round_name)
    logged = {record["key"]: record["value"] for record in records}
    choices = [("opt_name", str(logged.get("opt_name", "")))]
    which = LogKind(benchmark.usage, round_name, "closed", in_log, tuple(choices))
    rows = effective(which)
    return [key for key in logged if key in rows and rows[key][1].each and logged[key] is not None]


def bent(records: list[dict[str, Any]], key: str, value: Any) -> list[dict[str, Any]]:
    """The same records with one value changed."""
    return [{**each, "value": value} if each["key"] == key else each for each in records]


def test_every_profile_accepts_the_reference_hyperparameters(tmp_path: Path) -> None:
    records = declared("llama2_70b_lora", "6.1", tmp_path / "dry.txt")
    path = tmp_path / "log.txt"
    path.write_text("".join(f":::MLLOG {json.dumps(record)}\n" for record in records))
    rules = find_round("training", "6.1")
    for profile in Profile:
        found = preflight(
            read_declaration(path), rules, "closed", "llama2_70b_lora", profile=profile
        )
        assert found.legal, profile
