from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from podium.compliance.judging.logs.seeds import SeededRun, SeedRecord, seeded_run
from podium.compliance.judging.results.seeds import check_seeds
from podium.logging_spec.reader.read import parse_log
from podium.rules.catalogue import find_round
from podium.rules.finding import Finding, Profile, Severity, StatedBy

TRAIN = "/workspace/bert/train.py"

POLICY, VERIFIER = Profile.POLICY, Profile.VERIFIER


def seed(value: Any, file: Any = TRAIN, lineno: Any = 7, line: int = 3) -> SeedRecord:
    return (value, line, file, lineno)


def good() -> list[SeededRun]:
    return [SeededRun(f"result_{i}.txt", (seed(1000 + i),)) for i in range(4)]


def but(index: int, *seeds: SeedRecord) -> list[SeededRun]:
    """The good runs, with other seeds in one of them."""
    runs = good()
    runs[index] = replace(runs[index], seeds=seeds)
    return runs


def checked(
    runs: list[SeededRun],
    profile: Profile = POLICY,
    name: str = "5.0",
    division: str = "closed",
    usage: str = "training",
    **more: Any,
) -> list[Finding]:
    return check_seeds(runs, find_round(usage, name), division, profile, **more)


def reported(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.id, finding.severity.value) for finding in found]


# --- good input ---


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize(
    ("usage", "name"), [("training", "5.0"), ("training", "1.0"), ("hpc", "3.0")]
)
def test_different_seeds_are_accepted(profile: Profile, usage: str, name: str) -> None:
    assert checked(good(), profile, name, usage=usage) == []


@pytest.mark.parametrize(
    ("usage", "name", "division"),
    [("training", "5.0", "open"), ("training", "0.7", "closed"), ("hpc", "0.7", "closed")],
)
@pytest.mark.parametrize("profile", list(Profile))
def test_open_results_and_old_rounds_need_no_seeds(
    usage: str, name: str, division: str, profile: Profile
) -> None:
    assert checked(but(0), profile, name, division, usage) == []


# --- rejections of the official verifier, and the policy on each of them ---


def test_both_profiles_reject_a_run_without_a_seed_from_4_1_on() -> None:
    for name in ("4.1", "6.1"):
        assert reported(checked(but(2), POLICY, name)) == [("seeds.none", "error")]
    [finding] = checked(but(2), VERIFIER, "5.0")
    assert (finding.path, finding.severity, finding.line) == ("result_2.txt", "error", None)


@pytest.mark.parametrize(
    ("usage", "name"), [("training", "4.0"), ("training", "1.0"), ("hpc", "2.0")]
)
def test_only_the_verifier_rejects_a_run_without_a_seed_before_4_1(usage: str, name: str) -> None:
    assert reported(checked(but(2), VERIFIER, name, usage=usage)) == [("seeds.none", "error")]
    [finding] = checked(but(2), POLICY, name, usage=usage)
    assert finding.severity is Severity.WARNING
    assert finding.stated_by is StatedBy.VERIFIER
    assert "only the official verifier rejects that" in finding.message


@pytest.mark.parametrize("profile", list(Profile))
def test_a_seed_repeated_in_another_run_is_an_error(profile: Profile) -> None:
    [finding] = checked(but(2, seed(1000, line=9)), profile)
    assert (finding.id, finding.severity, finding.path) == (
        "seeds.repeated",
        "error",
        "result_2.txt",
    )
    assert finding.line == 9
    assert "is already logged in result_0.txt, line 3" in finding.message


def test_a_seed_repeated_at_another_source_line_is_a_policy_warning() -> None:
    for other in (seed(1000, lineno=8), seed(1000, file="/elsewhere/train.py")):
        assert checked(but(2, other), VERIFIER) == []
        assert reported(checked(but(2, other), POLICY)) == [("seeds.shared", "warning")]
        assert checked(but(2, other), POLICY, "4.0") == []


def test_only_the_verifier_rejects_a_seed_repeated_in_one_run() -> None:
    runs = but(1, seed(1001), seed(1001, line=4), seed(1001, line=5))
    assert reported(checked(runs, VERIFIER)) == [
        ("seeds.repeated-in-run", "error"),
        ("seeds.several", "warning"),
    ]
    [finding] = checked(runs, POLICY)
    assert (finding.severity, finding.line) == ("warning", 4)
    assert "official verifier rejects" in finding.message
    assert "(2 such records)" in finding.message


def test_a_run_may_log_its_seed_at_two_source_lines() -> None:
    assert checked(but(1, seed(1001), seed(1001, lineno=8)), POLICY) == []


def test_several_seeds_of_a_run_are_a_warning_in_both_profiles() -> None:
    runs = but(1, seed(1001), seed(7, line=4))
    assert reported(checked(runs, VERIFIER)) == [("seeds.several", "warning")]
    assert reported(checked(runs, POLICY)) == [("seeds.several", "warning")]
    assert checked(runs, POLICY, "4.0") == []


@pytest.mark.parametrize(
    "value", ["x", "", "1.5", "0x10", None, [1], {}, float("nan"), float("inf")]
)
def test_both_profiles_reject_a_seed_that_is_not_an_integer(value: Any) -> None:
    for profile in Profile:
        assert reported(checked(but(0, seed(value)), profile)) == [("seeds.not-integer", "error")]


@pytest.mark.parametrize(("one", "other"), [(1.5, 1.9), (True, 1), ("1", 1.2)])
def test_only_the_official_verifier_truncates_seeds_to_integers(one: Any, other: Any) -> None:
    runs = but(0, seed(one))
    runs[1] = replace(runs[1], seeds=(seed(other),))
    assert reported(checked(runs, VERIFIER)) == [("seeds.repeated", "error")]
    [finding] = checked(runs, POLICY)
    assert (finding.severity, finding.stated_by) == ("warning", "verifier")
    assert "treats" in finding.message


def test_a_string_with_an_integer_equals_that_integer() -> None:
    for canonical_text in ("1000", " +01000 "):
        for profile in Profile:
            found = checked(but(3, seed(canonical_text)), profile)
            assert reported(found) == [("seeds.repeated", "error")]


def test_a_seed_of_thousands_of_digits_is_reported() -> None:
    assert reported(checked(but(0, seed("9" * 5000)))) == [("seeds.not-integer", "error")]


@pytest.mark.parametrize("place", [{"file": None}, {"lineno": None}])
def test_a_seed_without_its_source_position_is_an_error(place: dict[str, Any]) -> None:
    for profile in Profile:
        found = checked(but(0, seed(1000, **place)), profile)
        assert ("seeds.no-place", "error") in reported(found)


def test_a_source_line_that_is_a_list_crashes_the_official_verifier() -> None:
    runs = but(0, seed(1, lineno=[1]))
    assert reported(checked(runs, VERIFIER)) == [("seeds.verifier-crash", "error")]
    assert reported(checked(runs, POLICY)) == [("seeds.verifier-crash", "warning")]


def test_the_official_verifier_rejects_a_log_that_cannot_be_read() -> None:
    runs = good()
    runs[3] = replace(runs[3], broken="the record is not valid JSON", broken_line=12)
    [finding] = checked(runs, VERIFIER)
    assert (finding.id, finding.severity, finding.line) == ("seeds.unreadable-log", "error", 12)
    [finding] = checked(runs, POLICY)
    assert finding.severity is Severity.WARNING


def test_the_official_verifier_skips_an_unknown_division() -> None:
    for division in ("Closed", " closed", "close"):
        assert checked(but(0), VERIFIER, division=division) == []
    assert reported(checked(but(0), POLICY, division="Closed")) == [("seeds.none", "error")]


# --- rules of the policy only ---


def test_instances_of_a_throughput_result_must_differ_in_their_seeds() -> None:
    here: dict[str, Any] = {"usage": "hpc", "weak": True}
    same = but(2, seed(1000))
    assert reported(checked(same, POLICY, "3.0", **here)) == [("seeds.repeated", "error")]
    moved = but(2, seed(1000, file="/elsewhere/main.py"))
    assert reported(checked(moved, POLICY, "3.0", **here)) == [("seeds.shared", "warning")]
    assert reported(checked(moved, POLICY, "3.0", "open", **here)) == [("seeds.shared", "warning")]
    assert checked(moved, POLICY, "1.0", **here) == []
    assert checked(moved, POLICY, "3.0", usage="hpc") == []


def test_the_source_file_of_a_seed_must_be_in_the_submission() -> None:
    def files() -> list[str]:
        return ["benchmarks/bert/implementations/x/train.py", "README.md"]

    assert checked(good(), source_files=files) == []
    [finding] = checked(good(), source_files=lambda: ["other.py"])
    assert (finding.id, finding.severity, finding.path) == (
        "seeds.source",
        "warning",
        "result_0.txt",
    )
    assert "no file with that name" in finding.message
    assert checked(good(), VERIFIER, source_files=list) == []


def test_the_source_file_of_a_seed_needs_a_source_file_extension() -> None:
    def moved(file: str) -> list[SeededRun]:
        return [replace(r, seeds=tuple((*s[:2], file, s[3]) for s in r.seeds)) for r in good()]

    for file in ("/x/run.sub", "kernel.cu", "C:\\work\\run.sh"):
        assert checked(moved(file)) == []
    [finding] = checked(moved("/x/notes.txt"))
    assert "not have the extension of a source file" in finding.message


def test_files_are_listed_only_if_a_source_position_is_checked() -> None:
    def files() -> list[str]:
        raise AssertionError("listed")

    checked(but(0, seed(1)), VERIFIER, source_files=files)
    checked([], source_files=files)


# --- reading a log ---


def line(key: str, value: Any, **metadata: Any) -> str:
    record = {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": key}
    return ":::MLLOG " + json.dumps(record | {"value": value, "metadata": metadata}) + "\n"


def test_seeds_are_read_with_their_log_line_and_source_position() -> None:
    text = "noise\n" + line("x", 1) + line("seed", 5, file="a.py", lineno=2)
    assert seeded_run(parse_log(text.encode()), "r") == SeededRun("r", ((5, 3, "a.py", 2),))


def test_a_broken_line_is_recorded_but_two_records_on_a_line_are_not() -> None:
    start = line("seed", 5, file="a.py", lineno=2)
    run = seeded_run(parse_log((start + ":::MLLOG {\nthe end\n").encode()), "r")
    assert run.broken.startswith("the record is not valid JSON")
    assert run.broken_line == 2
    glued = start + line("x", 1).strip() + line("y", 1)
    assert seeded_run(parse_log(glued.encode()), "r").broken == ""


def test_seeds_of_an_older_log_format_are_not_read() -> None:
    text = ':::MLL 1.0 seed: {"value": 1, "metadata": {"file": "a", "lineno": 1}}\n'
    assert seeded_run(parse_log(text.encode()), "r") == SeededRun("r", ())
