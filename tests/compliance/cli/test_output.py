"""Output streams: streams that cannot be written, colors, and characters."""

from __future__ import annotations

import os
import pty
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.exit_codes import Exit
from tests.builders import build
from tests.compliance.trees import usual
from tests.locations import ROOT

PODIUM = (sys.executable, "-m", "podium")
CLEAR = {
    name: value
    for name, value in os.environ.items()
    if name not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "GITHUB_ACTIONS")
    and name not in ("LC_ALL", "LC_CTYPE", "LANG", "PYTHONIOENCODING", "PYTHONUTF8")
} | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "TERM": "xterm", "COLUMNS": "80"}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with one error, in its own folder."""
    bad = build("training", "5.1", "closed", "llama31_8b").set("opt_adamw_beta_2", 0.5)
    return bad.write(tmp_path_factory.mktemp("logs") / "result_0.txt")


def shell(line: str, log: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which `podium` is the command and $LOG is the log."""
    script = f'podium() {{ "{sys.executable}" -m podium "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script],
        env={**CLEAR, "LOG": str(log)},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


# --- outputs that cannot be written ---

FULL = "No space left on device"
CLOSED = "Bad file descriptor"


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("podium check $LOG > /dev/full", f"standard output cannot be written: {FULL}"),
        (
            "podium check $LOG --format json > /dev/full",
            f"standard output cannot be written: {FULL}",
        ),
        ("podium score $LOG > /dev/full", f"standard output cannot be written: {FULL}"),
        ("podium rules list --all > /dev/full", f"standard output cannot be written: {FULL}"),
        ("podium --help > /dev/full", f"standard output cannot be written: {FULL}"),
        ("podium --version > /dev/full", f"standard output cannot be written: {FULL}"),
        ("podium check $LOG >&-", f"standard output cannot be written: {CLOSED}"),
        ("podium --help >&-", f"standard output cannot be written: {CLOSED}"),
        ("podium check $LOG --output /dev/full", f"/dev/full cannot be written: {FULL}"),
        ("podium rcp make $LOG --output /dev/full", f"/dev/full cannot be written: {FULL}"),
    ],
)
def test_an_output_that_cannot_be_written_is_reported_with_the_system_error(
    line: str, reported: str, log: Path
) -> None:
    done = shell(line, log)
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    assert done.stderr == f"podium: {reported}\n"


def limited(size: int) -> Callable[[], None]:
    """Limit the size of the files that a process writes, like a disk that is almost full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_disk_that_becomes_full_is_reported(log: Path, tmp_path: Path) -> None:
    line = "podium rules list --all --format json > printed"
    done = shell(line, log, cwd=tmp_path, preexec_fn=limited(20_000))
    assert done.returncode == Exit.USAGE
    assert done.stderr == "podium: standard output cannot be written: File too large\n"
    assert (tmp_path / "printed").stat().st_size == 20_000


def test_a_disk_that_becomes_full_keeps_the_old_report(log: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    line = "podium check $LOG --format json --output out"
    done = shell(line, log, cwd=tmp_path, preexec_fn=limited(200))
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    assert done.stderr == "podium: out cannot be written: File too large\n"
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out", "old")]


@pytest.mark.parametrize("streams", [">&-", "<&- >&-", "<&- >&- 2>&-", "2>&-", "2>/dev/full"])
def test_streams_that_are_not_needed_may_be_closed(streams: str, log: Path, tmp_path: Path) -> None:
    done = shell(f"podium check $LOG --format json --output report {streams}", log, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (Exit.FOUND, "", "")
    assert (tmp_path / "report").read_text().startswith('{\n  "schema": "podium.report/1"')


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_the_status_is_correct_without_standard_error(streams: str, log: Path) -> None:
    assert shell(f"podium check nowhere {streams}", log).returncode == Exit.USAGE


def test_a_closed_pipe_ends_the_call_silently(log: Path) -> None:
    done = shell("podium rules list --all | head -n 1; echo ${PIPESTATUS[0]}", log)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("1", "")


# --- colors ---

ESCAPE = "\x1b["


def on_a_terminal(*arguments: object, env: Mapping[str, str]) -> str:
    """The output of a call on a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*PODIUM, *map(str, arguments)],
        env={**CLEAR, **env},
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.DEVNULL,
    ):
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 1 << 16):
                text += piece
        # Linux reports the end of a terminal without writers as an error
        except OSError:
            pass
    os.close(master)
    return text.decode()


def to_a_pipe(*arguments: object, env: Mapping[str, str]) -> str:
    """The output of a call to a pipe."""
    done = subprocess.run(
        [*PODIUM, *map(str, arguments)],
        env={**CLEAR, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("env", "terminal", "pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, True, True),
        ({"CLICOLOR": "0"}, False, False),
        ({"CLICOLOR": "1"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
    ids=str,
)
def test_environment_variables_control_colors(
    env: dict[str, str], terminal: bool, pipe: bool, log: Path
) -> None:
    call = ("check", log, "--round", "5.1")
    assert (ESCAPE in on_a_terminal(*call, env=env)) == terminal
    assert (ESCAPE in to_a_pipe(*call, env=env)) == pipe


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission with a result without a score, and a description with an error."""
    made = usual(tmp_path_factory.mktemp("tree"))
    (made.root / made.folder() / "result_2.txt").unlink()
    description = next((made.root / "systems").iterdir())
    description.write_text(description.read_text().replace('"closed"', '"x"'))
    return made.root


@pytest.mark.parametrize(
    "call",
    [
        ("check", "{tree}", "--round", "5.1"),
        ("check", "{tree}", "--round", "5.1", "--score"),
        ("score", "{tree}", "--round", "5.1"),
        ("system", "check", "{tree}", "--round", "5.1"),
        ("watch", "{log}", "--once", "--round", "5.1"),
        ("rules", "show", "llama31_8b"),
    ],
    ids=lambda call: " ".join(call[:2]),
)
def test_every_command_follows_the_color_settings(
    call: tuple[str, ...], tree: Path, log: Path
) -> None:
    words = [word.format(tree=tree, log=log) for word in call]
    assert ESCAPE in to_a_pipe(*words, env={"FORCE_COLOR": "1"})
    assert ESCAPE not in to_a_pipe(*words, env={})
    if call[0] != "rules":
        assert ESCAPE not in to_a_pipe(*words, "--no-color", env={"FORCE_COLOR": "1"})


def test_a_report_in_a_file_has_no_colors(log: Path, tmp_path: Path) -> None:
    to_a_pipe("check", log, "--output", tmp_path / "out", env={"FORCE_COLOR": "1"})
    assert ESCAPE not in (tmp_path / "out").read_text()


# --- characters ---

NARROW = (
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "ascii"},
)


@pytest.mark.parametrize("env", NARROW, ids=str)
def test_lines_are_ascii_in_an_ascii_locale(env: dict[str, str]) -> None:
    plain = to_a_pipe("rules", "list", env=env)
    drawn = to_a_pipe("rules", "list", env={"LC_ALL": "C.UTF-8"})
    assert plain.isascii()
    assert plain == drawn.replace("─", "-")
    assert plain != drawn


@pytest.mark.parametrize("env", NARROW, ids=str)
def test_a_character_outside_the_locale_does_not_fail_a_call(
    env: dict[str, str], tmp_path: Path
) -> None:
    odd = build("training", "5.1", "closed", "llama31_8b").set("opt_name", "日本 é 😀")
    path = odd.write(tmp_path / "é" / "result_0.txt")
    init = ("init", tmp_path / "é 2", "--submitter", "United", "--round", "5.1")
    for call in (("check", path), init):
        done = subprocess.run(
            [*PODIUM, *map(str, call)], env={**CLEAR, **env}, capture_output=True, check=False
        )
        assert done.returncode in (Exit.CLEAN, Exit.FOUND), done.stderr
        assert done.stderr == b""
