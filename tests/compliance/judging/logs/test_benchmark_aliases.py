"""A log with another name for a benchmark is judged as that benchmark, with one finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium import check
from podium.compliance.reporting.models import Report
from podium.rules import rounds
from podium.rules.benchmark_names import advice_on, intended, near_names
from podium.rules.finding import Profile
from tests.builders import LogBuilder, build
from tests.compliance.trees import good

MEANT = {
    "dlrm_v4_hstu": "dlrmv4",
    "hstu": "dlrmv4",
    "gpt-oss-20b": "gpt_oss_20b",
    "GPT_OSS": "gpt_oss_20b",
    "llama2-70b-lora": "llama2_70b_lora",
    "llama2_70b_loar": "llama2_70b_lora",
    "Llama 3.1 8B": "llama31_8b",
    "llama3": "llama31_8b",
    "deepseek-v3-671b": "deepseekv3_671b",
    "flux.1": "flux1",
    "qwen3.5_397b": "qwen35_397b_grpo",
}
"""Names in logs of 6.1 and the benchmarks that they mean."""


def judged(log: LogBuilder, folder: Path, profile: Profile = Profile.POLICY) -> Report:
    return check(log.write(folder / "result_0.txt"), round="6.1", profile=profile)


@pytest.mark.parametrize(("name", "benchmark"), MEANT.items())
def test_another_name_of_a_benchmark_is_one_finding(
    name: str, benchmark: str, tmp_path: Path
) -> None:
    good = build("training", "6.1", "closed", benchmark)
    report = judged(good.set("submission_benchmark", name), tmp_path)
    leading = [each for each in report.findings if not each.caused_by]
    assert [each.id for each in leading] == ["closed.submission_benchmark"]
    assert f"set submission_benchmark to {benchmark};" in leading[0].hint
    assert report.files[0].benchmark == benchmark
    assert report.verdict == report.official_verdict == "rejected"
    # The official verifier reads the name as written
    official = judged(good.set("submission_benchmark", name), tmp_path, Profile.VERIFIER)
    assert official.files[0].benchmark == name
    assert {each.id for each in official.findings} == {
        "closed.submission_benchmark",
        "log.verifier-crash",
    }


def test_the_log_is_judged_by_the_rules_of_the_intended_benchmark(tmp_path: Path) -> None:
    good = build("training", "6.1", "closed", "dlrmv4").set("submission_benchmark", "hstu")
    report = judged(good.drop("opt_name"), tmp_path)
    assert "closed.dlrmv4.opt_name" in {each.id for each in report.findings}


@pytest.mark.parametrize("name", ["llama31_405b", "bert", "x", "", "a" * 5000, "no_such_model", 7])
def test_a_name_that_fits_no_benchmark_of_the_round_is_not_guessed(
    name: object, tmp_path: Path
) -> None:
    good = build("training", "6.1", "closed", "llama31_8b")
    report = judged(good.set("submission_benchmark", name), tmp_path)
    (finding,) = [each for each in report.findings if each.key == "submission_benchmark"]
    assert "checked as" not in finding.hint


def test_the_advice_on_a_benchmark_of_another_round_names_the_round() -> None:
    elsewhere, advice = advice_on("llama31_405b", rounds["training", "6.1"])
    assert "5.1" in elsewhere
    assert "--round" in advice


def test_an_ambiguous_name_is_not_guessed() -> None:
    rules = rounds["training", "5.1"]
    assert intended("llama3", rules) == ""
    assert {*near_names("llama3", rules)} == {"llama31_8b", "llama31_405b"}


@pytest.mark.parametrize(("usage", "name"), list(rounds))
def test_no_alias_is_the_name_of_another_benchmark(usage: str, name: str) -> None:
    rules = rounds[usage, name]
    for benchmark in rules.allowed:
        assert intended(benchmark, rules) == benchmark
        for other in rules.benchmark(benchmark).also_called:
            assert intended(other, rules) in ("", other, benchmark)


def test_the_folder_name_overrides_a_benchmark_of_another_round(tmp_path: Path) -> None:
    tree = good(tmp_path / "Org", "training", "6.1", "llama31_8b")
    for path in tree.root.glob("results/*/*/result_*.txt"):
        path.write_text(path.read_text().replace('"llama31_8b"', '"llama31_405b"'))
    report = check(tree.root, round="6.1")
    found = [each for each in report.findings if each.id == "result.other-benchmark"]
    assert {each.hint for each in found} == {"set submission_benchmark to llama31_8b"}
    named = [each for each in report.findings if each.id == "closed.submission_benchmark"]
    assert named
    assert {each.caused_by for each in named} == {"result.other-benchmark"}
