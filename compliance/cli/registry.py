"""Which commands there are, and how the help lists them."""

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
    """Where a command lies below `commands` (module and name), and its summary in the help."""

    path: str
    about: str


# The summaries are repeated here, so that the help can be printed without importing a command;
# a test compares each with the first line of the command's own help
PANELS = {
    "Judge": {
        "check": Command(
            "judging.check:check",
            "Judge logs against their round's rules: what is wrong, where, and how to fix it.",
        ),
        "preflight": Command(
            "judging.preflight:preflight",
            "Judge hyperparameters before the run: violations, missing keys, when to evaluate.",
        ),
        "watch": Command(
            "judging.watch:watch",
            "Judge logs while they are written: progress, findings, expected end.",
        ),
        "review": Command(
            "judging.review:app",
            "Review a round: compare results, find anomalies, write objections and follow them.",
        ),
        "serve": Command(
            "judging.serve:serve",
            "Answer programs by the Model Context Protocol: check, score, explain rules; reads "
            "only.",
        ),
    },
    "Score and converge": {
        "score": Command(
            "scoring.score:score",
            "Score results: time to train, factor, score, energy, throughput, spread.",
        ),
        "rcp": Command(
            "scoring.rcp:app",
            "Reference convergence points: compare results with them, plan runs, show them.",
        ),
    },
    "Analyse": {
        "results": Command(
            "analysis.results:app",
            "Many rounds as tables: build a store of them, query it, analyse it.",
        ),
    },
    "Run": {
        "run": Command(
            "running.run:run",
            "Train a bundled reference benchmark and write its log.",
        ),
        "profile": Command(
            "running.profile:app",
            "Profile a trainer: steps, layers and kernels, and what measuring each costs.",
        ),
        "kernels": Command(
            "running.kernels:app",
            "Kernels measured one by one: DeepBench's lists, a trainer's own, and comparisons.",
        ),
        "data": Command(
            "running.data:app",
            "Datasets of the bundled trainers: made from what is published, and verified.",
        ),
    },
    "Package": {
        "init": Command(
            "packaging.init:init",
            "Write the skeleton of a submission: folders, system descriptions, podium.toml.",
        ),
        "system": Command(
            "packaging.system:app",
            "System descriptions (systems/*.json): write and check them, print their schema.",
        ),
        "doctor": Command(
            "packaging.doctor:doctor",
            "List in order what a submission still lacks, with the command for each.",
        ),
        "fix": Command(
            "packaging.fix:fix",
            "Show what podium can fix by itself: names, JSON, junk, permissions; --write fixes it.",
        ),
        "pack": Command(
            "packaging.pack:pack",
            "Assemble a submission: plan, copy, check, swap in, write a receipt.",
        ),
        "bundle": Command(
            "packaging.bundle:bundle",
            "Write a submission as one archive, with its SHA-256 and SHA-1 beside it.",
        ),
        "unpack": Command(
            "packaging.unpack:unpack",
            "Unpack a bundle into a new folder, or not at all, and verify it by its receipt.",
        ),
    },
    "Rules": {
        "rules": Command(
            "rulebook.rules:app",
            "The rules themselves: list, explain and compare them; legal hyperparameters.",
        ),
        "schema": Command(
            "rulebook.schema:schema",
            "Print the JSON Schema of a file that podium reads or writes, for editors and "
            "programs.",
        ),
        "plugins": Command(
            "rulebook.plugins:plugins",
            "List the plug-ins that are installed: what each adds, and whether it can be loaded.",
        ),
    },
    "Compatibility": {
        "compat": Command(
            "compatibility.compat:app",
            "The official MLCommons tools by their own names and flags, with true exit codes.",
        ),
    },
}
"""Every command in the panels and the order of the help."""

HIDDEN = {
    "man": Command("shell.man:man", "Print this command's manual page, for man."),
}
"""Commands that the help does not list: makers of packages call them."""

SHELL_OPTIONS = ("--install-completion", "--show-completion", "--complete")
"""Options that stand first, and are followed without any command; the last is for shells alone."""


def load_commands(arguments: Sequence[str] = ()) -> typer.Typer:
    """The whole command; only the part of it that these arguments call does more than be listed.

    What is not called is not imported: `podium check` need not wait for the rest, nor the help for
    any of it.
    """
    # The root's options take no values, so that the first word without a hyphen is the command
    called = next((word for word in arguments if not word.startswith("-")), None)
    app = group(ABOUT)
    # Only where the root's own options may be read or listed are all of them built
    app.callback()(_root if arguments and not arguments[0].startswith("-") else _whole_root)
    for panel, commands in PANELS.items():
        for name, command in commands.items():
            if name == called:
                _add(app, name, command, panel)
            else:
                app.command(name, help=command.about, rich_help_panel=panel)(_listed)
    if called in HIDDEN:
        _add(app, called, HIDDEN[called], None)
    return app


def _add(app: typer.Typer, name: str, command: Command, panel: str | None) -> None:
    home, _, member = command.path.partition(":")
    module = import_module(f"podium.compliance.cli.{home}")
    part = getattr(module, member)
    if isinstance(part, typer.Typer):
        app.add_typer(part, name=name, rich_help_panel=panel)
    else:
        hidden = panel is None
        app.command(name, epilog=module.EXAMPLES, rich_help_panel=panel, hidden=hidden)(part)


def _listed() -> None:
    """Stands for a command that is not called."""


def _version(wanted: bool) -> None:
    if wanted:
        from podium.compliance.version import VERSION

        sys.stdout.write(f"podium {VERSION}\n")
        raise typer.Exit


_VersionOption = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
]


def _shell_option(name: str, about: str) -> Any:
    return typer.Option(f"--{name}", help=about, metavar="[SHELL]")


_NoPluginsOption = Annotated[
    bool, typer.Option("--no-plugins", help="Leave out the plug-ins that are installed.")
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
        _shell_option("show-completion", "Print what completes for bash, zsh or fish."),
    ] = None,
) -> None:
    del version  # its callback has answered
    leave_out(no_plugins)
    if install is not None or show is not None:
        raise UsageFault("completion is asked for alone: podium --install-completion bash")
