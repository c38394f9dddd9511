"""`podium preflight`: declared hyperparameters against the rules, before any GPU is used."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from compliance.exits import Exit
from rules.finding import Profile


class _Usage(StrEnum):
    TRAINING = "training"
    HPC = "hpc"


class _Division(StrEnum):
    CLOSED = "closed"
    OPEN = "open"


class _Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def preflight(
    config: Annotated[
        Path, typer.Argument(help="A JSON, TOML or YAML mapping of log keys, or a dry log.")
    ],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="Benchmark; else as declared.")
    ] = None,
    division: Annotated[
        _Division | None, typer.Option("--division", help="Division; else as declared, or closed.")
    ] = None,
    gbs: Annotated[
        int | None, typer.Option("--gbs", min=1, help="Global batch size, instead of the declared.")
    ] = None,
    usage: Annotated[
        _Usage | None, typer.Option("--usage", help="Suite; else from the folder's name.")
    ] = None,
    round: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option("--round", help="Round, such as 6.1; else from podium.toml or a folder."),
    ] = None,
    profile: Annotated[
        Profile, typer.Option("--profile", help="policy, or verifier: the official tool's reading.")
    ] = Profile.POLICY,
    format: Annotated[  # noqa: A002 - the option's name
        _Format, typer.Option("--format", help="How to print the answer.")
    ] = _Format.TEXT,
) -> None:
    """Judge hyperparameters before the run: broken rules, what is missing, when to evaluate.

    Exit status: 0 legal, 1 something is broken or missing, 2 nothing to judge or bad arguments.

    Examples:  podium preflight config.json --round 6.1 --benchmark llama31_8b
    podium preflight dry_run.txt    podium preflight run.toml --gbs 1152 --format json
    """
    from compliance.choose import Wish
    from compliance.output import print_text, width
    from compliance.preflight import preflight as judge
    from compliance.watching.config import read_declaration

    declared = read_declaration(config)
    rules = Wish(usage.value if usage else None, round).choose(config.parent).rules
    found = judge(
        declared,
        rules,
        division=division.value if division else None,
        benchmark=benchmark,
        batch_size=gbs,
        profile=profile,
        path=str(config),
    )
    if format is _Format.JSON:
        from compliance.watching.data import to_json

        print_text(to_json(found.to_dict()))
    else:
        from compliance.watching.preflight_text import page

        print_text("\n".join(page(found, width())) + "\n")
    raise typer.Exit(Exit.CLEAN if found.legal else Exit.FOUND)
