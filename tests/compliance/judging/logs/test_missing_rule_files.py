"""Logs of benchmarks that a round has but for which its official verifier has no rule file."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance import check
from podium.logging_spec.reader.read import parse_log
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.finding import Finding, Profile
from podium.rules.model.round import DIVISIONS
from tests.builders import LogBuilder, build
from tests.compliance.trees import good

CRASH = "log.verifier-crash"
WITHOUT_FILE = [("3.0", "open", "gpt3"), ("3.1", "open", "gpt3"), ("0.6", "closed", "ncf")]


def log_of(round_name: str, division: str, benchmark: str) -> LogBuilder:
    if benchmark == "ncf":
        # The round has no rules for NCF: the records that every log of the round needs are enough
        return build("training", "0.6", "closed", "ssd").set("submission_benchmark", "ncf")
    return build("training", round_name, division, benchmark)


def errors(log: LogBuilder, profile: Profile) -> list[Finding]:
    return [one for one in log.judge(profile).findings if one.severity == "error"]


def test_the_list_of_benchmarks_without_a_rule_file_is_complete() -> None:
    rounds = (one for usage in USAGES for one in rounds_of(usage).values() if one.verified)
    found = {
        (one.name, division, benchmark)
        for one in rounds
        for division in (DIVISIONS if one.divided else ("closed",))
        for benchmark in one.allowed
        if not one.has_rules(division, benchmark)
    }
    assert found == {*WITHOUT_FILE}


@pytest.mark.parametrize("case", WITHOUT_FILE)
def test_the_policy_accepts_benchmarks_without_a_rule_file(case: tuple[str, str, str]) -> None:
    log = log_of(*case)
    assert errors(log, Profile.POLICY) == []
    (crash,) = [one for one in log.judge(Profile.POLICY).findings if one.id == CRASH]
    # These rounds accept no further submissions
    assert (crash.severity, crash.stated_by) == ("note", "verifier")
    assert CRASH in [one.id for one in errors(log, Profile.VERIFIER)]


def test_other_errors_in_a_log_without_a_rule_file_are_reported(tmp_path: Path) -> None:
    log = log_of("3.0", "open", "gpt3")
    assert [one.id for one in errors(log.drop("run_stop"), Profile.POLICY)] == ["common.run_stop"]
    # A crash of the verifier before it looks for rules is an error of the log
    broken = parse_log(log.bytes() + b":::MLLOG [42]\n")
    path = tmp_path / "training_results_v3.0" / "result_0.txt"
    path.parent.mkdir()
    path.write_bytes(log.bytes() + b":::MLLOG [42]\n")
    assert broken.faults
    found = {one.id: one.severity.value for one in check(path).findings}
    assert found["log.not-an-object"] == "error"


@pytest.mark.parametrize(
    ("round_name", "division", "benchmark"),
    [
        # The official verifier of 4.0 lists it, but it is not a benchmark of that round
        ("4.0", "closed", "maskrcnn"),
        ("4.1", "closed", "unet3d"),
        ("3.0", "open", "gpt4"),
        ("0.6", "closed", "bert"),
    ],
)
def test_a_benchmark_that_the_round_does_not_have_is_an_error(
    round_name: str, division: str, benchmark: str
) -> None:
    other = "ssd" if round_name != "3.0" else "gpt3"
    log = build("training", round_name, division, other).set("submission_benchmark", benchmark)
    assert CRASH in [one.id for one in errors(log, Profile.POLICY)]


def test_the_policy_accepts_an_open_submission_of_gpt3_in_3_0(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "3.0", "gpt3", "open")
    report = tree.check()
    assert (report.verdict, [one.verdict for one in report.results]) == ("accepted", ["accepted"])
    assert tree.check("verifier").verdict == "rejected"
