"""The analyses of a store: each reads its results, and prints a table with its method."""

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
    """How the table of an analysis is written."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


StoreOption = Annotated[
    Path, typer.Option("--store", help="A store that `podium results build` made.", metavar="DIR")
]
RowsOption = Annotated[TextForm, typer.Option("--format", help="How to write the table.")]


ModelOption = Annotated[
    bool, typer.Option("--by-model", help="One line for each benchmark and round.")
]
ChartOption = Annotated[
    Path | None,
    typer.Option("--chart", help="Draw it as well: a .svg, .png or .html file.", metavar="FILE"),
]
BarsOption = Annotated[
    bool, typer.Option("--bars", help="Draw the efficiency of each family as bars (text only).")
]
OverallOption = Annotated[
    bool, typer.Option("--overall", help="The fastest of all chips and categories together.")
]
AllOption = Annotated[bool, typer.Option("--all", help="Results of Training as well.")]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="A CSV with your prices: InstanceType, AcceleratorName, AcceleratorCount, Region, "
        "Price, date and source.",
        metavar="FILE",
    ),
]
SpotOption = Annotated[bool, typer.Option("--spot", help="Take the column SpotPrice.")]
EntryOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--dawnbench",
        help="Entries of DAWNBench instead, each a JSON file with its TSV beside it.",
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
        help="A CSV of statements: result, number, unit; optionally against and claim.",
        metavar="FILE",
    ),
]
FirstArgument = Annotated[str, typer.Argument(help="A result, or a system.", metavar="A")]
SecondArgument = Annotated[str, typer.Argument(help="Another one.", metavar="B")]


def _read(store: Path) -> list[ResultRow]:
    from podium.compliance.tools.store.analyses.material import read_results
    from podium.compliance.tools.store.queries.connection import connect

    return read_results(connect(store))


def deliver(made: Analysis, form: TextForm, output: Path | None, chart: Path | None = None) -> None:
    """Print an analysis, or write it, and draw its chart where one is asked for."""
    from podium.compliance.reporting.console import send, width
    from podium.compliance.tools.store.queries.formats import Format

    if chart is not None:
        from podium.compliance.tools.store.analyses.charts import write_chart

        write_chart(made, chart)
    send(made.render(Format(form.value), width()), output)


def scaling(
    store: StoreOption,
    by_model: ModelOption = False,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
    bars: BarsOption = False,
) -> None:
    """Efficiency of more chips: convergence, throughput and overhead, with intervals."""
    from podium.compliance.tools.store.analyses import scaling as home

    refuse_inside("--output", output, [store])
    refuse_inside("--chart", chart, [store])
    if bars and (by_model or format is not TextForm.TEXT):
        raise UsageFault("--bars goes with the text of families alone")
    analyse = home.by_model if by_model else home.scaling
    made = analyse(_read(store))
    if bars:
        from podium.compliance.reporting.console import send, width
        from podium.compliance.tools.store.analyses.bars import scaling_bars

        send(scaling_bars(made, width()), output)
    else:
        deliver(made, format, output, chart)


def variance(
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Run-to-run spread of each benchmark, and how many runs make a result repeatable."""
    from podium.compliance.tools.store.analyses.variance import variance as analyse

    refuse_inside("--output", output, [store])
    refuse_inside("--chart", chart, [store])
    deliver(analyse(_read(store)), format, output, chart)


def breakdown(
    store: StoreOption,
    every: AllOption = False,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Where the time of HPC's results goes: staging, evaluation, epochs; what a speed-up is of."""
    from podium.compliance.tools.store.analyses.breakdown import breakdown as analyse

    refuse_inside("--output", output, [store])
    refuse_inside("--chart", chart, [store])
    deliver(analyse(_read(store), suite=None if every else "hpc"), format, output, chart)


def rounds(
    store: StoreOption,
    overall: OverallOption = False,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """The fastest closed results over the rounds, where they may be compared."""
    from podium.compliance.tools.store.analyses.rounds import rounds as analyse

    refuse_inside("--output", output, [store])
    refuse_inside("--chart", chart, [store])
    deliver(analyse(_read(store), overall=overall), format, output, chart)


def power(
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Energy to train, of results that measured it."""
    from podium.compliance.tools.store.analyses.power import power as analyse

    refuse_inside("--output", output, [store])
    refuse_inside("--chart", chart, [store])
    deliver(analyse(_read(store)), format, output, chart)


def cost(
    store: GivenStoreOption = None,
    prices: PricesOption = None,
    spot: SpotOption = False,
    dawnbench: EntryOption = None,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
    chart: ChartOption = None,
) -> None:
    """Time and cost to accuracy, by your own prices, or of entries of DAWNBench.

    No prices come with podium: each of yours needs its date and its source.
    """
    if dawnbench:
        if chart is not None:
            raise UsageFault("--chart is not for --dawnbench")
        from podium.compliance.tools.store.analyses.dawnbench import (
            board,
            read_entry,
            read_training,
        )

        told = [(read_entry(path), read_training(path.with_suffix(".tsv"))) for path in dawnbench]
        deliver(board(told), format, output)
        return
    from podium.compliance.tools.store.analyses.cost import cost as analyse
    from podium.compliance.tools.store.analyses.cost import read_prices

    if store is None or prices is None:
        raise UsageFault("a cost needs --store DIR and --prices FILE, or --dawnbench JSON")
    refuse_inside("--output", output, [store])
    refuse_inside("--chart", chart, [store])
    listed = read_prices(prices)
    deliver(analyse(_read(store), listed, spot=spot), format, output, chart)


def claims(
    file: ClaimsArgument,
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Check statements about results to the printed digit.

    Exit status: 0 all are consistent, 1 one is not, or cannot be compared, 2 bad arguments.
    """
    from podium.compliance.exit_codes import Exit
    from podium.compliance.tools.store.analyses.claims import claims as analyse
    from podium.compliance.tools.store.analyses.claims import read_claims

    refuse_inside("--output", output, [store])
    made = analyse(_read(store), read_claims(file))
    deliver(made, format, output)
    wrong = any(row["verdict"] != "consistent" for row in made.rows)
    raise typer.Exit(Exit.FOUND if wrong else Exit.CLEAN)


def compare(
    a: FirstArgument,
    b: SecondArgument,
    store: StoreOption,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Two results or systems point by point, and why they may not be compared, if so."""
    from podium.compliance.tools.store.analyses.compare import compare as analyse

    refuse_inside("--output", output, [store])
    deliver(analyse(_read(store), a, b), format, output)
