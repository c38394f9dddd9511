"""One fault, one finding: everything else that it causes is marked as its consequence."""

from __future__ import annotations

from pathlib import Path

import pytest

import podium
from podium.rules.fixed.edits import drop
from tests.compliance.command_line import podium as run
from tests.compliance.damages.base import (
    BENCHMARK,
    LOGS,
    ODD,
    RESULT,
    SYSTEM,
    Change,
    changed,
    log,
    sub,
    value,
)

pytestmark = pytest.mark.corpus


def moved(source: str, target: str) -> Change:
    """With a file or folder in another place."""

    def change(root: Path) -> None:
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / source).rename(root / target)
        if not any((root / source).parent.iterdir()):
            (root / source).parent.rmdir()

    return change


def in_all(key: str, written: str) -> tuple[Change, ...]:
    """With another value of a key in every log."""
    return tuple(value(path, key, written) for path in LOGS)


LEVELS = {
    "logs below the system": tuple(
        moved(path, f"results/{SYSTEM}/result_{number}.txt") for number, path in enumerate(LOGS)
    ),
    "one log below the system": (moved(log(9), f"results/{SYSTEM}/result_9.txt"),),
    "one misnamed log below the system": (moved(log(9), f"results/{SYSTEM}/run_9.log"),),
    "one log in a subfolder": (moved(log(9), f"{RESULT}/rerun/result_9.txt"),),
    "logs in a subfolder": tuple(
        moved(path, f"{RESULT}/run1/result_{number}.txt") for number, path in enumerate(LOGS)
    ),
}

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
    "a division that is no division": (
        (value(ODD, "submission_division", '"8"'),),
        "common.submission_division",
    ),
    "a batch size as a string": ((value(ODD, "global_batch_size", '"8"'),), "log.wrong-type"),
    "no batch size": ((drop(ODD, "global_batch_size"),), f"closed.{BENCHMARK}.global_batch_size"),
    "times in microseconds": (
        tuple(sub(path, r'("time_ms": \d{13})', r"\g<1>000") for path in LOGS),
        "run.time-unit",
    ),
    "levels": (
        (moved(f"results/{SYSTEM}", f"results/closed/{SYSTEM}"),),
        "tree.no-system-description",
    ),
    **{name: (changes, "tree.misplaced") for name, changes in LEVELS.items()},
}


@pytest.mark.parametrize("name", CASES)
def test_one_fault_has_one_finding(name: str, tree: Path) -> None:
    changes, rule = CASES[name]
    changed(tree, changes)
    report = podium.check(tree)
    assert {found.id for found in report.findings if not found.caused_by} - {
        # About scaling.json, which is outside of a result as well
        "tree.unknown-file"
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
def test_a_folder_is_recognized_by_its_content(
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


def test_a_folder_of_code_with_another_name_is_pointed_at(tree: Path) -> None:
    (tree / "benchmarks").rename(tree / "Benchmarks")
    report = podium.check(tree)
    hints = {found.id: found.hint for found in report.findings}
    assert hints["code.none"].endswith("or rename Benchmarks to benchmarks")
    assert hints["tree.unknown-folder"].startswith("did you mean benchmarks?")


def test_uncounted_logs_are_named_by_scores(tree: Path) -> None:
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
