"""`podium preflight`: check declared hyperparameters before any GPU is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.delivery import suggest_after_verdict
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import (
    AnswerFormat,
    AnswerFormatOption,
    GivenBenchmarkOption,
    GivenDivisionOption,
    ProfileOption,
    RoundOption,
    UsageOption,
)
from podium.compliance.exit_codes import Exit
from podium.rules.finding import Profile

EXAMPLES = examples(
    "podium preflight config.json --benchmark llama31_8b --gbs 1152",
    "podium preflight dry_run.txt --round 6.0 --format json",
)

Config = Annotated[
    Path,
    typer.Argument(help="A JSON, TOML or YAML mapping of log keys, or a dry log.", metavar="FILE"),
]
BatchOption = Annotated[
    int | None,
    typer.Option(
        "--gbs", min=1, help="Global batch size; overrides the declared value.", metavar="N"
    ),
]


def preflight(
    config: Config,
    benchmark: GivenBenchmarkOption = None,
    division: GivenDivisionOption = None,
    gbs: BatchOption = None,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Check hyperparameters before a run: violations, missing keys, evaluation schedule.

    Exit status: 0 legal, 1 a rule is violated or a key is missing, 2 nothing to check or bad
    arguments.
    """
    from podium.compliance.judging.inputs.round_selection import RoundRequest
    from podium.compliance.tools.live.declaration import read_declaration
    from podium.compliance.tools.live.preflight import deliver
    from podium.compliance.tools.live.preflight import preflight as judge

    declaration = read_declaration(config)
    # The folder of the config names the round, like the folder of a log
    rules = RoundRequest(usage, round).choose(config.parent).rules
    result = judge(declaration, rules, division, benchmark, gbs, profile, str(config))
    deliver(result, format.value)
    if result.legal and format is AnswerFormat.TEXT:
        suggest_after_verdict("check", "RESULT_0.txt", "--round", rules.name)
    raise typer.Exit(Exit.CLEAN if result.legal else Exit.FOUND)
