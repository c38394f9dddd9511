"""Malformed submissions: findings or exit status 2, no traceback, and nothing is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.render import FORMATS
from tests.compliance.trees import Submission, usual
from tests.locations import ROOT

pytestmark = pytest.mark.usefixtures("never_hangs")
LIMIT_S = 30
"""A longer call hangs: it reads five gigabytes, or waits for a process to write to a pipe."""

Breaking = Callable[[Submission], object]


def checked(tree: Submission, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    """Exit status and output of `podium check`."""
    arguments = ["check", str(tree.root), "--round", "5.1", "--jobs", "1", *more]
    status = run(arguments)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    return status, captured.out


def errors(out: str) -> set[str]:
    return {f["id"] for f in json.loads(out)["findings"] if f["severity"] != "note"}


def everything(root: Path) -> list[tuple[str, int, int]]:
    """Every path below a folder, with its size and modification time."""
    found = []
    for folder, folders, names in os.walk(os.fsencode(root)):
        for name in (*folders, *names):
            status = os.lstat(os.path.join(folder, name))
            path = os.fsdecode(os.path.join(folder, name))
            found.append((path, status.st_size, status.st_mtime_ns))
    return sorted(found)


def enlarge(path: str) -> Breaking:
    """Create a sparse file of five gigabytes."""

    def breaking(tree: Submission) -> None:
        tree.write(path)
        with (tree.root / path).open("wb") as stream:
            stream.truncate(5 << 30)

    return breaking


def pipe(path: str) -> Breaking:
    def breaking(tree: Submission) -> None:
        tree.write(path)
        (tree.root / path).unlink()
        os.mkfifo(tree.root / path)

    return breaking


def link(target: str, path: str) -> Breaking:
    return lambda tree: os.symlink(target, tree.root / path)


RESULT = "results/ex_n8/llama31_405b"
CODE = "benchmarks/llama31_405b"

BROKEN: dict[str, tuple[Breaking, set[str]]] = {
    "description is a list": (
        lambda tree: tree.write("systems/ex_n8.json", "[1, 2]"),
        {"system.not-json"},
    ),
    "description is a number": (
        lambda tree: tree.write("systems/ex_n8.json", "1e999"),
        {"system.not-json"},
    ),
    "description is empty": (
        lambda tree: tree.write("systems/ex_n8.json", ""),
        {"system.not-json"},
    ),
    "scaling is a list": (
        lambda tree: tree.write(f"{RESULT}/scaling.json", "[]"),
        {"result.bad-scaling"},
    ),
    "nested brackets": (
        lambda tree: tree.write("systems/ex_n8.json", "[" * 100_000),
        {"system.not-json"},
    ),
    "log is a folder": (
        lambda tree: (tree.root / RESULT / "result_3.txt").mkdir(),
        {"result.too-many-runs"},
    ),
    "description is a folder": (
        lambda tree: (tree.root / "systems/b.json").mkdir(),
        {"system.unreadable"},
    ),
    "large description": (enlarge("systems/b.json"), {"system.not-json"}),
    "large scaling": (enlarge(f"{RESULT}/scaling.json"), {"result.bad-scaling"}),
    "large source": (enlarge(f"{CODE}/implementations/ours/train.py"), {"repo.large-file"}),
    "large readme": (enlarge(f"{CODE}/README.md"), {"code.thin-readme"}),
    "large stray file": (enlarge(f"{RESULT}/dump.bin"), {"tree.unknown-file"}),
    "log is a pipe": (pipe(f"{RESULT}/result_2.txt"), set()),
    "description is a pipe": (pipe("systems/ex_n8.json"), {"system.unreadable"}),
    "scaling is a pipe": (pipe(f"{RESULT}/scaling.json"), {"result.bad-scaling"}),
    "readme is a pipe": (pipe(f"{CODE}/README.md"), {"code.thin-readme"}),
    "link to the root": (link("/", "results/loop"), {"tree.linked-folder"}),
    "link in a circle": (link("..", f"{RESULT}/loop"), {"tree.linked-folder"}),
    "link to itself": (link("self", f"{RESULT}/self"), {"tree.unknown-file"}),
    "log is a link to nothing": (link("nowhere", f"{RESULT}/result_3.txt"), set()),
    "code is a link to the root": (link("/", f"{CODE}/root"), set()),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_malformed_submission_is_reported_and_not_modified(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    breaking, expected = BROKEN[name]
    tree = usual(tmp_path)
    breaking(tree)
    before = everything(tree.root)
    status, out = checked(tree, capsys, "--format", "json")
    assert status in (Exit.CLEAN, Exit.FOUND)
    assert expected <= errors(out)
    assert everything(tree.root) == before


@pytest.mark.parametrize("absent", ["results", "systems", "benchmarks", RESULT, "results/ex_n8"])
def test_a_missing_folder_ends_with_an_expected_exit_status(
    absent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    (tree.root / absent).rename(tmp_path / "gone")
    status, _ = checked(tree, capsys)
    assert status in (Exit.CLEAN, Exit.FOUND, Exit.USAGE)
    if absent not in ("benchmarks", "systems"):
        assert status != Exit.CLEAN


def test_a_path_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "podium", "check", str(tmp_path / "nowhere")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("podium: no such file or folder: ")


# --- names ---


def evil(tree: Submission) -> None:
    """Create names with escape codes, newlines, and bytes that are not UTF-8."""
    folder = os.fsencode(tree.root / RESULT)
    os.rename(folder + b"/result_0.txt", folder + b"/result_\x1b[31m\n0.txt")
    os.rename(folder + b"/result_1.txt", folder + b"/result_\xff.txt")
    (tree.root / RESULT / "\x1b]0;title\x07").write_text("x")
    (tree.root / RESULT / "\u202egpj.txt").write_text("x")
    os.mkdir(os.fsencode(tree.root / "results") + b"/\xff\xfe\n::error::")
    os.rename(tree.root / "systems/ex_n8.json", os.fsencode(tree.root / "systems") + b"/e\xff.json")


@pytest.mark.parametrize("name", FORMATS)
def test_names_are_escaped_in_every_format(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    evil(tree)
    status, out = checked(tree, capsys, "--format", name)
    assert status == Exit.FOUND
    assert not {char for char in out if ord(char) < 32} - {"\n"}
    assert "\u202e" not in out
    assert not any(
        line.startswith("::error::") and "title=" not in line for line in out.split("\n")
    )
    out.encode("utf-8")


# --- many files ---


def test_ten_thousand_stray_files_are_reported_in_20_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    for number in range(10_000):
        (tree.root / RESULT / f"x{number}").touch()
    status, out = checked(tree, capsys, "--format", "json")
    assert status == Exit.CLEAN
    reported = [f for f in json.loads(out)["findings"] if f["id"] == "tree.unknown-file"]
    assert len(reported) == 20
    assert any("9980 more" in finding["message"] for finding in reported)


def test_a_thousand_empty_logs_are_all_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    for number in range(1000):
        (tree.root / RESULT / f"result_{number}.txt").touch()
    status, out = checked(tree, capsys, "--format", "json")
    assert status == Exit.FOUND
    assert json.loads(out)["results"][0]["runs"] == 1000


def test_a_thousand_folders_of_unknown_benchmarks_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    for number in range(1000):
        (tree.root / f"results/ex_n8/b{number}").mkdir()
    _, out = checked(tree, capsys, "--format", "json")
    reported = [f for f in json.loads(out)["findings"] if f["id"] == "tree.unknown-benchmark"]
    assert len(reported) == 50
    assert any("950 more" in finding["message"] for finding in reported)


# --- links that lead out of the submission ---


SECRET = "root:x:0:0:nobody's business"


def outside(tree: Submission, name: str) -> Path:
    """Move a file or folder out of a submission, and leave a link in its place."""
    place = tree.root.parent / "outside" / name.replace("/", "_")
    place.parent.mkdir(exist_ok=True)
    (tree.root / name).rename(place)
    os.symlink(place, tree.root / name)
    return place


LEADING_OUT = {
    f"{RESULT}/result_1.txt": "log.unreadable-file",
    "systems/ex_n8.json": "system.unreadable",
    "results": "tree.unreadable",
    "systems": "tree.unreadable",
    "results/ex_n8": "tree.linked-folder",
    RESULT: "tree.linked-folder",
}


@pytest.mark.parametrize("profile", ["policy", "verifier"])
@pytest.mark.parametrize("name", LEADING_OUT)
def test_the_target_of_a_link_out_of_the_submission_is_not_read(
    name: str, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path / "there")
    place = outside(tree, name)
    status, out = checked(tree, capsys, "--format", "json", "--profile", profile)
    assert status == Exit.FOUND
    assert LEADING_OUT[name] in errors(out)
    if place.is_file():
        place.write_text(f":::MLLOG {SECRET}\n")
        assert checked(tree, capsys, "--format", "json", "--profile", profile) == (status, out)


@pytest.mark.parametrize(
    "name", ["results", "systems", f"{RESULT}/result_1.txt", "results/ex_n8", RESULT]
)
def test_a_link_within_the_submission_is_followed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    status, out = checked(tree, capsys, "--format", "json", "--profile", "verifier")
    (tree.root / "documentation").mkdir(exist_ok=True)
    (tree.root / name).rename(tree.root / "documentation" / "moved")
    os.symlink(tree.root / "documentation" / "moved", tree.root / name)
    assert checked(tree, capsys, "--format", "json", "--profile", "verifier") == (status, out)
    reported = json.loads(checked(tree, capsys, "--format", "json")[1])
    links = [
        (f["path"], f["severity"]) for f in reported["findings"] if f["id"] == "tree.linked-folder"
    ]
    assert links == ([(name, "warning")] if name in ("results/ex_n8", RESULT) else [])
