"""Which commands there are, and how the help lists them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from podium.compliance.commands.group import group

ABOUT = "Check, score and package MLPerf Training and HPC results."

COMMANDS = {
    "check": (
        "judging.check:check",
        "Judge logs against their round's rules: what is wrong, where, and how to mend it.",
    ),
    "score": (
        "scoring.score:score_command",
        "Score results: time to train, factor, score, energy, throughput, spread.",
    ),
    "doctor": (
        "packaging.init:doctor",
        "List in order what a submission still lacks, with the command for each.",
    ),
    "init": (
        "packaging.init:init",
        "Write the skeleton of a submission: folders, empty system descriptions, podium.toml.",
    ),
    "preflight": (
        "judging.preflight:preflight",
        "Judge hyperparameters before the run: broken rules, what is missing, when to evaluate.",
    ),
    "watch": (
        "judging.watch:watch",
        "Watch runs while they go on: where they stand, what is wrong, when they may end.",
    ),
    "pack": (
        "packaging.pack:pack",
        "Assemble a submission: plan, copy, check, swap in, write a receipt.",
    ),
    "run": (
        "running.run:run",
        "Train a bundled reference benchmark and write its log, a real run of real code.",
    ),
    "bundle": (
        "packaging.unpack:bundle",
        "Make one archive of a submission, with its SHA-256 and SHA-1 beside it.",
    ),
    "unpack": (
        "packaging.unpack:unpack",
        "Unpack a bundle into a new folder, whole or not at all, and check it against its receipt.",
    ),
    "rules": (
        "rulebook.rules:app",
        "The rules themselves: list, explain and compare them; work out what is legal.",
    ),
    "rcp": (
        "scoring.rcp:app",
        "Reference convergence points: check results against them, plan runs, look at them.",
    ),
    "system": (
        "packaging.system:app",
        "System descriptions (systems/*.json): check them, print the schema they must fit.",
    ),
    "compat": (
        "compatibility.compat:app",
        "The incumbent's programs by their own names and flags, with true exit codes.",
    ),
}
"""Every command in the order of the help: its module and function (or group of commands) in
`commands`, and the sentence that the help has of it."""


def load_commands(arguments: Sequence[str] = ()) -> typer.Typer:
    """The whole command; only the part of it that these arguments call does more than be listed.

    What is not called is not imported: `podium check` need not wait for the rest, nor the help for
    any of it.
    """
    called = next((word for word in arguments if not word.startswith("-")), None)
    app = group(ABOUT)
    app.callback()(_root)
    for name, (place, about) in COMMANDS.items():
        if name != called:
            app.command(name, help=about)(_listed)
            continue
        home, _, function = place.partition(":")
        module = import_module(f"podium.compliance.commands.{home}")
        part = getattr(module, function)
        if isinstance(part, typer.Typer):
            app.add_typer(part, name=name)
        else:
            app.command(name, epilog=getattr(module, f"EPILOG_{name.upper()}", None))(part)
    return app


def _listed() -> None:
    """Stands for a command that is not called."""


def _version(wanted: bool) -> None:
    if wanted:
        from podium.compliance.version import VERSION

        sys.stdout.write(f"podium {VERSION}\n")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass
