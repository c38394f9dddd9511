"""Logs that are not named result_<i>.txt: check reports them first, and fix renames them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
from pathlib import Path
from typing import Literal

import pytest

from podium import check
from podium.compliance.judging.inputs.log_names import holds_records, placed
from tests.compliance.command_line import podium
from tests.compliance.trees import Submission, usual

RESULT = "results/ex_n8/llama31_405b"


@pytest.fixture
def tree(tmp_path: Path) -> Submission:
    return usual(tmp_path / "Org")


def misname(tree: Submission, name: str, number: int = 1) -> bytes:
    log = tree.root / RESULT / f"result_{number}.txt"
    data = log.read_bytes()
    log.unlink()
    compress = COMPRESSIONS.get(Path(name).suffix, bytes)
    (tree.root / RESULT / name).write_bytes(compress(data))
    return data


COMPRESSIONS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

NAMES = (
    "results_1.txt",
    "result-1.txt",
    "Result_1.TXT",
    "result_1.txt.gz",
    "result_1.txt.bz2",
    "seed_1.out.xz",
    "result_1.log",
    "result1.txt",
    "seed_1.out",
    "run_1.log",
    "train.log",
    "251118_job.out",
    "result_1",
)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("profile", ["policy", "verifier"])
def test_a_compressed_log_is_rejected_in_a_result(
    compression: str, profile: Literal["policy", "verifier"], tree: Submission
) -> None:
    log = tree.root / RESULT / "result_1.txt"
    log.write_bytes(COMPRESSIONS[compression](log.read_bytes()))
    report = check(tree.root, round="5.1", profile=profile)
    assert [found.id for found in report.findings if found.severity == "error"] == [
        "result.compressed-log"
    ]
    assert report.verdict == "rejected"


@pytest.mark.parametrize("name", NAMES)
def test_a_misnamed_log_is_the_only_error_without_a_cause(name: str, tree: Submission) -> None:
    misname(tree, name)
    report = check(tree.root, round="5.1")
    leading = [each for each in report.findings if each.severity == "error" and not each.caused_by]
    assert [(each.id, each.path) for each in leading] == [("tree.misnamed-log", f"{RESULT}/{name}")]
    assert "to result_1.txt (podium fix does it)" in leading[0].hint
    (few,) = [each for each in report.findings if each.id == "result.too-few-runs"]
    assert few.caused_by == "tree.misnamed-log"
    # The official verifier counts one run fewer in any case
    assert few.official
    assert check(tree.root, round="5.1", profile="verifier").verdict == "rejected"


@pytest.mark.parametrize("name", NAMES)
def test_fix_renames_the_log_and_keeps_its_content(name: str, tree: Submission) -> None:
    before = {path.name: path.read_bytes() for path in (tree.root / RESULT).iterdir()}
    misname(tree, name)
    assert podium("fix", tree.root, "--round", "5.1").exit_code == 1
    assert (tree.root / RESULT / name).exists()
    podium("fix", tree.root, "--round", "5.1", "--write")
    after = {path.name: path.read_bytes() for path in (tree.root / RESULT).iterdir()}
    assert {k: v for k, v in after.items() if k.endswith(".txt")} == {
        k: v for k, v in before.items() if k.endswith(".txt")
    }
    assert check(tree.root, round="5.1").verdict == "accepted"


def test_fix_numbers_misnamed_logs_in_their_order(tree: Submission) -> None:
    data = [misname(tree, f"seed_{number + 9}.out", number) for number in range(3)]
    podium("fix", tree.root, "--round", "5.1", "--write")
    logs = [tree.root / RESULT / f"result_{number}.txt" for number in range(3)]
    assert [log.read_bytes() for log in logs] == data


def test_fix_closes_no_gap_if_the_number_of_a_log_is_taken(tree: Submission) -> None:
    folder = tree.root / RESULT
    # Its number is taken, so it is not known which run it is
    shutil.copy(folder / "result_2.txt", folder / "results_2.txt")
    (folder / "result_1.txt").rename(folder / "elsewhere.md")
    done = podium("fix", tree.root, "--round", "5.1", "--write")
    assert "result_2.txt exists already" in " ".join(done.stdout.split())
    names = {path.name for path in folder.iterdir()}
    assert {"result_0.txt", "result_2.txt", "results_2.txt"} <= names
    assert "result_1.txt" not in names


def test_a_surplus_misnamed_log_is_a_warning_and_is_not_renamed(tree: Submission) -> None:
    folder = tree.root / RESULT
    shutil.copy(folder / "result_2.txt", folder / "extra.log")
    report = check(tree.root, round="5.1")
    assert report.verdict == report.official_verdict == "accepted"
    (found,) = [each for each in report.findings if each.id == "tree.misnamed-log"]
    assert (found.severity, "has its 3 runs" in found.hint) == ("warning", True)
    podium("fix", tree.root, "--round", "5.1", "--write")
    assert (folder / "extra.log").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.txt", "epoch 1: loss 2.31\n"),
        ("emit.py", """print(':::MLLOG {"namespace": ""}')\n"""),
        ("template.log", ":::MLLOG {log_json}\n"),
        ("empty.log", ""),
        ("broken.txt.gz", "no gzip at all"),
    ],
)
def test_other_files_are_not_logs(name: str, text: str, tree: Submission) -> None:
    path = tree.root / RESULT / name
    path.write_text(text)
    assert not holds_records(path)
    found = {each.id for each in check(tree.root, round="5.1").findings}
    assert "tree.misnamed-log" not in found


def test_a_log_in_an_unreadable_form_is_reported_as_misnamed(tree: Submission) -> None:
    folder = tree.root / RESULT
    text = (folder / "result_1.txt").read_text()
    lines = [{"log": line, "stream": "stdout"} for line in text.splitlines(keepends=True)]
    forms = {
        "utf-16": text.encode("utf-16"),
        "utf-16-be": text.encode("utf-16-be"),
        "docker": "\n".join(map(json.dumps, lines)).encode(),
        "no colons": text.replace(":::MLLOG", "MLLOG").encode(),
        "no token": text.replace(":::MLLOG ", "").encode(),
    }
    (folder / "result_1.txt").unlink()
    for content in forms.values():
        (folder / "run_1.log").write_bytes(content)
        report = check(tree.root, round="5.1")
        found = [each for each in report.findings if each.severity == "error"]
        assert [each.id for each in found if not each.caused_by] == ["tree.misnamed-log"]


def test_the_target_of_a_link_is_not_searched_for_records(tree: Submission, tmp_path: Path) -> None:
    outside = tmp_path / "outside.log"
    shutil.copy(tree.root / RESULT / "result_0.txt", outside)
    (tree.root / RESULT / "run.log").symlink_to(outside)
    found = {each.id for each in check(tree.root, round="5.1").findings}
    assert "tree.misnamed-log" not in found


# --- loose logs ---


def test_a_folder_of_misnamed_logs_is_reported_with_their_names(
    tree: Submission, tmp_path: Path
) -> None:
    logs = tmp_path / "rawlogs" / "15360"
    logs.mkdir(parents=True)
    for number in range(3):
        shutil.copy(tree.root / RESULT / f"result_{number}.txt", logs / f"seed_{number}.out")
    done = podium("check", logs.parent, "--round", "5.1")
    assert done.exit_code == 2
    assert "3 other files have records (seed_0.out, seed_1.out, seed_2.out)" in done.stderr
    assert f"podium check {logs}/*.out" in done.stderr
    done = podium("check", *sorted(logs.glob("*.out")), "--round", "5.1")
    assert done.exit_code == 0


def test_a_misnamed_log_next_to_loose_logs_is_reported(tree: Submission, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(tree.root / RESULT, folder)
    (folder / "result_1.txt").rename(folder / "results_1.txt")
    (found,) = [
        each for each in check(folder, round="5.1").findings if each.id == "tree.misnamed-log"
    ]
    assert found.path == "results_1.txt"


def test_rcp_make_accepts_logs_with_any_name(tree: Submission, tmp_path: Path) -> None:
    logs, output = tmp_path / "rcp_logs", tmp_path / "points.json"
    (logs / "256").mkdir(parents=True)
    for number in range(3):
        shutil.copy(tree.root / RESULT / f"result_{number}.txt", logs / f"256/seed_{number}.out")
    done = podium("rcp", "make", logs, "--round", "5.1", "--output", output)
    # The file is written, with a message that a reference needs more runs
    assert (done.exit_code, "has 3 runs" in done.stderr) == (1, True)
    assert output.is_file()


def test_rcp_make_reports_why_no_log_is_usable(tree: Submission, tmp_path: Path) -> None:
    logs = tmp_path / "rcp_logs"
    logs.mkdir()
    for number in range(3):
        text = (tree.root / RESULT / f"result_{number}.txt").read_text()
        (logs / f"run_{number}.log").write_text(text.replace('"time_ms"', '"time"'))
    done = podium("rcp", "make", logs, "--round", "5.1", "--output", tmp_path / "points.json")
    assert done.exit_code == 2
    assert "3 logs (" in done.stderr
    assert all(f"run_{number}.log" in done.stderr for number in range(3))
    assert "lacks time_ms" in done.stderr
    assert "converge" not in done.stderr
    done = podium("rcp", "make", tree.root / "systems", "--output", tmp_path / "points.json")
    assert (done.exit_code, "no file below it has log records" in done.stderr) == (2, True)


# --- numbers ---


@pytest.mark.parametrize(
    ("logs", "misnamed", "needed", "names", "left"),
    [
        ([0, 1, 3], ["results_2.txt"], 4, {"results_2.txt": 2}, []),
        ([0, 1, 3], ["run.log"], 4, {"run.log": 2}, []),
        ([0, 1, 3], ["seed_77.out"], 4, {"seed_77.out": 2}, []),
        ([0, 1, 2, 3], ["run.log"], 4, {}, ["run.log"]),
        ([0, 1, 2], ["results_2.txt"], 4, {}, ["results_2.txt"]),
        ([], ["seed_2.out", "seed_10.out", "seed_1.out"], 3, None, []),
        ([0], ["a.log", "b.log"], None, {"a.log": 1, "b.log": 2}, []),
    ],
)
def test_a_misnamed_log_gets_its_own_number_or_a_free_one(
    logs: list[int],
    misnamed: list[str],
    needed: int | None,
    names: dict[str, int] | None,
    left: list[str],
) -> None:
    placing = placed([f"result_{number}.txt" for number in logs], misnamed, needed)
    if names is None:
        names = {"seed_1.out": 0, "seed_2.out": 1, "seed_10.out": 2}
    assert placing.names == {name: f"result_{number}.txt" for name, number in names.items()}
    assert [*placing.left] == left
