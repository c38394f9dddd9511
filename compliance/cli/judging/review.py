"""`podium review`: review a whole round, from all submissions to objections."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import clear_leftovers, refuse_inside, rulebook, warn
from podium.compliance.cli.help import DefaultGroup, examples, group
from podium.compliance.cli.judging import review_code
from podium.compliance.cli.options import (
    JobsOption,
    QuietOption,
    RoundOption,
    UsageOption,
    processes,
)
from podium.compliance.exit_codes import Exit

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome
    from podium.compliance.tools.review.code.read_marks import ReadMark
    from podium.compliance.tools.review.model import Review
    from podium.compliance.tools.review.render.html import RuleTexts
    from podium.compliance.tools.review.session import Reviewed

app = group(
    "Review a round: compare results, find anomalies, write and track objections.\n\n"
    "The name of the first command may be omitted: podium review ROUND.",
    DefaultGroup,
)

EXAMPLES = examples(
    "podium review round training_results_v5.1 --output review",
    "podium review round v5.1 --earlier training_results_v5.0 --output review",
    "podium review round v5.1 --against review --output review-2",
    "podium review round v5.1 --anonymous --output without-names",
)


class Format(StrEnum):
    """Output formats of a review."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


RoundArgument = Annotated[
    Path, typer.Argument(help="A whole round, or one submission.", metavar="ROUND")
]
EarlierOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--earlier",
        help="Earlier round, or this round as first submitted: copies, seeds, borrowed settings.",
        metavar="ROUND",
    ),
]
FolderOption = Annotated[
    Path | None,
    typer.Option("--output", help="Write pages and objections to this new folder.", metavar="DIR"),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option(
        "--against",
        help="Folder of the previous review: its objections and the changes since.",
        metavar="DIR",
    ),
]
AnonymousOption = Annotated[
    bool, typer.Option("--anonymous", help="Replace the names of submitters and systems.")
]
CurvesOption = Annotated[bool, typer.Option("--no-curves", help="Do not draw curves.")]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format of the summary.")]


@app.command("round", epilog=EXAMPLES)
def review(
    path: RoundArgument,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    earlier: EarlierOption = None,
    output: FolderOption = None,
    against: AgainstOption = None,
    anonymous: AnonymousOption = False,
    no_curves: CurvesOption = False,
    reference: review_code.ReferenceOption = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
    jobs: JobsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Review a round: compare results, find anomalies, write and track objections.

    Exit status: 0 no open objections, 1 open objections, 2 nothing to check or bad arguments.
    """
    from podium.compliance.files.atomic import refuse_occupied
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import progress_bar
    from podium.compliance.tools.review.against import read_before
    from podium.compliance.tools.review.code.session import CodeRequest
    from podium.compliance.tools.review.session import review_round

    refuse_inside("--output", output, [path, *(earlier or ())])
    if output is not None:
        # Reading a round takes a while: refuse an unusable output folder first
        refuse_occupied(output)
        clear_leftovers(output)
    previous = None if against is None else read_before(against)
    marks = review_code.marks_of(None, against)
    request = CodeRequest(reference=reference, marks=marks, shown=review_code.shown_before(against))
    options = Options(usage=usage, round=round, jobs=processes(jobs))
    with progress_bar(quiet) as progress:
        reviewed = review_round(
            path,
            options,
            earlier=earlier or (),
            before=previous,
            anonymous=anonymous,
            code=request if output is not None else None,
            progress=progress,
        )
    if output is not None:
        _write(output, reviewed, marks, curves=not no_curves)
    _print(reviewed.review, format)
    has_open = any(objection.is_open for objection in reviewed.review.objections)
    raise typer.Exit(Exit.FOUND if has_open else Exit.CLEAN)


def _write(
    folder: Path, reviewed: Reviewed, marks: Mapping[str, ReadMark], *, curves: bool
) -> None:
    from podium.compliance.tools.review.render.write import write_review

    warning = write_review(
        folder,
        reviewed.review,
        reviewed.files,
        _texts(reviewed.outcome),
        curves=curves,
        code=reviewed.code,
        marks=marks,
    )
    if warning:
        warn(warning)


def _texts(outcome: Outcome) -> RuleTexts:
    from podium.compliance.rulebook.rates import rates
    from podium.compliance.tools.review.render.html import RuleText

    texts = {}
    for rule, text in rulebook().texts(outcome).items():
        rate = rates().of(rule)
        rate_text = "" if rate is None else rate.text
        texts[rule] = RuleText(rule, text.says, text.why, text.help, rate_text)
    return texts


def _print(review: Review, format: Format) -> None:  # noqa: A002 - the option's name
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.reporting.json_text import json_text
    from podium.compliance.tools.review.render.text import markdown, text

    if format is Format.JSON:
        print_text(json_text(review))
    elif format is Format.MARKDOWN:
        print_text(markdown(review))
    else:
        print_text(text(review, width()))


app.command("code", epilog=review_code.EXAMPLES)(review_code.code)
