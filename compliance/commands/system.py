"""`podium system`: check system descriptions, and the schema that they must fit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from compliance.commands.options import (
    IgnoreOption,
    NoColorOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    ReportFormatOption,
    RoundOption,
    SelectOption,
    StrictOption,
    UsageOption,
    group,
    told,
)
from compliance.errors import UsageFault
from compliance.exits import Exit
from rules.finding import Profile

app = group("System descriptions (systems/*.json): check them, print the schema they must fit.")

Paths = Annotated[
    list[Path], typer.Argument(help="Descriptions, or folders that hold them.", metavar="FILE…")
]


@app.command(
    epilog="Examples:  podium system check systems/ex_n8.json --round 5.1    "
    "podium system check . --profile verifier --format json"
)
def check(
    paths: Paths,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: ReportFormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    strict: StrictOption = False,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    quiet: QuietOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Check system descriptions: every fault at once, with its line and how to mend it.

    Exit status: 0 nothing wrong (warnings allowed), 1 at least one error, 2 nothing to judge or bad
    arguments.
    """
    from compliance.output import default_format, deliver, inside
    from compliance.session import Options
    from compliance.system_report import check_systems

    with told():
        if output is not None and inside(output, paths):
            raise UsageFault(f"--output {output} lies where podium reads; choose a place outside")
        wanted = (tuple(select or ()), tuple(ignore or ()))
        options = Options(usage.value if usage else None, round, profile, 1, strict, *wanted)
        report = check_systems(paths, options)
        chosen = format.value if format else default_format()
        deliver(report, chosen, output, color=not no_color, quiet=quiet)
    raise typer.Exit(Exit.FOUND if report.verdict == "rejected" else Exit.CLEAN)


@app.command(
    epilog="Examples:  podium system schema --round 5.1    "
    "podium system schema --usage hpc --round 3.0 --output system.schema.json"
)
def schema(
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Print the JSON Schema (draft 2020-12) of a round's system descriptions."""
    from compliance.choose import Wish
    from compliance.output import write_whole
    from compliance.system_schema import system_schema

    with told():
        rules = Wish(usage.value if usage else None, round).choose(".").rules
        text = json.dumps(system_schema(rules), indent=2) + "\n"
        if output is not None:
            write_whole(output, text)
        else:
            sys.stdout.write(text)
