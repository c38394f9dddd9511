"""`podium compat compliance_checker`: official arguments, last line and exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.cli import entry as cli
from tests.builders import LogBuilder, build

Outcome = tuple[int, str]


def podium(capsys: pytest.CaptureFixture[str], *arguments: object) -> Outcome:
    """Return podium's exit code and last line."""
    capsys.readouterr()
    status = cli.run(["compat", "compliance_checker", *map(str, arguments)])
    return int(status), capsys.readouterr().err.rstrip().rpartition("\n")[2]


def incumbent(folder: Path, *arguments: object) -> Outcome:
    """Return the official checker's exit code and last line; it writes its log to `folder`."""
    command = [sys.executable, "-m", "mlperf_logging.compliance_checker", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    return done.returncode, done.stderr.rstrip().rpartition("\n")[2]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


LOGS: dict[str, Callable[[], LogBuilder]] = {
    "good": lambda: build("training", "5.1", "closed", "llama31_8b"),
    "wrong value": lambda: LOGS["good"]().set("opt_adamw_beta_2", 0.5),
    "missed target": lambda: LOGS["good"]().set("eval_accuracy", 9.9),
    "repeated": lambda: LOGS["good"]().repeat("opt_name"),
    "repeated and wrong": lambda: LOGS["repeated"]().drop("eval_samples"),
    "not json": lambda: LOGS["good"]().noise(3, b":::MLLOG {"),
}
FLAGS = {
    "good": ([], ["--werror"]),
    "wrong value": ([], ["--quiet"]),
    "missed target": ([],),
    "repeated": ([], ["--werror"], ["--quiet"], ["--werror", "--quiet"]),
    "repeated and wrong": (["--quiet"],),
    "not json": ([],),
}


@pytest.mark.parametrize("name", LOGS)
def test_last_line_and_exit_code_match_the_official_checker(
    work: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = LOGS[name]().write(work / "result_0.txt")
    for flags in FLAGS[name]:
        arguments = [path, "--ruleset", "5.1.0", *flags]
        assert podium(capsys, *arguments) == incumbent(work, *arguments), flags


@pytest.mark.parametrize(
    ("usage", "round_", "division", "benchmark", "arguments"),
    [
        ("hpc", "3.0", "open", "openfold", ["--usage", "hpc", "--ruleset", "3.0.0"]),
        ("training", "0.6", "closed", "ssd", ["--ruleset", "0.6.0"]),
        ("training", "6.1", "closed", "flux1", []),
        (
            "training",
            "4.0",
            "closed",
            "gnn",
            ["--config", "training_4.0.0/common.yaml", "--ruleset", "4.0.0"],
        ),
    ],
)
def test_arguments_choose_the_same_rules_as_the_official_checker(
    work: Path,
    capsys: pytest.CaptureFixture[str],
    usage: str,
    round_: str,
    division: str,
    benchmark: str,
    arguments: list[str],
) -> None:
    path = build(usage, round_, division, benchmark).write(work / "result_0.txt")
    assert podium(capsys, path, *arguments) == incumbent(work, path, *arguments)
    assert podium(capsys, path, *arguments) == (0, "INFO - SUCCESS")
    assert podium(capsys, path, "--ruleset", "2.1.0") == (1, "ERROR - FAILED")


@pytest.mark.parametrize(
    "line", [b":::MLLOG [1]", b':::MLLOG {"key": "a", "time_ms": 1, "value": 1}']
)
def test_a_log_that_crashes_the_official_checker_fails(
    work: Path, capsys: pytest.CaptureFixture[str], line: bytes
) -> None:
    path = LOGS["good"]().noise(3, line).write(work / "result_0.txt")
    status, last = incumbent(work, path, "--ruleset", "5.1.0")
    assert (status, last.startswith(("INFO", "ERROR"))) == (1, False)
    assert podium(capsys, path, "--ruleset", "5.1.0") == (1, "ERROR - FAILED")


def test_quiet_hides_warnings_unless_they_are_errors(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = LOGS["repeated"]().write(work / "result_0.txt")
    arguments = ["compat", "compliance_checker", str(path), "--ruleset", "5.1.0"]
    assert cli.run(arguments) == 0
    assert "WARNING - line" in capsys.readouterr().err
    assert cli.run([*arguments, "--quiet"]) == 0
    assert "WARNING" not in capsys.readouterr().err
    assert cli.run([*arguments, "--quiet", "--werror"]) == 1
    assert "[closed.llama31_8b.opt_name]" in capsys.readouterr().err


def test_the_check_log_is_written_only_to_log_output(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    path = LOGS["wrong value"]().write(work / "result_0.txt")
    assert podium(capsys, path, "--ruleset", "5.1.0", "--log_output", "out.log")[0] == 1
    assert Path("out.log").read_text().endswith("ERROR - FAILED\n")
    assert podium(capsys, path, "--ruleset", "5.1.0")[0] == 1
    assert {each.name for each in work.iterdir()} == {"result_0.txt", "out.log"}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nowhere.txt"],
        ["result_0.txt", "--ruleset", "9.9.0"],
        ["result_0.txt", "--usage", "inference"],
        ["result_0.txt", "--config", "nonsense.yaml"],
        ["result_0.txt", "--config", "training_9.9.0/common.yaml"],
        ["."],
    ],
)
def test_invalid_arguments_are_a_usage_error(
    work: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(work)
    LOGS["good"]().write(work / "result_0.txt")
    assert podium(capsys, *arguments)[0] == 2


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("compliance_checker", ()),
        ("system_desc_checker", ("training", "5.1.0")),
        ("repo_checker", ("training", "5.1.0")),
        ("rcp_checker", ("--rcp_version", "5.1.0")),
    ],
)
def test_a_tool_does_not_overwrite_its_input(
    work: Path, capsys: pytest.CaptureFixture[str], tool: str, more: tuple[str, ...]
) -> None:
    log = LOGS["good"]().write(work / "result_0.txt")
    before = log.read_bytes()
    read = log if tool in ("compliance_checker", "system_desc_checker") else work
    assert cli.run(["compat", tool, str(read), *more, "--log_output", str(log)]) == 2
    assert "--log_output" in capsys.readouterr().err
    assert log.read_bytes() == before
