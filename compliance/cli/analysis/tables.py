"""Analyses of a store: each reads its results and prints a table with the method."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import refuse_inside
from podium.compliance.cli.options import OutputOption
from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.tools.store.analyses.material import ResultRow
    from podium.compliance.tools.store.analyses.table import Analysis


class TextForm(StrEnum):
    """Formats of the table of an analysis."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


StoreOption = Annotated[
    Path, typer.Option("--store", help="A store that `podium results build` made.", metavar="DIR")
]
RowsOption = Annotated[TextForm, typer.Option("--format", help="Output format.")]


ModelOption = Annotated[
    bool, typer.Option("--by-model", help="One line for each benchmark and round.")
]
ChartOption = Annotated[
    Path | None,
    typer.Option("--chart", help="Also draw a chart: a .svg, .png or .html file.", metavar="FILE"),
]
BarsOption = Annotated[
    bool, typer.Option("--bars", help="Draw the efficiency of each family as bars (text only).")
]
OverallOption = Annotated[
    bool,
    typer.Option("--overall", help="Show only the fastest result over all chips and categories."),
]
AllOption = Annotated[bool, typer.Option("--all", help="Include results of Training.")]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="CSV file of your prices: InstanceType, AcceleratorName, AcceleratorCount, Region, "
        "Price, date and source.",
        metavar="FILE",
    ),
]
SpotOption = Annotated[bool, typer.Option("--spot", help="Use the column SpotPrice.")]
EntryOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--dawnbench",
        help="DAWNBench entries instead of a store: JSON files, with TSV files next to them.",
        metavar="JSON",
    ),
]
GivenStoreOption = Annotated[
    Path | None,
    typer.Option("--store", help="A store that `podium results build` made.", metavar="DIR"),
]
ClaimsArgument = Annotated[
    Path,
    typer.Argument(
        help="CSV file of claims: result, number, unit; optionally against and claim.",
        metavar="FILE",
    ),
]
FirstArgument = Annotated[str, typer.Argument(help="A result, or a system.", metavar="A")]
SecondArgument = Annotated[str, typer.Argument(help="Another result or system.", metavar="B")]


def _read(store: Path, output: Path | None, chart: Path | None = None) -> list[ResultRow]:
    """The results of a store; raises UsageFault if an output is inside it."""
    from podium.compliance.tools.store.analyses.material import read_results
    from podium.compliance.tools.store.queries.connection import connect

    refuse_inside("--output", output, [store])
    refuse_inside("--chart", chart, [store])
    return read_results(connect(store))


def deliver(
    analysis: Analysis, output_format: TextForm, output: Path | None, chart: Path | None = None
) -> None:
    """Print or write an analysis, and draw its chart if requested."""
    from podium.compliance.reporting.console import send, width
    from podium.compliance.tools.store.queries.formats import Format

    if chart is not None:
        from podium.compliance.tools.store.analyses.charts import write_chart

        write_chart(analysis, chart)
    send(analysis.render(Format(output_format.value), width()), output)


def scaling(
    store: StoreOption,
    by_model: ModelOption = False,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
    bars: BarsOption = False,
) -> None:
    """Scaling efficiency (convergence, throughput, overhead) with confidence intervals."""
    from podium.compliance.tools.store.analyses import scaling as home

    if bars and (by_model or format is not TextForm.TEXT):
        raise UsageFault("--bars needs the text format and excludes --by-model")
    analyse = home.by_model if by_model else home.scaling
    analysis = analyse(_read(store, output, chart))
    if bars:
        from podium.compliance.reporting.console import send, width

        send(home.scaling_bars(analysis, width()), output)
    else:
        deliver(analysis, format, output, chart)


def variance(
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Run-to-run spread of each benchmark, and the number of runs for a repeatable result."""
    from podium.compliance.tools.store.analyses.variance import variance as analyse

    deliver(analyse(_read(store, output, chart)), format, output, chart)


def breakdown(
    store: StoreOption,
    every: AllOption = False,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Time breakdown of HPC results (staging, evaluation, epochs) and sources of speedups."""
    from podium.compliance.tools.store.analyses.breakdown import breakdown as analyse

    deliver(
        analyse(_read(store, output, chart), suite=None if every else "hpc"), format, output, chart
    )


def rounds(
    store: StoreOption,
    overall: OverallOption = False,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """The fastest closed results of each round, where rounds may be compared."""
    from podium.compliance.tools.store.analyses.rounds import rounds as analyse

    deliver(analyse(_read(store, output, chart), overall=overall), format, output, chart)


def power(
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Energy to train, for results that measured it."""
    from podium.compliance.tools.store.analyses.power import power as analyse

    deliver(analyse(_read(store, output, chart)), format, output, chart)


def cost(
    store: GivenStoreOption = None,
    prices: PricesOption = None,
    spot: SpotOption = False,
    dawnbench: EntryOption = None,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Time and cost to accuracy, with your prices or for entries of DAWNBench.

    Podium includes no prices: each of your prices needs its date and its source.
    """
    if dawnbench:
        if chart is not None:
            raise UsageFault("--chart cannot be used with --dawnbench")
        from podium.compliance.tools.store.analyses.dawnbench import (
            board,
            read_entry,
            read_training,
        )

        entries = [
            (read_entry(path), read_training(path.with_suffix(".tsv"))) for path in dawnbench
        ]
        deliver(board(entries), format, output)
        return
    from podium.compliance.tools.store.analyses.cost import cost as analyse
    from podium.compliance.tools.store.analyses.cost import read_prices

    if store is None or prices is None:
        raise UsageFault("expected --store DIR and --prices FILE, or --dawnbench JSON")
    price_list = read_prices(prices)
    deliver(analyse(_read(store, output, chart), price_list, spot=spot), format, output, chart)


def claims(
    file: ClaimsArgument,
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Verify claims about results to the last printed digit.

    Exit status: 0 all claims are consistent, 1 a claim is not consistent or cannot be compared, 2
    bad arguments.
    """
    from podium.compliance.exit_codes import Exit
    from podium.compliance.tools.store.analyses.claims import claims as analyse
    from podium.compliance.tools.store.analyses.claims import read_claims

    analysis = analyse(_read(store, output), read_claims(file))
    deliver(analysis, format, output)
    inconsistent = any(row["verdict"] != "consistent" for row in analysis.rows)
    raise typer.Exit(Exit.FOUND if inconsistent else Exit.CLEAN)


def compare(
    a: FirstArgument,
    b: SecondArgument,
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Compare two results or systems point by point, and list reasons against a comparison."""
    from podium.compliance.tools.store.analyses.compare import compare as analyse

    deliver(analyse(_read(store, output), a, b), format, output)
