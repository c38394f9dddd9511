"""Options that several commands share, declared and explained once.

`podium check` loads this module on every call, so it holds only what is cheap to build.
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
    """What `--format` takes: a format of podium's own, or PLUGIN.NAME; completed from `choices`."""

    __name__ = "FORMAT"
    choices = FORMATS

    def __call__(self, given: str) -> str:
        plugin, dot, name = given.partition(".")
        if given in self.choices or (plugin and dot and name):
            return given
        listed = ", ".join(self.choices)
        raise typer.BadParameter(f"{given!r} is not one of {listed}, or PLUGIN.FORMAT.")


class AnswerFormat(StrEnum):
    """How an answer that has no tables is printed."""

    TEXT = "text"
    JSON = "json"


# --- which rules ---

# Neither has a default: what is not given is left to podium.toml and to names of folders
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

# --- how it is printed ---

# None and not text: inside GitHub Actions the default is another
ReportFormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Default text, or github inside GitHub Actions.",
        parser=_FormatNames(),
        metavar=f"[{'|'.join(_FormatNames.choices)}|PLUGIN.FORMAT]",
    ),
]
AnswerFormatOption = Annotated[
    AnswerFormat, typer.Option("--format", help="How to print the answer.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", help="Write to this file instead of printing.", metavar="FILE"),
]
RelativeToOption = Annotated[
    Path | None,
    typer.Option(
        "--relative-to", help="Show paths from here; default the working directory.", metavar="DIR"
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print less; no progress bar.")]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="Print without colours.")]

NoSyncOption = Annotated[
    bool,
    typer.Option(
        "--no-sync", help="Do not wait for the disk; a power cut may lose what is written."
    ),
]

# --- how it is worked out ---

JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Processes; default all cores.", metavar="N"),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="processes (the default), dask, or dask:ADDRESS for a scheduler that runs already.",
        metavar="ENGINE",
    ),
]


def processes(jobs: int | None) -> int:
    """How many processes `--jobs` allows."""
    # cpu_count is None where the system does not tell
    return jobs or os.cpu_count() or 1
