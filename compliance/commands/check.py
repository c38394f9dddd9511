"""`podium check`: judge logs, submissions and rounds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.commands.options import (
    IgnoreOption,
    JobsOption,
    NoColorOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    RoundOption,
    SelectOption,
    StrictOption,
    UsageOption,
    globs,
    rule_texts,
)
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.compliance.report.data import Outcome
    from podium.compliance.waivers.apply import Waivers

EPILOG_CHECK = (
    "Examples:  podium check result_0.txt --round 5.1    "
    "podium check training_results_v5.1 --profile verifier    "
    "podium check . --format sarif --output podium.sarif"
)

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="A log, a folder of logs, a submission, or a whole round.", metavar="PATH…"
    ),
]
WaiversOption = Annotated[
    Path | None, typer.Option("--waivers", help="Exceptions granted in review (waivers.toml).")
]
NoWaiversOption = Annotated[
    bool, typer.Option("--no-waivers", help="Disregard waivers and bypass flags in the tree.")
]
EarlierOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--earlier",
        help="An earlier tree: find logs handed in again, borrowed settings, previews not kept.",
        metavar="TREE",
    ),
]
ScoreOption = Annotated[
    bool, typer.Option("--score", help="Score the results as well, reading each file once.")
]


def check(
    paths: Paths,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: ReportFormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    jobs: JobsOption = None,
    strict: StrictOption = False,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    waivers: WaiversOption = None,
    no_waivers: NoWaiversOption = False,
    score: ScoreOption = False,
    earlier: EarlierOption = None,
    quiet: QuietOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Judge logs against their round's rules: what is wrong, where, and how to mend it.

    Exit status: 0 nothing wrong (warnings allowed), 1 at least one error, 2 nothing to judge or bad
    arguments, 3 a fault of podium itself.
    """
    from podium.compliance.checking.session import Options, check_paths, find, is_internal
    from podium.compliance.report.console import deliver, inside, progress_bar, with_scores

    if output is not None and inside(output, [*paths, *(earlier or ())]):
        raise UsageFault(
            f"--output {output} lies in the tree being checked; choose a place outside"
        )
    options = Options(
        usage.value if usage else None,
        round,
        profile,
        jobs or os.cpu_count() or 1,
        strict,
        globs("--select", select),
        globs("--ignore", ignore),
        _read_waivers(waivers),
        not no_waivers,
        tuple(earlier or ()),
    )
    chosen = _chosen_format(format, score)
    with progress_bar(quiet) as progress:
        gathered = find(paths, options, for_scores=score)
        report = check_paths(paths, options, progress, gathered)
    if score:
        from podium.compliance.scoring.session import scores_of

        with_scores(report, scores_of(gathered, options), chosen, output, color=not no_color)
    else:
        color = not no_color
        deliver(report, chosen, output, color=color, quiet=quiet, describe=rule_texts)
    raise typer.Exit(_status(report, is_internal(report)))


def _chosen_format(asked: ReportFormat | None, score: bool) -> str:
    from podium.compliance.report.console import SCORED, default_format

    chosen = asked.value if asked else default_format()
    if score and chosen not in SCORED:
        raise UsageFault(f"--score goes with --format {' or '.join(SCORED)}, not {chosen}")
    return chosen


def _status(report: Outcome, internal: bool) -> Exit:
    if internal:
        return Exit.INTERNAL
    return Exit.FOUND if report.verdict == "rejected" else Exit.CLEAN


def _read_waivers(path: Path | None) -> tuple[Waivers, ...]:
    if path is None:
        return ()
    from podium.compliance.waivers.file import read_waivers

    return (read_waivers(path, str(path)),)
