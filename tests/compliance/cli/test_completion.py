"""Shell completion and the manual page: both agree with the help."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from podium.compliance.cli.registry import PANELS, load_commands
from podium.compliance.cli.shell.completion import SHELLS
from podium.compliance.exit_codes import Exit
from podium.reference_runs.catalogue import names
from podium.rules.catalogue import find_round, rounds_of
from tests.compliance.command_line import podium
from tests.locations import ROOT

COMMANDS = [name for commands in PANELS.values() for name in commands]


def words(*line: str) -> list[str]:
    """The completions of the last word."""
    done = podium("--complete", *line)
    assert (done.exit_code, done.stderr) == (Exit.CLEAN, "")
    return [each.partition("\t")[0] for each in done.stdout.splitlines()]


# --- completions ---


def test_commands_are_completed_with_their_descriptions() -> None:
    assert words("") == COMMANDS
    assert words("--complete") == []
    done = podium("--complete", "sco")
    assert done.stdout.startswith("score\tScore results: time to train")
    assert max(map(len, podium("--complete", "").stdout.splitlines())) < 80


def test_subcommands_are_completed() -> None:
    assert words("rcp", "") == ["check", "plan", "show", "lint", "make", "curves"]
    assert words("rcp", "p") == ["plan"]
    assert words("man", "") == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_completed(name: str) -> None:
    command = typer.main.get_command(load_commands([name])).commands[name]  # type: ignore[attr-defined]
    line = (name,)
    if hasattr(command, "commands"):
        sub, command = next(iter(command.commands.items()))
        line = (name, sub)
    listed = [param for param in command.params if not getattr(param, "hidden", False)]
    wanted = {each for param in listed for each in param.opts if each.startswith("--")}
    assert wanted | {"--help"} <= {*words(*line, "-")}


def test_options_are_completed_only_before_two_hyphens() -> None:
    assert words("check", "--rel") == ["--relative-to"]
    assert words("check", "x", "--round", "5.1", "--waiv") == ["--waivers"]
    assert words("check", "--", "--rel") == []


def test_a_flag_does_not_change_the_completion_of_the_next_word() -> None:
    assert words("rules", "list", "--all", "llama31_") == words("rules", "list", "llama31_")
    assert words("rules", "list", "--all", "llama31_") != []


NEWEST = [*rounds_of("training")][-1]


def test_values_of_an_option_are_completed() -> None:
    assert words("preflight", "--division", "") == ["closed", "open"]
    assert words("check", "--format", "j") == ["json", "junit"]
    assert words("check", "--usage=") == ["--usage=training", "--usage=hpc"]


def test_rounds_are_completed_with_the_newest_first() -> None:
    hpc, training = ([*reversed([*rounds_of(usage)])] for usage in ("hpc", "training"))
    assert words("check", "--round", "") == training + hpc
    assert words("check", "--usage", "hpc", "--round", "") == hpc
    assert words("rules", "diff", "5.0", "") == training + hpc
    assert words("rules", "diff", "5.0", "6.0", "") == []


def test_benchmarks_of_the_round_are_completed() -> None:
    assert words("rules", "show", "") == [*find_round("training", NEWEST).benchmarks]
    assert words("rules", "show", "--round", "0.6", "m") == [
        name for name in find_round("training", "0.6").benchmarks if name.startswith("m")
    ]
    hpc = [*find_round("hpc", "3.0").benchmarks]
    assert words("rules", "show", "--usage=hpc", "--round=3.0", "") == hpc
    # An incomplete or invalid value must not end the call
    assert words("rules", "show", "--round", "9.9", "llama31_8") == ["llama31_8b"]


def test_trainers_of_reference_runs_are_completed() -> None:
    assert words("run", "") == [*names()]
    assert words("run", "--runs", "2", "mini") == ["minigo"]


def test_rules_and_rule_families_are_completed() -> None:
    assert words("rules", "explain", "closed.llama31_8b.opt_adamw_beta_2") == [
        "closed.llama31_8b.opt_adamw_beta_2"
    ]
    assert "system.*" in words("check", "--select", "sys")
    assert words("rules", "explain", "closed.minigo") == []
    assert words("rules", "explain", "--round", "1.1", "closed.minigo") != []


def test_a_glob_is_completed_after_a_comma() -> None:
    assert "log.*,common.run_stop" in words("check", "--ignore", "log.*,common.run_")


@pytest.mark.parametrize("line", [("--select", "=", "log.n"), ("--select=log.n",)])
def test_words_that_bash_splits_at_an_equals_sign_are_completed(line: tuple[str, ...]) -> None:
    whole = [f"--select={each}" for each in words("check", "--select", "log.n")]
    assert len(whole) > 1
    assert words("check", *line) == [
        each if len(line) == 1 else each.partition("=")[2] for each in whole
    ]


def test_file_names_are_left_to_the_shell() -> None:
    assert words("check", "") == words("check", "--output", "") == words("check", "a", "b") == []


# --- completion scripts ---


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed_and_installed(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    printed = podium("--show-completion")
    assert printed.stdout == podium("--show-completion", shell).stdout
    for arguments in ([], [shell]):
        done = podium("--install-completion", *arguments)
        assert (done.exit_code, done.stderr) == (Exit.CLEAN, "")
        [file] = [each for each in (tmp_path / "home").rglob("*") if each.is_file()]
        assert file.read_text() == printed.stdout
        assert f"completion for {shell} written to {file}" in done.stdout


def test_a_folder_that_cannot_be_created_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    done = podium("--install-completion", "bash")
    assert (done.exit_code, done.stdout) == (Exit.USAGE, "")
    assert "cannot be made: Not a directory" in done.stderr


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
@pytest.mark.parametrize("given", [["tcsh"], ["bash", "zsh"], []])
def test_an_unknown_shell_is_refused(
    option: str, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHELL", raising=False)
    done = podium(option, *given)
    assert (done.exit_code, done.stdout) == (Exit.USAGE, "")
    assert "bash, zsh, fish" in done.stderr


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with the command `podium`."""
    script = tmp_path / "podium"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m podium "$@"\n')
    script.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def in_shell(shell: str, script: str, path: str, folder: Path) -> list[str]:
    """The output of a script in a shell with the completion loaded."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not here")
    quiet = {"zsh": ["-f"], "fish": ["--no-config"]}.get(shell, ["--norc"])
    # zsh's completion system defines it, and only a terminal starts that system
    begin = "compdef() { : }" if shell == "zsh" else ""
    text = f"{begin}\n{SHELLS[shell].script}\n{script}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(
        [program, *quiet, "-c", text],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        cwd=folder,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_completes(path: str, tmp_path: Path) -> None:
    script = """
        ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _podium; echo "${COMPREPLY[@]}"; }
        ask podium rules show --round 5.1 llama31_
        ask podium check --select = common.run_st
        ask podium check ''
        complete -p podium
    """
    benchmarks, rules, files, declared = in_shell("bash", script, path, tmp_path)
    assert {*benchmarks.split()} == {"llama31_405b", "llama31_8b"}
    assert rules.split() == ["common.run_start", "common.run_stop"]
    assert (files, "-o default" in declared) == ("", True)


def test_fish_completes(path: str, tmp_path: Path) -> None:
    (tmp_path / "result_0.txt").write_text("")
    script = """
        complete -C 'podium rules show --round 5.1 llama31_8'
        complete -C 'podium check --select=common.run_sto'
        complete -C 'podium check result_'
    """
    found = [each.partition("\t")[0] for each in in_shell("fish", script, path, tmp_path)]
    assert found == ["llama31_8b", "--select=common.run_stop", "result_0.txt"]


def test_zsh_completes(path: str, tmp_path: Path) -> None:
    script = """
        compadd() { print -l -- "${found[@]}" }
        _files() { print files }
        ask() { words=("$@"); CURRENT=$#; _podium }
        ask podium rules show --round 5.1 llama31_8
        ask podium check --select=common.run_sto
        ask podium check ''
    """
    lines = in_shell("zsh", f"{script}", path, tmp_path)
    assert lines == ["llama31_8b", "--select=common.run_stop", "files"]


# --- the manual page ---

PAGE = ROOT / "docs" / "podium.1"


def test_the_page_in_the_repository_is_current() -> None:
    assert PAGE.read_text() == podium("man").stdout, "run: make docs"


def test_the_page_has_every_command_and_option() -> None:
    page = podium("man").stdout.replace("\\-", "-")
    assert page.isascii()
    for name in COMMANDS:
        command = typer.main.get_command(load_commands([name])).commands[name]  # type: ignore[attr-defined]
        for sub, one in getattr(command, "commands", {"": command}).items():
            title = f"podium {name} {sub}".strip()
            assert f'.SS "{title}"' in page
            section = page.partition(f'.SS "{title}"\n')[2].partition("\n.S")[0]
            for param in one.params:
                if getattr(param, "hidden", False):
                    continue
                shown = param.metavar or param.name.upper()
                if param.param_type_name == "option":
                    shown = param.opts[0]
                assert re.search(rf"\\f[BI]{re.escape(shown)}\\fR", section), (title, shown)
            assert "Examples:" in section


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not here")
def test_groff_renders_the_page_without_warnings() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-ww", "-rLL=80n"],
        input=podium("man").stdout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "podium check result_0.txt --round 5.1" in done.stdout


def test_the_man_command_is_hidden_in_the_help() -> None:
    assert not re.search(r"^  man\b", podium("--help").stdout, re.MULTILINE)
    assert podium("man", "--help").exit_code == Exit.CLEAN
