"""The command itself: its help, the modules that the help loads, and its exit statuses."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from podium.compliance.cli import registry
from podium.compliance.cli.registry import PANELS, load_commands
from podium.compliance.errors import NothingToJudge
from podium.compliance.exit_codes import Exit
from tests.compliance.command_line import podium
from tests.locations import ROOT

COMMANDS = {name: command for commands in PANELS.values() for name, command in commands.items()}


def _below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, part in getattr(command, "commands", {}).items():
        yield from _below(part, (*words, name))


def _tree(name: str) -> Any:
    """A top-level command with all its options, as a click object."""
    whole: Any = typer.main.get_command(load_commands([name]))
    return whole.commands[name]


EVERY = dict(each for name in COMMANDS for each in _below(_tree(name), (name,)))
"""Every command and subcommand, by the words that call it."""

every = pytest.mark.parametrize("words", EVERY, ids=" ".join)
wide = pytest.mark.parametrize("columns", [80, 100, 120])


def words_of(text: str) -> str:
    """A text without line ends and margins."""
    return " ".join(text.split())


# --- the list of commands ---


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_first_line_of_its_help(name: str) -> None:
    home, _, member = COMMANDS[name].path.partition(":")
    command = getattr(import_module(f"podium.compliance.cli.{home}"), member)
    text = command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)
    assert text.splitlines()[0] == COMMANDS[name].about


@wide
@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--help", "check"], ["-h", "score"]])
def test_the_help_lists_every_command_in_its_panel(arguments: list[str], columns: int) -> None:
    done = podium(*arguments, columns=columns)
    assert done.exit_code == 0
    _, *panels = re.split(r"^(\S.*):$", done.stdout, flags=re.MULTILINE)
    listed = dict(zip(panels[::2], panels[1::2], strict=True))
    assert list(listed) == ["Options", *PANELS]
    for panel, commands in PANELS.items():
        names = re.findall(r"^  (\S+)", listed[panel], flags=re.MULTILINE)
        assert names == list(commands)
        for name, command in commands.items():
            assert words_of(f"{name} {command.about}") in words_of(listed[panel])


# --- every command's help ---


@wide
@every
def test_help_fits_the_terminal_without_truncation(words: tuple[str, ...], columns: int) -> None:
    done = podium(*words, "--help", columns=columns)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "…" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= columns
    shown = words_of(done.stdout)
    for part in getattr(EVERY[words], "commands", {}).values():
        assert words_of(part.help.partition("\n\n")[0]) in shown


def examples_of(words: tuple[str, ...], columns: int = 80) -> list[str]:
    lines = podium(*words, "--help", columns=columns).stdout.partition("Examples:\n")[2]
    return [line.strip() for line in lines.splitlines() if line.strip()]


CALLABLE = [words for words, command in EVERY.items() if not hasattr(command, "commands")]
"""Commands with an action; the other commands only group subcommands."""


@wide
@pytest.mark.parametrize("words", CALLABLE, ids=" ".join)
def test_every_example_fits_one_line_and_can_be_parsed(
    words: tuple[str, ...], columns: int
) -> None:
    found = examples_of(words, columns)
    assert found
    for example in found:
        call = shlex.split(example.partition(" > ")[0])
        start = call.index("podium")
        assert tuple(call[start + 1 :][: len(words)]) == words, example
        # Parsing converts every value, and raises if an option or an argument does not exist.
        EVERY[words].make_context("podium", call[start + 1 + len(words) :])


def test_the_help_imports_no_command() -> None:
    code = "import sys; from podium.compliance.cli import entry; entry.run(['--help']); "
    code += "print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    names = done.stdout.splitlines()[-1].split()
    commands = {name for name in names if name.startswith("podium.compliance.cli.")}
    loaded = {f"podium.compliance.cli.{name}" for name in ("entry", "help", "registry")}
    assert commands == loaded


# --- exit statuses ---


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), Exit.INTERRUPTED, "podium: interrupted"),
        (typer.Abort(), Exit.INTERRUPTED, "podium: interrupted"),
        (NothingToJudge("no such path: x"), Exit.USAGE, "podium: no such path: x"),
        (typer.BadParameter("wrong"), Exit.USAGE, "Error: Invalid value: wrong"),
    ],
)
def test_an_exception_has_its_status_and_is_printed_in_one_line(
    error: BaseException, status: Exit, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(registry, "_add", lambda app, name, *_: app.command(name)(fail))
    done = podium("check")
    assert (done.exit_code, done.stdout) == (status, "")
    assert done.stderr.splitlines()[-1] == line
    assert done.stderr.count(line) == 1


@pytest.mark.parametrize("words", [("check", str(ROOT)), ("rules", "list"), ("--version",)])
def test_a_deleted_working_directory_is_reported_in_one_line(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", sys.executable, "-m", "podium", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        cwd=gone,
    )
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    says = "podium: cannot read the working directory: No such file or directory\n"
    assert done.stderr == says


def test_an_exception_during_an_interrupt_is_reported_as_the_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ValueError("while tidying up")  # noqa: B904 - as a library would

    monkeypatch.setattr(registry, "_add", lambda app, name, *_: app.command(name)(fail))
    done = podium("check")
    assert (done.exit_code, done.stderr) == (Exit.INTERRUPTED, "podium: interrupted\n")


@pytest.mark.parametrize("arguments", [["no-such"], ["check"], ["check", "--no-such"]])
def test_invalid_arguments_are_a_usage_error(arguments: list[str]) -> None:
    done = podium(*arguments)
    assert done.exit_code == Exit.USAGE
    assert "Error: " in done.stderr
