"""`podium watch`: logs judged while they are being written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.commands.options import (
    AnswerFormat,
    Division,
    NoColorOption,
    ProfileOption,
    RoundOption,
    StrictOption,
    UsageOption,
)
from podium.rules.finding import Profile

Logs = Annotated[
    list[Path], typer.Argument(help="Logs, also such as are yet to come.", metavar="LOG…")
]
OnceOption = Annotated[bool, typer.Option("--once", help="Say how things stand, and end.")]
FollowOption = Annotated[bool, typer.Option("--follow", help="Go on when every run has stopped.")]
IntervalOption = Annotated[
    float, typer.Option("--interval", min=0.01, help="Seconds between two looks.")
]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", min=0, help="End after so many seconds.")
]
ExecOption = Annotated[
    str, typer.Option("--exec", help="Run this on a log's first error.", metavar="CMD")
]
ExitOption = Annotated[
    bool, typer.Option("--exit-on-error", help="End on the first error, with status 1.")
]
DivisionOption = Annotated[
    Division | None, typer.Option("--division", help="Division, until the log says it.")
]
BenchmarkOption = Annotated[
    str | None, typer.Option("--benchmark", help="Benchmark, until the log says it.")
]
FormatOption = Annotated[
    AnswerFormat, typer.Option("--format", help="text, or a line of JSON for each change.")
]


def watch(
    logs: Logs,
    once: OnceOption = False,
    follow: FollowOption = False,
    interval: IntervalOption = 1.0,
    timeout: TimeoutOption = None,
    command: ExecOption = "",
    exit_on_error: ExitOption = False,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    division: DivisionOption = None,
    benchmark: BenchmarkOption = None,
    profile: ProfileOption = Profile.POLICY,
    format: FormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
    strict: StrictOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Watch runs while they go on: where they stand, what is wrong, when they may end.

    Ends when every log has its run_stop, with the report of `podium check`.

    Exit status: 0 nothing wrong, 1 at least one error, 2 no log or bad arguments.

    Example:  podium watch result_0.txt --exec 'scancel 4711'

    Example:  podium watch results/*/llama31_8b/result_*.txt --once
    """
    from podium.compliance.live.watching.loop import Options, Watch
    from podium.compliance.live.watching.watched import WatchOptions

    wishes = WatchOptions(usage, round, division, benchmark, profile)
    ends = (timeout, format.value, command, exit_on_error, strict, not no_color)
    raise typer.Exit(
        Watch(list(map(str, logs)), Options(wishes, interval, once, follow, *ends)).run()
    )
