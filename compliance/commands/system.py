"""`podium system`: check system descriptions, and the schema that they must fit."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from compliance.errors import ComplianceError, UsageFault
from compliance.exits import Exit
from rules.finding import Profile

app = typer.Typer(
    help="System descriptions (systems/*.json): check them, print the schema they must fit.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


class Usage(StrEnum):
    """The two suites."""

    TRAINING = "training"
    HPC = "hpc"


class Format(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    MARKDOWN = "markdown"


Paths = Annotated[
    list[Path], typer.Argument(help="Descriptions, or folders that hold them.", metavar="FILE…")
]
ProfileOption = Annotated[
    Profile,
    typer.Option(
        "--profile",
        help="policy: the written rules; verifier: exactly what the official tool accepts.",
    ),
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Default text, or github inside GitHub Actions.")
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option("--select", help="Report only rules that match this glob (repeatable)."),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="Leave out rules that match this glob (repeatable)."),
]
RoundOption = Annotated[
    str | None,
    typer.Option("--round", help="Round, such as 5.1; else from podium.toml or a folder's name."),
]
UsageOption = Annotated[
    Usage | None, typer.Option("--usage", help="Suite; else from the folder's name.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", help="Write to this file instead of printing.")
]


@contextmanager
def _told() -> Iterator[None]:
    """Turn what a caller did wrong into one line and exit status 2."""
    try:
        yield
    except ComplianceError as error:
        typer.echo(f"podium: {error}", err=True)
        raise typer.Exit(Exit.USAGE) from None


@app.command(
    epilog="Examples:  podium system check systems/ex_n8.json --round 5.1    "
    "podium system check . --profile verifier --format json"
)
def check(
    paths: Paths,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail, too.")] = False,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print less.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colours.")] = False,
) -> None:
    """Check system descriptions: every fault at once, with its line and how to mend it.

    Exit status: 0 nothing wrong (warnings allowed), 1 at least one error, 2 nothing to judge or bad
    arguments.
    """
    from compliance.output import default_format, deliver, inside
    from compliance.session import Options
    from compliance.system_report import check_systems

    with _told():
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

    with _told():
        rules = Wish(usage.value if usage else None, round).choose(".").rules
        text = json.dumps(system_schema(rules), indent=2) + "\n"
        if output is not None:
            write_whole(output, text)
        else:
            sys.stdout.write(text)
