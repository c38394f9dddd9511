"""`podium watch`: logs judged while they are being written."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rules.finding import Profile


class _Usage(StrEnum):
    TRAINING = "training"
    HPC = "hpc"


class _Division(StrEnum):
    CLOSED = "closed"
    OPEN = "open"


class _Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def watch(
    logs: Annotated[
        list[Path], typer.Argument(help="Logs, also such as are yet to come.", metavar="LOG…")
    ],
    once: Annotated[bool, typer.Option("--once", help="Say how things stand, and end.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on when every run has stopped.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.01, help="Seconds between two looks.")
    ] = 1.0,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="End after so many seconds.")
    ] = None,
    command: Annotated[
        str, typer.Option("--exec", help="Run this on a log's first error.", metavar="CMD")
    ] = "",
    exit_on_error: Annotated[
        bool, typer.Option("--exit-on-error", help="End on the first error, with status 1.")
    ] = False,
    usage: Annotated[
        _Usage | None, typer.Option("--usage", help="Suite; else from the folder's name.")
    ] = None,
    round: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option("--round", help="Round, such as 6.1; else from podium.toml or a folder."),
    ] = None,
    division: Annotated[
        _Division | None, typer.Option("--division", help="Division, until the log says it.")
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="Benchmark, until the log says it.")
    ] = None,
    profile: Annotated[
        Profile, typer.Option("--profile", help="policy, or verifier: the official tool's reading.")
    ] = Profile.POLICY,
    format: Annotated[  # noqa: A002 - the option's name
        _Format, typer.Option("--format", help="text, or a line of JSON for each change.")
    ] = _Format.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail, too.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colours.")] = False,
) -> None:
    """Watch runs while they go on: where they stand, what is wrong, when they may end.

    Ends when every log has its run_stop, with the report of `podium check`.

    Exit status: 0 nothing wrong, 1 at least one error, 2 no log or bad arguments.

    Examples:  podium watch result_0.txt    podium watch results/*/llama31_8b/result_*.txt --once
    podium watch result_0.txt --exit-on-error --exec 'scancel 4711'
    """
    from compliance.watching.loop import Options, Watch
    from compliance.watching.watched import Wishes

    wishes = Wishes(
        usage.value if usage else None,
        round,
        division.value if division else None,
        benchmark,
        profile,
    )
    options = Options(
        wishes,
        interval,
        once,
        follow,
        timeout,
        "json" if format is _Format.JSON else "text",
        command,
        exit_on_error,
        strict,
        not no_color,
    )
    raise typer.Exit(Watch([str(path) for path in logs], options).run())
