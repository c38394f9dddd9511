"""`podium preflight`: declared hyperparameters against the rules, before any GPU is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.commands.options import (
    AnswerFormat,
    AnswerFormatOption,
    Division,
    ProfileOption,
    RoundOption,
    UsageOption,
)
from podium.compliance.exit_codes import Exit
from podium.rules.finding import Profile

Config = Annotated[
    Path, typer.Argument(help="A JSON, TOML or YAML mapping of log keys, or a dry log.")
]
BenchmarkOption = Annotated[
    str | None, typer.Option("--benchmark", help="Benchmark; else as declared.")
]
DivisionOption = Annotated[
    Division | None, typer.Option("--division", help="Division; else as declared, or closed.")
]
BatchOption = Annotated[
    int | None, typer.Option("--gbs", min=1, help="Global batch size, instead of the declared.")
]


def preflight(
    config: Config,
    benchmark: BenchmarkOption = None,
    division: DivisionOption = None,
    gbs: BatchOption = None,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Judge hyperparameters before the run: broken rules, what is missing, when to evaluate.

    Exit status: 0 legal, 1 something is broken or missing, 2 nothing to judge or bad arguments.

    Example:  podium preflight config.json --benchmark llama31_8b --gbs 1152

    Example:  podium preflight dry_run.txt --round 6.0 --format json
    """
    from podium.compliance.inputs.round_selection import RoundRequest
    from podium.compliance.live.declaration import read_declaration
    from podium.compliance.live.preflight import preflight as judge
    from podium.compliance.live.preflight_text import deliver

    declared = read_declaration(config)
    rules = RoundRequest(usage, round).choose(config.parent).rules
    found = judge(declared, rules, division, benchmark, gbs, profile, str(config))
    deliver(found, format.value)
    raise typer.Exit(Exit.CLEAN if found.legal else Exit.FOUND)
