"""One error has one finding: all other findings are marked as its consequences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import podium
from podium.rules.fixed.edits import drop
from tests.compliance.command_line import podium as run
from tests.compliance.damages.base import (
    BENCHMARK,
    DESCRIPTION,
    LOGS,
    ODD,
    RESULT,
    SYSTEM,
    Change,
    changed,
    in_bytes,
    lines,
    log,
    sub,
    value,
)

pytestmark = pytest.mark.corpus


def moved(source: str, target: str) -> Change:
    """Move a file or folder."""

    def change(root: Path) -> None:
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / source).rename(root / target)
        if not any((root / source).parent.iterdir()):
            (root / source).parent.rmdir()

    return change


def in_all(key: str, written: str) -> tuple[Change, ...]:
    """Replace the value of a key in every log."""
    return tuple(value(path, key, written) for path in LOGS)


LEVELS = {
    "logs below the system": tuple(
        moved(path, f"results/{SYSTEM}/result_{number}.txt") for number, path in enumerate(LOGS)
    ),
    "one log below the system": (moved(log(9), f"results/{SYSTEM}/result_9.txt"),),
    "one misnamed log below the system": (moved(log(9), f"results/{SYSTEM}/run_9.log"),),
    "one log in a subfolder": (moved(log(9), f"{RESULT}/rerun/result_9.txt"),),
    "one log at the top": (moved(log(9), "result_9.txt"),),
    "one log among the descriptions": (moved(log(9), "systems/result_9.txt"),),
    "one log in a folder with another name": (moved(log(9), f"old/{SYSTEM}/result_9.txt"),),
    "one log in a folder that is almost the right one": (moved(log(9), f"Results/{log(9)}"),),
    "logs in the folder of code": (moved(RESULT, f"benchmarks/{BENCHMARK}/results"),),
    "a benchmark in place of a system": (moved(RESULT, f"results/{BENCHMARK}"),),
    "logs in a subfolder": tuple(
        moved(path, f"{RESULT}/run1/result_{number}.txt") for number, path in enumerate(LOGS)
    ),
}

OF_THE_COURSE = r'"key": "(?:run|block|eval)_[^\n]*"metadata": '

CASES: dict[str, tuple[tuple[Change, ...], str]] = {
    "one log of another benchmark": (
        (value(ODD, "submission_benchmark", '"bert"'),),
        "result.other-benchmark",
    ),
    "all logs of another benchmark": (
        in_all("submission_benchmark", '"llama31_405b"'),
        "result.other-benchmark",
    ),
    "all logs with a short name": (
        in_all("submission_benchmark", '"lora"'),
        "closed.submission_benchmark",
    ),
    "one log without a name": (
        (value(ODD, "submission_benchmark", "null"),),
        "closed.submission_benchmark",
    ),
    "a number in place of the division": (
        (value(ODD, "submission_division", '"8"'),),
        "common.submission_division",
    ),
    "a batch size as a string": ((value(ODD, "global_batch_size", '"8"'),), "log.wrong-type"),
    "no batch size": ((drop(ODD, "global_batch_size"),), f"closed.{BENCHMARK}.global_batch_size"),
    "times in microseconds": (
        tuple(sub(path, r'("time_ms": \d{13})', r"\g<1>000") for path in LOGS),
        "run.time-unit",
    ),
    "each line cut at a width": (
        (lines(ODD, lambda text: [line[:120].rstrip() + b"\n" for line in text]),),
        "log.not-json",
    ),
    "no init_stop": ((drop(ODD, "init_stop"),), "common.init_stop"),
    "no init_start": ((drop(ODD, "init_start"),), "common.init_start"),
    "a misspelled member of metadata": (
        (sub(ODD, '"samples_count"', '"sample_count"'),),
        "common.block_start",
    ),
    "no metadata": (
        (sub(ODD, rf"({OF_THE_COURSE})\{{[^}}]*\}}", r"\g<1>{}"),),
        "common.run_stop",
    ),
    "metadata that is null": (
        (sub(ODD, rf"({OF_THE_COURSE})\{{[^}}]*\}}", r"\g<1>null"),),
        "common.run_stop",
    ),
    "one log in a misspelled folder": (
        (moved(log(9), f"results/{SYSTEM}/llama2_70b_lra/result_9.txt"),),
        "tree.unknown-benchmark",
    ),
    "levels": (
        (moved(f"results/{SYSTEM}", f"results/closed/{SYSTEM}"),),
        "tree.no-system-description",
    ),
    **{name: (changes, "tree.misplaced") for name, changes in LEVELS.items()},
}


def shifted(data: bytes, hours: int) -> bytes:
    """The lines of a log, shifted by some hours."""
    shift = hours * 3_600_000
    return re.sub(rb"(?<=\"time_ms\": )\d+", lambda time: b"%d" % (int(time[0]) + shift), data)


def first_lines(data: bytes, count: int) -> bytes:
    """The first lines of a log."""
    return b"".join(data.splitlines(keepends=True)[:count])


@pytest.mark.parametrize("hours", [-2, 0, 2], ids="second {} hours later".format)
@pytest.mark.parametrize("count", [35, 58], ids="{} lines of the first".format)
def test_two_runs_in_one_file_are_reported_in_any_order(count: int, hours: int, tree: Path) -> None:
    joined = in_bytes(ODD, lambda data: first_lines(data, count) + shifted(data, hours))
    changed(tree, (joined,))
    findings = [found for found in podium.check(tree).findings if not found.caused_by]
    [first] = [found for found in findings if found.severity in ("error", "warning")]
    assert (first.id, first.line) == ("log.several-attempts", count + 2)


def test_training_repeated_in_the_same_file_has_one_finding(tree: Path) -> None:
    again = lines(ODD, lambda text: [*text[:40], shifted(b"".join(text[20:]), 1)])
    changed(tree, (again,))
    found = [each for each in podium.check(tree).findings if each.path.endswith("result_4.txt")]
    [first] = [each for each in found if not each.caused_by]
    assert (first.id, first.line) == ("run.repeated-marker", 41)


def test_two_runs_in_one_file_are_not_reported_as_a_repeated_seed(tree: Path) -> None:
    other = (tree / log(5)).read_bytes()
    changed(tree, (in_bytes(ODD, lambda data: data + other),))
    [first] = [found for found in podium.check(tree).findings if not found.caused_by]
    assert (first.id, first.line) == ("log.several-attempts", 60)


def test_consecutive_outputs_of_ranks_have_one_finding(tree: Path) -> None:
    changed(tree, (in_bytes(ODD, lambda data: data + data.replace(b"597,", b"598,")),))
    [first] = [found for found in podium.check(tree).findings if not found.caused_by]
    assert first.id == "log.repeated-by-ranks"


@pytest.mark.parametrize(
    "mark",
    [
        "[... 5000 lines omitted ...]",
        "[...]",
        "--More--",
        "*** WARNING: max output size exceeded, skipping output. ***",
        "Output exceeds the size limit. Open the full output data in a text editor",
        "------ 8< ------",
    ],
)
def test_a_truncation_marker_explains_missing_evaluations(mark: str, tree: Path) -> None:
    changed(tree, (lines(ODD, lambda all_: [*all_[:25], mark.encode() + b"\n", *all_[32:]]),))
    [first] = [found for found in podium.check(tree).findings if not found.caused_by]
    assert (first.id, first.severity, first.line) == ("log.cut-out", "warning", 26)


@pytest.mark.parametrize(
    ("written", "instead", "cause"),
    [
        ("null", "None", "None, True and False are not JSON"),
        ('"', "&quot;", "double quotes are written as in HTML"),
        ('"', "\u201c", "typographic quotes"),
        ("}\n", ",}\n", "a comma follows the last value"),
        ('"namespace"', '\0"namespace"', "null bytes"),
    ],
)
def test_the_cause_of_an_invalid_json_record_is_reported(
    written: str, instead: str, cause: str, tree: Path
) -> None:
    changed(tree, (in_bytes(ODD, lambda data: data.replace(written.encode(), instead.encode())),))
    [first] = [found for found in podium.check(tree).findings if not found.caused_by]
    assert first.id == "log.not-json"
    assert cause in first.message


@pytest.mark.parametrize("key", ["submission_org", "global_batch_size", "run_start", "eval_start"])
def test_a_lost_record_is_a_consequence_of_two_records_in_one_line(key: str, tree: Path) -> None:
    changed(tree, (sub(ODD, rf'(:::MLLOG [^\n]*"{key}"[^\n]*)\n', r"\g<1>", count=1),))
    findings = [found for found in podium.check(tree).findings if not found.caused_by]
    assert [found.id for found in findings if found.severity != "note"] == ["log.several-records"]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a pointer of Git LFS"),
        (b"\n<!DOCTYPE html>\n<html></html>\n", "an HTML page"),
    ],
)
def test_another_file_in_place_of_a_log_is_recognized(
    content: bytes, cause: str, tree: Path
) -> None:
    changed(tree, (in_bytes(ODD, lambda _: content),))
    [first] = [found for found in podium.check(tree).findings if not found.caused_by]
    assert (first.id, first.severity) == ("log.no-records", "error")
    assert cause in first.message


@pytest.mark.parametrize("name", CASES)
def test_one_error_has_one_finding(name: str, tree: Path) -> None:
    changes, rule = CASES[name]
    changed(tree, changes)
    report = podium.check(tree)
    assert {found.id for found in report.findings if not found.caused_by} - {
        # Findings about scaling.json, which is then also outside a result
        "tree.unknown-file",
        "repo.case-collision",
    } == {rule}
    assert report.verdict == "rejected"


@pytest.mark.parametrize(
    ("source", "target", "part"),
    [
        ("results", "results_v5.0", "results"),
        ("results", "logs", "results"),
        ("results", "training_results", "results"),
        ("systems", "system_desc", "systems"),
        ("systems", "descriptions", "systems"),
        ("systems", "System", "systems"),
    ],
)
def test_a_misnamed_folder_is_recognized_by_its_content(
    source: str, target: str, part: str, tree: Path, tmp_path: Path
) -> None:
    (tree / source).rename(tree / target)
    calls = (
        ("check", tree),
        ("score", tree),
        ("doctor", tree),
        ("fix", tree),
        ("rcp", "check", tree),
        ("bundle", tree, tmp_path / "a.tgz"),
    )
    for call in calls:
        done = run(*call)
        assert done.exit_code == 2
        assert f"{target} must be named {part}" in done.output


def test_a_missing_beginning_explains_missing_keys(tree: Path) -> None:
    changed(tree, (lines(ODD, lambda text: text[18:]),))
    report = podium.check(tree)
    [first] = [
        found for found in report.findings if not found.caused_by and found.severity == "error"
    ]
    assert first.id == "common.init_start"
    assert first.hint == "the first record is lora_alpha in line 1: copy the complete log"


@pytest.mark.parametrize("key", ["global_batch_size", "run_stop", "lora_rank", "cache_clear"])
def test_the_help_names_a_record_without_a_token(key: str, tree: Path) -> None:
    changed(tree, (sub(ODD, rf':::MLLOG ([^\n]*"key": "{key}")', r"\g<1>"),))
    [first] = [
        found
        for found in podium.check(tree).findings
        if not found.caused_by and found.severity == "error"
    ]
    assert first.key == key
    assert "has its record without the token" in first.hint


@pytest.mark.parametrize(
    "name", [f"{SYSTEM}.JSON", f"{SYSTEM}.json.txt", f"{SYSTEM.lower()}.json", "old/{SYSTEM}.json"]
)
def test_the_help_names_a_misnamed_description(name: str, tree: Path) -> None:
    written = f"systems/{name.format(SYSTEM=SYSTEM)}"
    changed(tree, (moved(DESCRIPTION, written),))
    found = {each.id: each for each in podium.check(tree).findings}
    hint = found["tree.no-system-description"].hint
    assert hint == f"rename {written} to {DESCRIPTION}"


def test_a_misspelled_status_explains_unsuccessful_runs(tree: Path) -> None:
    changes = [sub(path, '"status": "success"', '"status": "SUCCESS"') for path in LOGS[4:6]]
    changed(tree, tuple(changes))
    report = podium.check(tree)
    found = [each for each in report.findings if not each.caused_by and each.severity != "note"]
    assert {each.id for each in found} == {"run.unknown-status"}
    assert report.official_verdict == "rejected"


def test_the_help_names_a_folder_of_logs_outside_results(tree: Path) -> None:
    changed(tree, (moved(f"results/{SYSTEM}", SYSTEM),))
    [first] = [found for found in podium.check(tree).findings if not found.caused_by]
    assert first.id == "tree.no-results"
    assert f"move 10 logs from {SYSTEM}/{BENCHMARK} to results/" in first.hint


def test_the_help_names_a_misnamed_folder_of_code(tree: Path) -> None:
    (tree / "benchmarks").rename(tree / "Benchmarks")
    report = podium.check(tree)
    hints = {found.id: found.hint for found in report.findings}
    assert hints["code.none"].endswith("or rename Benchmarks to benchmarks")
    assert hints["tree.unknown-folder"].startswith("did you mean benchmarks?")


def test_score_and_rcp_check_name_uncounted_logs(tree: Path) -> None:
    (tree / ODD).rename(tree / RESULT / "results_4.txt")
    done = run("score", tree)
    assert done.exit_code == 1
    assert done.output.index("score.uncounted-logs") < done.output.index("results_4.txt")
    assert "results_4.txt" in run("rcp", "check", tree).output
    for number, path in enumerate(LOGS):
        if path != ODD:
            (tree / path).rename(tree / RESULT / f"seed_{number}.out")
    done = run("rcp", "check", tree)
    assert done.exit_code == 2
    assert "10 files with records of a run are not scored because of the name" in done.output


def test_doctor_lists_a_wrong_time_unit_under_logs(tree: Path) -> None:
    changed(tree, CASES["times in microseconds"][0])
    text = run("doctor", tree).output
    assert "4. logs: 10 to do" in text
    assert "everything else: done" in text
