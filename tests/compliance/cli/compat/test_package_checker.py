"""`podium compat package_checker` and `verify`: official last lines, correct exit codes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from podium.compliance.cli.compat.package_checker import BAD, GOOD
from podium.compliance.cli.compat.result_summarizer import summarize
from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.logging_spec.reader.record import Record
from tests.builders import LogBuilder
from tests.compliance.trees import Submission, usual

_PROGRAM = "mlperf_logging.package_checker"


def compat(tree: Submission, *flags: str, program: str = "package_checker") -> int:
    return run(["compat", program, str(tree.root), "training", "5.1.0", *flags])


def incumbent(tree: Submission, work: Path, *flags: str) -> list[str]:
    """Return the last lines that the official package checker prints for a copy."""
    shutil.copytree(tree.root, work / "copy", symlinks=True)
    done = subprocess.run(
        [sys.executable, "-m", _PROGRAM, "copy", "training", "5.1.0", *flags],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr.strip().splitlines()[-3:]


BROKEN = {
    "good": lambda tree: tree,
    "one bad log": lambda tree: tree.log(1, lambda log: log.set("opt_adamw_beta_1", 0.5)),
    "two bad logs": lambda tree: tree.log(1, lambda log: log.drop("run_stop")).log(
        2, lambda log: log.drop("run_stop")
    ),
    "no seeds": lambda tree: tree.result(change=lambda log: log.drop("seed")),
    "too few": lambda tree: (tree.root / tree.folder() / "result_2.txt").unlink(),
    "repeated marks": lambda tree: tree.result(change=lambda log: log.repeat("global_batch_size")),
}
FLAGS = {"no seeds": ("--seed-checker-bypass",), "repeated marks": ("--werror",)}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("flagged", [False, True])
def test_the_last_lines_match_the_official_package_checker(
    name: str, flagged: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if flagged and name not in FLAGS:
        return
    tree = usual(tmp_path)
    BROKEN[name](tree)
    flags = FLAGS[name] if flagged else ()
    status = compat(tree, *flags)
    last = capsys.readouterr().err.strip().splitlines()[-3:]
    (tmp_path / "work").mkdir()
    assert last == incumbent(tree, tmp_path / "work", *flags)
    assert status == (Exit.CLEAN if GOOD in last else Exit.FOUND)


@pytest.mark.parametrize(
    ("flags", "status"),
    [((), Exit.FOUND), (("--rcp-bypass",), Exit.CLEAN), (("--seed-checker-bypass",), Exit.FOUND)],
)
def test_rcp_bypass_skips_the_convergence_test(
    flags: tuple[str, ...], status: Exit, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    # Half the samples at every evaluation: faster convergence than every reference run.
    tree.result(change=_sooner)
    assert compat(tree, *flags) == status


def _sooner(log: LogBuilder) -> LogBuilder:
    def half(record: Record) -> Record:
        metadata = record.metadata | {"samples_count": record.metadata["samples_count"] // 2}
        return msgspec.structs.replace(record, metadata=metadata)

    return log.change("eval_accuracy", half)


def test_quiet_hides_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = usual(tmp_path).result(change=lambda log: log.repeat("global_batch_size"))
    assert compat(tree) == Exit.CLEAN
    assert "WARNING - " in capsys.readouterr().err
    assert compat(tree, "--quiet") == Exit.CLEAN
    assert "WARNING - " not in capsys.readouterr().err


def test_log_output_is_written_only_outside_the_tree(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    before = sorted(tree.root.rglob("*"))
    assert compat(tree, "--log_output", str(tmp_path / "out.log")) == Exit.CLEAN
    assert GOOD in (tmp_path / "out.log").read_text()
    assert sorted(tree.root.rglob("*")) == before
    assert compat(tree, "--log_output", str(tree.root / "out.log")) == Exit.USAGE
    assert sorted(tree.root.rglob("*")) == before


def test_a_folder_that_is_not_a_submission_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = Submission(tmp_path, usual(tmp_path / "a").which)
    assert compat(tree) == Exit.USAGE
    assert "no such folder" in capsys.readouterr().err
    tree.root.mkdir()
    assert compat(tree) == Exit.USAGE
    assert "expected folders results and systems" in capsys.readouterr().err


# --- verify ---


def test_verify_runs_the_three_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = usual(tmp_path)
    assert compat(tree, program="verify") == Exit.CLEAN
    said = capsys.readouterr().err
    summary, complete = summarize(str(tree.root), "training", "5.1", None, None)
    assert complete
    assert "ex_n8" in summary
    first, second = said.index(GOOD), said.index(summary)
    assert first < second < said.index("INFO - ALL CHECKS PASSED.")


@pytest.mark.parametrize("broken", ["log", "name"])
def test_verify_fails_if_one_program_fails(
    broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    if broken == "log":
        (tree.root / tree.folder() / "result_2.txt").unlink()
    else:
        tree.write("benchmarks/two words")
    assert compat(tree, program="verify") == Exit.FOUND
    said = capsys.readouterr().err
    assert (BAD in said) is (broken == "log")
    assert ("CHECKS FAILED" in said) is (broken == "name")


@pytest.mark.parametrize("text", ["seed-checker-bypass\n", "seed_checker_bypass", "--rcp-bypass"])
def test_verify_applies_package_checker_params(text: str, tmp_path: Path) -> None:
    tree = usual(tmp_path).result(change=lambda log: log.drop("seed"))
    tree.write("package_checker_params", text)
    expected = Exit.CLEAN if "seed" in text else Exit.FOUND
    assert compat(tree, program="verify") == expected
