"""`podium review code`: the code of a round that was not reviewed before."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import refuse_inside
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import (
    AnswerFormat,
    AnswerFormatOption,
    RoundOption,
    UsageOption,
)
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit

if TYPE_CHECKING:
    from podium.compliance.tools.review.code.model import CodeReview
    from podium.compliance.tools.review.code.read_marks import ReadMark

EXAMPLES = examples(
    "podium review code training_results_v5.1 --earlier training_results_v5.0",
    "podium review code v5.1 Dell/llama31_8b --earlier v5.0",
    "podium review code v5.1 Dell --base NVIDIA",
    "podium review code v5.1 Dell/llama31_8b --read read.toml --mark-read Ann",
)

RoundArgument = Annotated[
    Path, typer.Argument(help="A whole round, or one submission.", metavar="ROUND")
]
OnlyArgument = Annotated[
    str,
    typer.Argument(
        help="Print the hunks of one submitter, or of one of its benchmarks.",
        metavar="[SUBMITTER[/BENCHMARK]]",
    ),
]
BaseOption = Annotated[
    str,
    typer.Option(
        "--base",
        help="Code to compare with: auto, reference, earlier, or a submitter.",
        metavar="BASE",
    ),
]
EarlierOption = Annotated[
    list[Path] | None,
    typer.Option("--earlier", help="Earlier round; its code counts as reviewed.", metavar="ROUND"),
]
ReferenceOption = Annotated[
    Path | None,
    typer.Option("--reference", help="A checkout of the reference implementation.", metavar="DIR"),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option(
        "--against",
        help="Folder of the previous review: show only hunks that it does not have.",
        metavar="DIR",
    ),
]
ReadOption = Annotated[
    Path | None,
    typer.Option("--read", help="Record of reviewed files.", metavar="FILE"),
]
MarkOption = Annotated[
    str,
    typer.Option(
        "--mark-read", help="Record in --read that this person has read the files.", metavar="NAME"
    ),
]


def code(
    path: RoundArgument,
    only: OnlyArgument = "",
    base: BaseOption = "auto",
    earlier: EarlierOption = None,
    reference: ReferenceOption = None,
    against: AgainstOption = None,
    read: ReadOption = None,
    mark_read: MarkOption = "",
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show the code of a round that differs from all code reviewed before.

    Exit status: 0 nothing left to read, 1 lines left to read, 2 bad arguments.
    """
    from podium.compliance.judging.options import Options
    from podium.compliance.tools.review.code.round_code import read_code
    from podium.compliance.tools.review.code.session import CodeRequest, review_code

    if mark_read and (read is None or not only):
        raise UsageFault("--mark-read needs --read FILE and SUBMITTER[/BENCHMARK]")
    refuse_inside("--read", read if mark_read else None, [path, *(earlier or ())])
    marks = marks_of(read, against, is_new=bool(mark_read))
    request = CodeRequest(
        base=base, only=only, reference=reference, marks=marks, shown=shown_before(against)
    )
    current = read_code(path, Options(usage=usage, round=round))
    earlier_code = [read_code(tree, Options()) for tree in earlier or ()]
    result = review_code(current, request, earlier=earlier_code)
    _print(result, format, detail=bool(only))
    if mark_read and read is not None:
        _mark(read, result, marks, mark_read)
    raise typer.Exit(Exit.FOUND if result.to_read else Exit.CLEAN)


def marks_of(
    read: Path | None, against: Path | None, *, is_new: bool = False
) -> dict[str, ReadMark]:
    """The files that are recorded as read: in a file, else in the previous review."""
    from podium.compliance.tools.review.code.read_marks import READ_FILE, read_marks

    previous = None if against is None else against / READ_FILE
    if read is None and previous is not None and previous.exists():
        return read_marks(previous)
    if read is None or (is_new and not read.exists()):
        return {}
    return read_marks(read)


def shown_before(against: Path | None) -> frozenset[str]:
    """The hunks that the previous review has shown."""
    from podium.compliance.tools.review.code.kept import kept_hunks

    return frozenset() if against is None else kept_hunks(against)


def _print(review: CodeReview, format: AnswerFormat, *, detail: bool) -> None:  # noqa: A002
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.reporting.json_text import json_text
    from podium.compliance.tools.review.render.code_text import code_text

    if format is AnswerFormat.JSON:
        print_text(json_text(review))
    else:
        print_text(code_text(review, width(), detail=detail))


def _mark(path: Path, review: CodeReview, marks: dict[str, ReadMark], name: str) -> None:
    from podium.compliance.tools.review.code.read_marks import ReadMark, write_marks

    today = datetime.date.today().isoformat()
    new_marks = {
        diff.hash: ReadMark(by=name, date=today, path=diff.path)
        for cell in review.cells
        for diff in cell.diffs
        # A file that did not fit into the review has not been read
        if sum(hunk.to_read for hunk in diff.hunks) == diff.to_read
    }
    write_marks(path, {**new_marks, **marks})
