"""`podium watch`: check logs while they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.help import examples
from podium.compliance.cli.options import (
    AnswerFormat,
    Division,
    NoColorOption,
    ProfileOption,
    RoundOption,
    StrictOption,
    UsageOption,
)
from podium.rules.finding import Profile

EXAMPLES = examples(
    "podium watch result_0.txt --exec 'scancel 4711'",
    "podium watch results/*/llama31_8b/result_*.txt --once",
)

Logs = Annotated[
    list[Path], typer.Argument(help="Logs; they need not exist yet.", metavar="LOG...")
]
OnceOption = Annotated[bool, typer.Option("--once", help="Print the status once and exit.")]
FollowOption = Annotated[
    bool, typer.Option("--follow", help="Keep watching after every run has stopped.")
]
IntervalOption = Annotated[
    # Not 0: a loop that never sleeps would use a core of the run that it watches
    float, typer.Option("--interval", min=0.01, help="Seconds between polls.", metavar="SECONDS")
]
TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", min=0, help="Exit after this many seconds.", metavar="SECONDS"),
]
ExecOption = Annotated[
    str, typer.Option("--exec", help="Run this command on a log's first error.", metavar="CMD")
]
ExitOption = Annotated[
    bool, typer.Option("--exit-on-error", help="Exit on the first error, with status 1.")
]
DivisionOption = Annotated[
    # A log states its division and benchmark in records; until then, only common rules apply
    Division | None, typer.Option("--division", help="Division to assume until the log states it.")
]
BenchmarkOption = Annotated[
    str | None,
    typer.Option(
        "--benchmark", help="Benchmark to assume until the log states it.", metavar="BENCHMARK"
    ),
]
MetricsOption = Annotated[
    Path | None,
    typer.Option(
        "--metrics", help="Write OpenMetrics to this file, and keep it up to date.", metavar="FILE"
    ),
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
    metrics: MetricsOption = None,
    strict: StrictOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Check logs while they are written: progress, findings, expected end.

    When every log has its run_stop, the command prints the report of `podium check` and exits.

    Exit status: 0 no errors, 1 at least one error, 2 no log or bad arguments.
    """
    from podium.compliance.errors import UsageFault
    from podium.compliance.tools.live.watching.loop import Options, Watch
    from podium.compliance.tools.live.watching.watched import WatchOptions

    if metrics is not None and any(metrics.resolve() == log.resolve() for log in logs):
        raise UsageFault(f"--metrics {metrics} is a log that is watched; choose another file")
    options = Options(
        WatchOptions(usage, round, division, benchmark, profile),
        interval,
        once,
        follow,
        timeout,
        format.value,
        command,
        exit_on_error,
        strict,
        not no_color,
        metrics,
    )
    raise typer.Exit(Watch([str(log) for log in logs], options).run())
