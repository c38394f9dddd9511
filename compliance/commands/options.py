"""Options that several commands share, spelt and explained once.

`podium check` loads this module on every call, so it holds only what is cheap to build.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.errors import ComplianceError
from podium.compliance.exit_codes import Exit
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.compliance.report.data import Outcome
    from podium.compliance.report.render.sarif import RuleText


class Usage(StrEnum):
    """The two suites."""

    TRAINING = "training"
    HPC = "hpc"


class Division(StrEnum):
    """The two divisions."""

    CLOSED = "closed"
    OPEN = "open"


class ReportFormat(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    MARKDOWN = "markdown"


class AnswerFormat(StrEnum):
    """How an answer that has no tables is printed."""

    TEXT = "text"
    JSON = "json"


UsageOption = Annotated[
    Usage | None, typer.Option("--usage", help="Suite; else from the folder's name.")
]
RoundOption = Annotated[
    str | None,
    typer.Option("--round", help="Round, such as 5.1; else from podium.toml or a folder's name."),
]
SuiteOption = Annotated[Usage, typer.Option("--usage", help="Suite.")]
NewestRoundOption = Annotated[
    str | None, typer.Option("--round", help="Round, such as 5.1; default the newest.")
]
ProfileOption = Annotated[
    Profile,
    typer.Option(
        "--profile",
        help="policy: the written rules; verifier: exactly what the official tool accepts.",
    ),
]
ReportFormatOption = Annotated[
    ReportFormat | None,
    typer.Option("--format", help="Default text, or github inside GitHub Actions."),
]
AnswerFormatOption = Annotated[
    AnswerFormat, typer.Option("--format", help="How to print the answer.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", help="Write to this file instead of printing.")
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default all cores.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings fail, too.")]
SelectOption = Annotated[
    list[str] | None,
    typer.Option("--select", help="Report only rules that match a glob (repeat, or use commas)."),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="Leave out rules that match a glob (repeat, or use commas)."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print less; no progress bar.")]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="Print without colours.")]
BenchmarkArgument = Annotated[str, typer.Argument(help="A benchmark, as logs name it.")]


def globs(option: str, given: list[str] | None) -> tuple[str, ...]:
    """The globs of an option that is repeated, or given once with commas between them.

    One that matches no rule is told of on stderr: a slip of the pen must not pass for a clean bill.
    """
    pieces = [glob.strip() for one in given or () for glob in one.split(",")]
    wanted = tuple(glob for glob in pieces if glob)
    if wanted:
        from podium.compliance.rulebook.selectors import unmatched

        for said in unmatched(option, wanted):
            typer.echo(f"podium: {said}", err=True)
    return wanted


def rule_texts(report: Outcome) -> Mapping[str, RuleText]:
    """The texts of the rules that a report has findings of."""
    from podium.compliance.rulebook.rule_texts import texts_of

    return texts_of(report)


@contextmanager
def told() -> Iterator[None]:
    """Turn what a caller did wrong into one line and exit status 2."""
    try:
        yield
    except ComplianceError as error:
        typer.echo(f"podium: {error}", err=True)
        raise typer.Exit(Exit.USAGE) from None
