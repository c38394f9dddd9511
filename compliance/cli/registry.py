"""The list of commands, and their order in the help."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from podium.compliance.cli.help import group
from podium.compliance.errors import UsageFault
from podium.compliance.judging.plugins.installed import leave_out

ABOUT = "Check, score and package MLPerf Training and HPC results."


class Command(NamedTuple):
    """The location of a command below `cli` (module and name), and its summary in the help."""

    path: str
    about: str


# The summaries are repeated here so that the help needs no import of a command;
# a test compares each with the first line of the command's help
PANELS = {
    "Check": {
        "check": Command(
            "judging.check:check",
            "Check logs against the rules of their round; report errors with location and fix.",
        ),
        "preflight": Command(
            "judging.preflight:preflight",
            "Check hyperparameters before a run: violations, missing keys, evaluation schedule.",
        ),
        "watch": Command(
            "judging.watch:watch",
            "Check logs while they are written: progress, findings, expected end.",
        ),
        "review": Command(
            "judging.review:app",
            "Review a round: compare results, find anomalies, write and track objections.",
        ),
        "serve": Command(
            "judging.serve:serve",
            "Run a read-only server of the Model Context Protocol: check, score, explain rules.",
        ),
    },
    "Score and converge": {
        "score": Command(
            "scoring.score:score",
            "Score results: time to train, factor, score, energy, throughput, spread.",
        ),
        "rcp": Command(
            "scoring.rcp:app",
            "Compare results with reference convergence points, plan runs, show points.",
        ),
    },
    "Analyze": {
        "results": Command(
            "analysis.results:app",
            "Build a store of many rounds, query it and analyze it.",
        ),
    },
    "Run": {
        "run": Command(
            "running.run:run",
            "Train a bundled reference benchmark and write its log.",
        ),
        "profile": Command(
            "running.profile:app",
            "Profile a trainer: steps, layers and kernels, and the overhead of measuring.",
        ),
        "kernels": Command(
            "running.kernels:app",
            "Measure single kernels, of DeepBench's lists or of a trainer, and compare devices.",
        ),
        "data": Command(
            "running.data:app",
            "Prepare and verify the datasets of the bundled trainers.",
        ),
    },
    "Package": {
        "init": Command(
            "packaging.init:init",
            "Write the skeleton of a submission: folders, system descriptions, podium.toml.",
        ),
        "system": Command(
            "packaging.system:app",
            "Write and check system descriptions (systems/*.json), and print their schema.",
        ),
        "doctor": Command(
            "packaging.doctor:doctor",
            "List the steps that a submission still lacks, in order, with a command for each.",
        ),
        "fix": Command(
            "packaging.fix:fix",
            "Show automatic fixes of names, JSON, junk files and permissions; --write makes them.",
        ),
        "pack": Command(
            "packaging.pack:pack",
            "Assemble a submission: plan, copy, check, replace the old tree, write a receipt.",
        ),
        "bundle": Command(
            "packaging.bundle:bundle",
            "Write a submission as one archive, with its SHA-256 and SHA-1 in separate files.",
        ),
        "unpack": Command(
            "packaging.unpack:unpack",
            "Unpack a bundle into a new folder, all or nothing, and verify it with its receipt.",
        ),
    },
    "Rules": {
        "rules": Command(
            "rulebook.rules:app",
            "List, explain and compare the rules; print legal hyperparameters.",
        ),
        "schema": Command(
            "rulebook.schema:schema",
            "Print the JSON Schema of a file that podium reads or writes, for editors and "
            "programs.",
        ),
        "plugins": Command(
            "rulebook.plugins:plugins",
            "List the installed plug-ins: what each adds, and whether it can be loaded.",
        ),
    },
    "Compatibility": {
        "compat": Command(
            "compatibility.compat:app",
            "The official MLCommons tools with their names and flags, and correct exit codes.",
        ),
    },
}
"""Every command in the panels and the order of the help."""

HIDDEN = {
    "man": Command("shell.man:man", "Print the manual page of podium, for man."),
}
"""Commands that the help does not list; packaging scripts call them."""

SHELL_OPTIONS = ("--install-completion", "--show-completion", "--complete")
"""Options that come first and need no command; only shells use the last."""


def load_commands(arguments: Sequence[str] = ()) -> typer.Typer:
    """The root command, with the called command loaded and all others only listed.

    A command that is not called is not imported: `podium check` does not wait for other commands,
    and the help waits for none.
    """
    # The root's options take no values, so that the first word without a hyphen is the command
    command_name = next((word for word in arguments if not word.startswith("-")), None)
    app = group(ABOUT)
    # Build all options of the root only if they may be parsed or listed
    app.callback()(_root if arguments and not arguments[0].startswith("-") else _whole_root)
    for panel, commands in PANELS.items():
        for name, command in commands.items():
            if name == command_name:
                _add(app, name, command, panel)
            else:
                app.command(name, help=command.about, rich_help_panel=panel)(_listed)
    if command_name in HIDDEN:
        _add(app, command_name, HIDDEN[command_name], None)
    return app


def _add(app: typer.Typer, name: str, command: Command, panel: str | None) -> None:
    home, _, member = command.path.partition(":")
    module = import_module(f"podium.compliance.cli.{home}")
    target = getattr(module, member)
    if isinstance(target, typer.Typer):
        app.add_typer(target, name=name, rich_help_panel=panel)
    else:
        hidden = panel is None
        app.command(name, epilog=module.EXAMPLES, rich_help_panel=panel, hidden=hidden)(target)


def _listed() -> None:
    """The placeholder of a command that is not called."""


def _version(value: bool) -> None:
    if value:
        from podium.compliance.version import VERSION

        sys.stdout.write(f"podium {VERSION}\n")
        raise typer.Exit


_VersionOption = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
]


def _shell_option(name: str, about: str) -> Any:
    return typer.Option(f"--{name}", help=about, metavar="[SHELL]")


_NoPluginsOption = Annotated[
    bool, typer.Option("--no-plugins", help="Do not load the installed plug-ins.")
]


def _root(version: _VersionOption = False, no_plugins: _NoPluginsOption = False) -> None:
    del version  # its callback has answered
    leave_out(no_plugins)


def _whole_root(
    version: _VersionOption = False,
    no_plugins: _NoPluginsOption = False,
    install: Annotated[
        str | None,
        _shell_option("install-completion", "Install completion for bash, zsh or fish."),
    ] = None,
    show: Annotated[
        str | None,
        _shell_option("show-completion", "Print the completion script of bash, zsh or fish."),
    ] = None,
) -> None:
    del version  # its callback has answered
    leave_out(no_plugins)
    if install is not None or show is not None:
        raise UsageFault("use the completion option alone: podium --install-completion bash")
