"""`podium score`: score every result below a path: time to train, throughput, energy."""

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
    """Sources of scaling factors."""

    PUBLISHED = "published"
    COMPUTED = "computed"


class Format(StrEnum):
    """Output formats of scores."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"
    PARQUET = "parquet"
    MARKDOWN = "markdown"
    HTML = "html"


PathArgument = Annotated[
    Path, typer.Argument(help="Folder of a result, submission or round.", metavar="PATH")
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
LongOption = Annotated[
    bool, typer.Option("--long", help="With CSV and Parquet: one row per run, not per result.")
]
ExplainOption = Annotated[
    str | None,
    typer.Option("--explain", help="Show the arithmetic of the named results.", metavar="RESULT"),
]
CompareOption = Annotated[
    Path | None,
    typer.Option("--compare", help="Show the changes since another tree.", metavar="OTHER"),
]
FactorsOption = Annotated[
    Factors | None,
    typer.Option(
        "--factors",
        help="published: only from scaling.json; computed: from the reference points if there is "
        "none. Default published for rounds with results.",
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

    Exit status: 0 every result has a valid score, 1 a result has no valid score, 2 bad arguments.
    """
    from podium.compliance.judging.inputs.given_paths import GivenPaths
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import Printing, send

    refuse_inside("--output", output, [path])
    _refuse(path, format, explain, compare, write_scaling=write_scaling)
    if bars and (format is not Format.TEXT or explain is not None or compare is not None):
        raise UsageFault("--bars needs the text format and excludes --explain and --compare")
    printing = Printing(format.value, output, not no_color, quiet)
    options = Options(
        usage=usage,
        round=round,
        profile=profile,
        jobs=processes(jobs),
        factors=None if factors is None else factors.value,
    )
    with with_named_results(GivenPaths([path]), options) as given_paths:
        if write_scaling and given_paths.names:
            raise UsageFault("--write-scaling needs a tree; run podium pack first")
        scores, results = _scored(given_paths.paths[0], options, quiet=quiet)
        if write_scaling:
            # Only on request; the official tools always write this file into the tree
            _write_scaling(results)
        if explain is not None:
            send(given_paths.as_given(_explained(results, explain)), output)
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
        raise UsageFault("--explain needs the text format")
    if compare is not None and format not in (Format.TEXT, Format.JSON):
        raise UsageFault("--compare needs the text or json format")
    if write_scaling and not path.is_dir():
        raise UsageFault("--write-scaling needs the folder of a result, submission or round")


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


def _explained(results: list[ScoredResult], name: str) -> str:
    from podium.compliance.reporting.console import width
    from podium.compliance.tools.scoring.render.explain import explain

    matches = [scored for scored in results if _named(scored, name)]
    if not matches:
        names = ", ".join(sorted({scored.result.place.display_path for scored in results})[:6])
        raise UsageFault(f"no result matches {name}; found: {names or 'none'}")
    return "\n".join(explain(scored, width()) for scored in matches)


def _named(scored: ScoredResult, name: str) -> bool:
    """Whether a name selects a result: its path, the end of it, its benchmark, or a glob."""
    # Shell completion ends a folder with a slash; a lone "/" must not become empty
    location, name = scored.result.place, name.rstrip("/") or name
    path = location.display_path
    if name in (path, location.benchmark) or path.endswith(f"/{name}"):
        return True
    if location.folder.absolute() == Path(name).absolute():
        return True
    # fnmatch ignores case on Windows, but names must mean the same everywhere
    return fnmatch.fnmatchcase(path, name)


def _compare(scores: Scores, baseline: Path, options: Options, printing: Printing) -> None:
    from podium.compliance.reporting.console import send, width
    from podium.compliance.tools.scoring.compare import changes
    from podium.compliance.tools.scoring.render.comparison import comparison_json, comparison_text

    # With the same options: --round applies to both trees
    other_scores, _ = _scored(baseline, options, quiet=printing.quiet)
    comparison = changes(scores, other_scores)
    as_json = printing.format == Format.JSON
    send(
        comparison_json(comparison) if as_json else comparison_text(comparison, width()),
        printing.output,
    )


def _deliver(scores: Scores, printing: Printing, *, long: bool, bars: bool) -> None:
    from podium.compliance.reporting.console import colored, send, width
    from podium.compliance.tools.scoring.render import BINARY, render, write_binary

    format_name, output = printing.format, printing.output
    if format_name in BINARY:
        write_binary(scores, format_name, output, long=long)
    elif format_name == Format.TEXT:
        from podium.compliance.tools.scoring.render.text import to_text

        use_color = colored(printing.color, output)
        text = to_text(scores, width(), use_color, printing.quiet)
        if bars:
            from podium.compliance.tools.scoring.render.bars import score_bars

            text += f"\n{score_bars(scores, width())}"
        send(text, output)
    else:
        send(render(scores, format_name, long=long), output)


def _status(scores: Scores) -> Exit:
    from podium.compliance.judging.logs.broken_rule import crashed

    # A result with an internal fault is not known to be invalid
    if crashed(scores.findings):
        return Exit.INTERNAL
    return Exit.FOUND if scores.faulty else Exit.CLEAN
