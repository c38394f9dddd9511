"""`podium rcp`: reference convergence points: check, plan, show, lint, make, curves."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import refuse_inside, suggest_after_verdict, with_named_results
from podium.compliance.cli.help import examples, group
from podium.compliance.cli.options import (
    AnswerFormat,
    AnswerFormatOption,
    BenchmarkArgument,
    NewestRoundOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    RoundOption,
    SuiteOption,
    Usage,
    UsageOption,
    processes,
)
from podium.compliance.exit_codes import Exit
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.rules.convergence.data import Point
    from podium.rules.model.round import Round

app = group("Compare results with reference convergence points, plan runs, show points.")

FolderArgument = Annotated[
    Path, typer.Argument(help="Folder of a result, submission or round.", metavar="FOLDER")
]
PointsArgument = Annotated[
    Path | None,
    typer.Argument(help="Points to check; default the round's points.", metavar="[FILE]"),
]
LogsArgument = Annotated[
    list[Path], typer.Argument(help="Logs of reference runs, or folders.", metavar="LOGS...")
]
RcpsOption = Annotated[
    Path | None,
    typer.Option(
        "--rcps",
        help="Use the points of this file (in podium's or the official format).",
        metavar="FILE",
    ),
]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", help="Plot to this .svg or .png file.", metavar="FILE")
]
BatchOption = Annotated[float, typer.Option("--gbs", min=1, help="Global batch size.", metavar="N")]
FinishedOption = Annotated[
    str | None,
    typer.Option(
        "--finished",
        help="Samples to convergence of finished runs, comma-separated; x: not converged.",
        metavar="V1,V2,...",
    ),
]
CurvesArgument = Annotated[
    list[Path],
    typer.Argument(help="Logs, event files, .wandb files, or folders of them.", metavar="PATHS..."),
]
MetricOption = Annotated[
    str, typer.Option("--metric", help="Name of the trackers' metric.", metavar="NAME")
]
CountedOption = Annotated[
    str,
    typer.Option(
        "--counted-by",
        help="W&B field to use as progress; default the step.",
        metavar="NAME",
    ),
]
EachOption = Annotated[
    float,
    typer.Option("--each", min=0, help="Log units per tracker step: the batch size.", metavar="N"),
]


class CurveFormat(StrEnum):
    """Output formats of curves."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


CurveFormatOption = Annotated[CurveFormat, typer.Option("--format", help="Output format.")]
WrittenOption = Annotated[Path, typer.Option("--output", help="The file to write.", metavar="FILE")]
CreatorOption = Annotated[
    str, typer.Option("--creator", help="Author of the runs.", metavar="NAME")
]
WhenOption = Annotated[str, typer.Option("--when", help="Date of the runs.", metavar="TEXT")]
PlatformOption = Annotated[
    str, typer.Option("--platform", help="System of the runs.", metavar="TEXT")
]
PrecisionOption = Annotated[
    str, typer.Option("--precision", help="Number type, such as BF16.", metavar="TEXT")
]


@app.command(
    epilog=examples(
        "podium rcp check results/my_system/bert",
        "podium rcp check training_results_v5.1 --quiet",
        "podium rcp check logs --round 5.1 --rcps mine.json --plot runs.svg",
    )
)
def check(
    folder: FolderArgument,
    rcps: RcpsOption = None,
    plot: PlotOption = None,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    quiet: QuietOption = False,
) -> None:
    """Compare results with the reference points, and show every step of the arithmetic.

    Exit status: 1 if a result fails or points are missing.
    """
    from podium.compliance.judging.inputs.given_paths import GivenPaths
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import send, width
    from podium.compliance.tools.rcp.check import check as judge
    from podium.compliance.tools.rcp.check import check_json, check_text, draw

    refuse_inside("--output", output, [folder])
    refuse_inside("--plot", plot, [folder])
    # Fails early: without matplotlib or with another suffix, all work would be wasted
    draw([], plot)
    options = Options(usage=usage, round=round, profile=profile, jobs=processes(None))
    points = _loaded(rcps, round)
    with with_named_results(GivenPaths([folder]), options) as given_paths:
        results = judge(given_paths.paths[0], options, points)
        as_json = format is AnswerFormat.JSON
        text = check_json(results) if as_json else check_text(results, width(), quiet=quiet)
        draw(results, plot)
        send(given_paths.as_given(text), output)
    if output is None and not as_json and not quiet:
        suggest_after_verdict("score", folder)
    raise typer.Exit(Exit.FOUND if any(result.failed for result in results) else Exit.CLEAN)


@app.command(
    epilog=examples(
        "podium rcp plan llama31_8b --gbs 32",
        "podium rcp plan bert --gbs 3072 --round 5.0 --finished 2630000,2705000,x",
    )
)
def plan(
    benchmark: BenchmarkArgument,
    gbs: BatchOption,
    finished: FinishedOption = None,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    rcps: RcpsOption = None,
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Print the bounds for runs at a batch size, before the runs or after some have finished.

    With `deadline` in the nearest podium.toml, print the last day for new reference points, too.

    Exit status: 1 if no result can pass: no points to compare with, or too many runs too early.
    """
    from podium.compliance.judging.inputs.round_selection import configured_deadline, named_round
    from podium.compliance.judging.results.convergence import references
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.tools.rcp.plan import finished_values, plan_json, plan_text
    from podium.compliance.tools.rcp.plan import plan as plan_runs
    from podium.compliance.tools.rcp.points import points_for

    rules = named_round(usage, round)
    points = points_for(rules, benchmark, rcps)
    reference_data = references(profile, rules, benchmark, points)
    values = None if finished is None else finished_values(finished)
    run_plan = plan_runs(
        rules, benchmark, reference_data, gbs, values, configured_deadline(Path.cwd())
    )
    print_text(plan_json(run_plan) if format is AnswerFormat.JSON else plan_text(run_plan, width()))
    raise typer.Exit(Exit.FOUND if run_plan.hopeless else Exit.CLEAN)


@app.command(
    epilog=examples("podium rcp show llama31_8b", "podium rcp show bert --round 5.0 --format json")
)
def show(
    benchmark: BenchmarkArgument,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    rcps: RcpsOption = None,
    plot: PlotOption = None,
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show the points of a benchmark, the points that policy and verifier use, and the curve."""
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.tools.rcp.points import points_for
    from podium.compliance.tools.rcp.show import show as points_text

    rules = named_round(usage, round)
    points = points_for(rules, benchmark, rcps)
    if plot is not None:
        _draw(rules, benchmark, points, plot)
    print_text(points_text(rules, benchmark, points, format.value, width()))


def _draw(rules: Round, benchmark: str, points: tuple[Point, ...], plot: Path) -> None:
    from podium.compliance.judging.results.convergence import references
    from podium.compliance.tools.rcp.plots import curve_of, write_plot

    reference_data = references(Profile.POLICY, rules, benchmark, points)
    unit = rules.benchmark(benchmark).convergence.unit
    write_plot([curve_of(reference_data, unit, f"{benchmark}, {rules.title}")], plot)


@app.command(
    epilog=examples("podium rcp lint mine.json --round 5.1", "podium rcp lint --round 5.1")
)
def lint(
    file: PointsArgument = None,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
    quiet: QuietOption = False,
) -> None:
    """Find points that have too few runs, are duplicates, or violate rules of the round.

    Exit status: 1 if a point cannot be used; notes and warnings do not count.
    """
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.tools.rcp.lint import lint as faults_of
    from podium.compliance.tools.rcp.lint import lint_json, lint_text
    from podium.compliance.tools.rcp.points import all_points, points_in

    rules = named_round(usage, round)
    points = all_points(rules) if file is None else points_in(file, rules.name)
    faults = faults_of(rules, points)
    if format is AnswerFormat.JSON:
        print_text(lint_json(faults, len(points)))
    else:
        print_text(lint_text(faults, len(points), width(), quiet=quiet))
    raise typer.Exit(
        Exit.FOUND if any(fault.severity == "error" for fault in faults) else Exit.CLEAN
    )


@app.command(
    epilog=examples(
        "podium rcp make reference_logs --round 6.1 --output rcps_mine.json",
        "podium rcp make logs --output new.json --creator 'My team' --precision BF16",
    )
)
def make(
    logs: LogsArgument,
    output: WrittenOption,
    usage: UsageOption = None,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    creator: CreatorOption = "",
    when: WhenOption = "",
    machine: PlatformOption = "",
    precision: PrecisionOption = "",
    quiet: QuietOption = False,
) -> None:
    """Write reference points from logs of reference runs, in the official format.

    Logs of runs that did not converge are skipped and listed. Exit status: 1 if runs are missing.
    """
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import write_whole
    from podium.compliance.text.terminal import clean
    from podium.compliance.text.words import plural
    from podium.compliance.tools.rcp.make import Origin
    from podium.compliance.tools.rcp.make import make as make_points

    refuse_inside("--output", output, logs)
    options = Options(usage=usage, round=round, jobs=processes(None))
    result = make_points(logs, options, Origin(creator, when, machine, precision))
    # Written even if runs are missing: the remarks and the status report this
    write_whole(output, result.text)
    for remark in result.remarks:
        # Remarks name logs, and a file name may contain terminal escapes
        typer.echo(clean(remark), err=True)
    if not quiet:
        typer.echo(f"{plural(result.records, 'point')} written to {clean(str(output))}")
    raise typer.Exit(Exit.FOUND if result.remarks else Exit.CLEAN)


@app.command(
    epilog=examples(
        "podium rcp curves result_0.txt tensorboard --metric eval/accuracy",
        "podium rcp curves result_0.txt wandb --counted-by samples --plot curves.svg",
        "podium rcp curves logs --format csv --output curves.csv",
    )
)
def curves(
    paths: CurvesArgument,
    metric: MetricOption = "",
    counted_by: CountedOption = "",
    each: EachOption = 1.0,
    plot: PlotOption = None,
    format: CurveFormatOption = CurveFormat.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Show curves of experiment trackers together with the quality in the logs.

    Reads event files of TensorBoard and offline runs of Weights & Biases (.wandb).
    """
    from podium.compliance.reporting.console import send, width
    from podium.compliance.tools.curves import render
    from podium.compliance.tools.curves.collect import CurveRequest, collect
    from podium.compliance.tools.rcp.plots import check_plot

    refuse_inside("--output", output, paths)
    refuse_inside("--plot", plot, paths)
    if plot is not None:
        check_plot(plot)
    collection = collect(paths, CurveRequest(metric, counted_by, each))
    renderers = {CurveFormat.JSON: render.json, CurveFormat.CSV: render.delimited}
    text = (
        renderers[format](collection) if format in renderers else render.text(collection, width())
    )
    if plot is not None:
        render.draw(collection, plot)
    send(text, output)


def _loaded(file: Path | None, round_name: str | None) -> tuple[Point, ...] | None:
    if file is None:
        return None
    from podium.compliance.tools.rcp.points import points_in
    from podium.rules.catalogue import normal_name

    return points_in(file, normal_name(round_name) if round_name else "*")
