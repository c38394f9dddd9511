"""`podium score`: time to train, throughput and energy of every result below a path."""

from __future__ import annotations

import fnmatch
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import refuse_inside, suggest_pack, with_named_results
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import (
    JobsOption,
    NoColorOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    RoundOption,
    UsageOption,
    processes,
)
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import Printing
    from podium.compliance.tools.scoring.report import Scores
    from podium.compliance.tools.scoring.row import ScoredResult

EXAMPLES = examples(
    "podium score training_results_v5.1",
    "podium score results/my_system/bert --explain bert",
    "podium score Acme --format csv --long --output runs.csv",
    "podium score new --compare old",
)


class Factors(StrEnum):
    """Where factors come from."""

    PUBLISHED = "published"
    COMPUTED = "computed"


class Format(StrEnum):
    """How scores are written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"
    PARQUET = "parquet"
    MARKDOWN = "markdown"
    HTML = "html"


PathArgument = Annotated[
    Path, typer.Argument(help="A result's folder, a submission, or a whole round.", metavar="PATH")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to write the scores.")]
LongOption = Annotated[
    bool, typer.Option("--long", help="CSV and Parquet: one row per run, not per result.")
]
ExplainOption = Annotated[
    str | None,
    typer.Option(
        "--explain", help="Show the arithmetic of the results that this names.", metavar="RESULT"
    ),
]
CompareOption = Annotated[
    Path | None,
    typer.Option("--compare", help="Show what changed since another tree.", metavar="OTHER"),
]
FactorsOption = Annotated[
    Factors | None,
    typer.Option(
        "--factors",
        help="published: of scaling.json alone; computed: of the reference points without it. "
        "Default published where a round's results are.",
    ),
]
BarsOption = Annotated[
    bool, typer.Option("--bars", help="Draw the scores of each benchmark as bars (text only).")
]
ScalingOption = Annotated[
    bool, typer.Option("--write-scaling", help="Write scaling.json into results that need one.")
]


def score(
    path: PathArgument,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    long: LongOption = False,
    explain: ExplainOption = None,
    compare: CompareOption = None,
    factors: FactorsOption = None,
    bars: BarsOption = False,
    write_scaling: ScalingOption = False,
    jobs: JobsOption = None,
    quiet: QuietOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Score results: time to train, factor, score, energy, throughput, spread.

    Exit status: 0 every result has a valid score, 1 at least one has not, 2 bad arguments.
    """
    from podium.compliance.judging.inputs.given_paths import GivenPaths
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import Printing, send

    refuse_inside("--output", output, [path])
    _refuse(path, format, explain, compare, write_scaling=write_scaling)
    if bars and (format is not Format.TEXT or explain is not None or compare is not None):
        raise UsageFault("--bars goes with the text of scores alone")
    printing = Printing(format.value, output, not no_color, quiet)
    options = Options(
        usage=usage,
        round=round,
        profile=profile,
        jobs=processes(jobs),
        factors=None if factors is None else factors.value,
    )
    with with_named_results(GivenPaths([path]), options) as given:
        if write_scaling and given.names:
            raise UsageFault("--write-scaling goes with a tree; run podium pack first")
        scores, results = _scored(given.paths[0], options, quiet=quiet)
        if write_scaling:
            # Only on request: the official tools write this file into the tree unasked
            _write_scaling(results)
        if explain is not None:
            send(given.as_given(_explained(results, explain)), output)
        elif compare is not None:
            _compare(scores, compare, options, printing)
        else:
            _deliver(scores, printing, long=long, bars=bars)
    if output is None and format is Format.TEXT and not quiet:
        suggest_pack(path, begun=bool(scores.results))
    raise typer.Exit(_status(scores))


def _refuse(
    path: Path,
    format: Format,  # noqa: A002 - the option's name
    explain: str | None,
    compare: Path | None,
    *,
    write_scaling: bool,
) -> None:
    if explain is not None and compare is not None:
        raise UsageFault("--explain and --compare exclude each other")
    if explain is not None and format is not Format.TEXT:
        raise UsageFault("--explain is text only")
    if compare is not None and format not in (Format.TEXT, Format.JSON):
        raise UsageFault("--compare is written as text or json")
    if write_scaling and not path.is_dir():
        raise UsageFault("--write-scaling needs the folder of a result, a submission or a round")


def _scored(path: Path, options: Options, *, quiet: bool) -> tuple[Scores, list[ScoredResult]]:
    from podium.compliance.judging.pipeline import judge_paths
    from podium.compliance.reporting.console import progress_bar
    from podium.compliance.tools.scoring.session import report_of, scored_results

    with progress_bar(quiet) as progress:
        files = judge_paths([path], options, progress)
    results = scored_results(files, options)
    return report_of(files, options, results), results


def _write_scaling(results: list[ScoredResult]) -> None:
    from podium.compliance.text.terminal import clean
    from podium.compliance.tools.scoring.row import write_scaling

    for line in write_scaling(results):
        typer.echo(clean(line), err=True)


def _explained(results: list[ScoredResult], wanted: str) -> str:
    from podium.compliance.reporting.console import width
    from podium.compliance.tools.scoring.render.explain import explain

    found = [one for one in results if _named(one, wanted)]
    if not found:
        known = ", ".join(sorted({one.result.place.display_path for one in results})[:6])
        raise UsageFault(f"no result is named {wanted}; known: {known or 'none'}")
    return "\n".join(explain(one, width()) for one in found)


def _named(scored: ScoredResult, wanted: str) -> bool:
    """Whether a result is meant: its path, the end of it, its benchmark, or a glob of its path."""
    # Completion by the shell ends a folder with a slash; of "/" alone nothing would be left
    place, wanted = scored.result.place, wanted.rstrip("/") or wanted
    path = place.display_path
    if wanted in (path, place.benchmark) or path.endswith(f"/{wanted}"):
        return True
    if place.folder.absolute() == Path(wanted).absolute():
        return True
    # fnmatch itself would ignore case on Windows: names must mean the same everywhere
    return fnmatch.fnmatchcase(path, wanted)


def _compare(scores: Scores, other: Path, options: Options, printing: Printing) -> None:
    from podium.compliance.reporting.console import send, width
    from podium.compliance.tools.scoring.compare import changes
    from podium.compliance.tools.scoring.render.comparison import comparison_json, comparison_text

    # By the same options: a --round given holds for both trees
    then, _ = _scored(other, options, quiet=printing.quiet)
    found = changes(scores, then)
    as_json = printing.format == Format.JSON
    send(comparison_json(found) if as_json else comparison_text(found, width()), printing.output)


def _deliver(scores: Scores, printing: Printing, *, long: bool, bars: bool) -> None:
    from podium.compliance.reporting.console import colored, send, width
    from podium.compliance.tools.scoring.render import BINARY, render, write_binary

    form, output = printing.format, printing.output
    if form in BINARY:
        write_binary(scores, form, output, long=long)
    elif form == Format.TEXT:
        from podium.compliance.tools.scoring.render.text import to_text

        shine = colored(printing.color, output)
        text = to_text(scores, width(), shine, printing.quiet)
        if bars:
            from podium.compliance.tools.scoring.render.bars import score_bars

            text += f"\n{score_bars(scores, width())}"
        send(text, output)
    else:
        send(render(scores, form, long=long), output)


def _status(scores: Scores) -> Exit:
    from podium.compliance.judging.logs.broken_rule import crashed

    # A result that podium failed on is not known to be invalid
    if crashed(scores.findings):
        return Exit.INTERNAL
    return Exit.FOUND if scores.faulty else Exit.CLEAN
