"""The command itself: what its help lists, and what it loads to do so."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest
import typer

from podium.compliance import cli
from podium.compliance.commands.registry import COMMANDS
from tests.locations import ROOT


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_first_line_of_its_own_help(name: str) -> None:
    place, about = COMMANDS[name]
    home, _, function = place.partition(":")
    command = getattr(import_module(f"podium.compliance.commands.{home}"), function)
    text = command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)
    assert text.splitlines()[0] == about


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_called(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([name, "--help"]) == 0
    assert COMMANDS[name][1].split(":")[0].split(",")[0] in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--help", "check"], ["-h", "score"]])
def test_the_help_lists_every_command(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)


def test_the_help_imports_no_command() -> None:
    code = "import sys; from podium.compliance.cli import run; run(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    names = done.stdout.splitlines()[-1].split()
    commands = {name for name in names if name.startswith("podium.compliance.commands.")}
    assert commands == {"podium.compliance.commands.group", "podium.compliance.commands.registry"}
