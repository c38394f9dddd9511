"""Options that several commands share, declared and explained once.

`podium check` loads this module on every call, so everything here must be cheap to build.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.reporting.render import FORMATS
from podium.rules.finding import Profile


class Usage(StrEnum):
    """The two suites."""

    TRAINING = "training"
    HPC = "hpc"


class Division(StrEnum):
    """The two divisions."""

    CLOSED = "closed"
    OPEN = "open"


class _FormatNames:
    """The type of `--format`: a built-in format or PLUGIN.NAME; completed from `choices`."""

    __name__ = "FORMAT"
    choices = FORMATS

    def __call__(self, value: str) -> str:
        plugin, dot, name = value.partition(".")
        if value in self.choices or (plugin and dot and name):
            return value
        choices = ", ".join(self.choices)
        raise typer.BadParameter(f"{value!r} is not one of {choices}, or PLUGIN.FORMAT.")


class AnswerFormat(StrEnum):
    """Formats of output that has no tables."""

    TEXT = "text"
    JSON = "json"


# --- which rules ---

# Neither has a default: podium.toml and the names of folders supply a missing value
UsageOption = Annotated[
    Usage | None,
    typer.Option("--usage", help="Suite; default from podium.toml or a folder's name."),
]
RoundOption = Annotated[
    str | None,
    typer.Option(
        "--round",
        help="Round, such as 5.1; default from podium.toml or a folder's name.",
        metavar="ROUND",
    ),
]
SuiteOption = Annotated[Usage, typer.Option("--usage", help="Suite.")]
NewestRoundOption = Annotated[
    str | None,
    typer.Option("--round", help="Round, such as 5.1; default the newest.", metavar="ROUND"),
]
ProfileOption = Annotated[
    Profile,
    typer.Option(
        "--profile",
        help="policy: the written rules; verifier: exactly what the official tool accepts.",
    ),
]
BenchmarkArgument = Annotated[
    str, typer.Argument(help="A benchmark, as logs name it.", metavar="BENCHMARK")
]
GivenBenchmarkOption = Annotated[
    str | None,
    typer.Option("--benchmark", help="Benchmark; default as declared.", metavar="BENCHMARK"),
]
GivenDivisionOption = Annotated[
    Division | None, typer.Option("--division", help="Division; default as declared, or closed.")
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        help="Report only rules that match a glob (repeat, or use commas).",
        metavar="GLOB",
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        help="Do not report rules that match a glob (repeat, or use commas).",
        metavar="GLOB",
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")]

# --- output ---

# None and not text: the default differs in GitHub Actions
ReportFormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Output format; default text, or github in GitHub Actions.",
        parser=_FormatNames(),
        metavar=f"[{'|'.join(_FormatNames.choices)}|PLUGIN.FORMAT]",
    ),
]
AnswerFormatOption = Annotated[AnswerFormat, typer.Option("--format", help="Output format.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", help="Write to this file instead of printing.", metavar="FILE"),
]
RelativeToOption = Annotated[
    Path | None,
    typer.Option(
        "--relative-to",
        help="Show paths relative to DIR; default the working directory.",
        metavar="DIR",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print less; no progress bar.")]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="Print without colors.")]

NoSyncOption = Annotated[
    bool,
    typer.Option("--no-sync", help="Do not sync to disk; a power failure may lose the files."),
]

# --- engines ---

JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, help="Number of processes; default all cores.", metavar="N"
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="processes (the default), dask, or dask:ADDRESS of a running scheduler.",
        metavar="ENGINE",
    ),
]


def processes(jobs: int | None) -> int:
    """The number of processes that `--jobs` allows."""
    # cpu_count is None if the system does not report it
    return jobs or os.cpu_count() or 1
