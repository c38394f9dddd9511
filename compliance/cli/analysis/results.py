"""`podium results`: a store of many rounds, SQL over it, analyses of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.analysis import tables
from podium.compliance.cli.analysis.tables import StoreOption
from podium.compliance.cli.delivery import clear_leftovers, refuse_inside, warn, working
from podium.compliance.cli.help import examples, group
from podium.compliance.cli.options import (
    EngineOption,
    JobsOption,
    NoSyncOption,
    OutputOption,
    QuietOption,
    RoundOption,
    UsageOption,
    processes,
)
from podium.compliance.errors import UsageFault
from podium.compliance.tools.store.queries.formats import Format

StoreArgument = Annotated[
    Path, typer.Argument(help="A store that `podium results build` made.", metavar="STORE")
]
SiteOption = Annotated[
    Path, typer.Option("--output", help="The new folder of the pages.", metavar="DIR")
]
SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source",
        help="Folder or http(s) URL of the rounds' folders, for links to log lines; {round} is "
        "replaced with the name of a round's folder.",
        metavar="PLACE",
    ),
]

ChartsOption = Annotated[
    bool, typer.Option("--no-charts", help="Skip the charts, which take seconds to draw.")
]


def site(
    store: StoreArgument,
    output: SiteOption,
    source: SourceOption = None,
    no_charts: ChartsOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a store as HTML pages for a local disk or any static file server.

    Exit status: 0 the folder is written, 2 no such store, a folder that is not empty, or a source
    that links cannot point to.
    """
    from podium.compliance.reporting.console import progress_bar
    from podium.compliance.text.terminal import clean
    from podium.compliance.text.words import size_text
    from podium.compliance.tools.store.site.write import write_site

    refuse_inside("--output", output, [store])
    clear_leftovers(output)
    with progress_bar(quiet) as progress:
        summary = write_site(store, output, source, charts=not no_charts, progress=progress)
    if not quiet:
        warn(f"{clean(str(output))}: {summary.pages:,} pages, {size_text(summary.bytes)}")


app = group("Build a store of many rounds, query it and analyze it.")

RoundsArgument = Annotated[
    list[str],
    typer.Argument(help="Whole rounds, each a folder or the URL of one.", metavar="ROUND..."),
]
BuiltOption = Annotated[
    Path,
    typer.Option("--output", help="The store: a new folder, or a store to add to.", metavar="DIR"),
]
SqlArgument = Annotated[
    str, typer.Argument(help="One SELECT statement over the tables of the store.", metavar="SQL")
]
NameArgument = Annotated[
    str | None, typer.Argument(help="Query to print; default: list all names.", metavar="[NAME]")
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Read unchanged rounds again.")]


@app.command(
    epilog=examples(
        "podium results build training_results_v5.0 hpc_results_v3.0 --output store",
        "podium results build */*_results_v* --output store --jobs 8",
    )
)
def build(
    rounds: RoundsArgument,
    output: BuiltOption,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    force: ForceOption = False,
    no_sync: NoSyncOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = None,
    quiet: QuietOption = False,
) -> None:
    """Read rounds into a store of Parquet files; unchanged rounds are skipped.

    Exit status: 0 the store has all rounds, 2 bad arguments, nothing to read, or a file that
    changed while it was read. With status 2 the store is unchanged.
    """
    from podium.compliance.judging.inputs.given_paths import at_hand
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import progress_bar
    from podium.compliance.text.terminal import clean
    from podium.compliance.tools.store.building.session import build as build_store
    from podium.compliance.tools.store.index import NAME

    def tell(line: str) -> None:
        if not quiet:
            warn(clean(line))

    bar = progress_bar(quiet)
    with at_hand(rounds) as given_paths, working(engine, jobs) as workers, bar as progress:
        refuse_inside("--output", output, given_paths.own)
        clear_leftovers(output / NAME, whatever=True)
        options = Options(usage=usage, round=round, jobs=processes(jobs), engine=workers)
        build_store(
            given_paths.paths,
            output,
            options,
            force=force,
            durable=not no_sync,
            progress=progress,
            tell=tell,
        )


@app.command(
    epilog=examples(
        'podium results query "SELECT * FROM fastest" --store store',
        'podium results query "$(podium results sql keys)" --store store --format csv',
    )
)
def query(
    sql: SqlArgument,
    store: StoreOption,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Query a store with one SELECT statement of DuckDB's SQL, which can read only the store.

    Exit status: 0 the rows are printed, 2 no such store, or invalid SQL.
    """
    from podium.compliance.tools.store.queries.answer import answer

    refuse_inside("--output", output, [store])
    answer(store, sql, format, output)


@app.command(epilog=examples("podium results sql", "podium results sql fastest"))
def sql(name: NameArgument = None) -> None:
    """Print the names of the example queries, or the SQL of one of them."""
    from podium.compliance.reporting.console import print_text
    from podium.compliance.tools.store.queries.views import QUERIES

    if name is None:
        print_text("".join(f"{query.name.ljust(16)}{query.says}\n" for query in QUERIES))
        return
    queries = {query.name: query.sql for query in QUERIES}
    if name not in queries:
        raise UsageFault(f"unknown query {name}; expected one of {', '.join(queries)}")
    print_text(f"{queries[name]}\n")


@app.command(epilog=examples("podium results schema"))
def schema() -> None:
    """Print the tables of a store with their columns, as Markdown."""
    from podium.compliance.reporting.console import print_text
    from podium.compliance.tools.store.queries.described import described

    print_text(described())


ANALYSES: dict[Callable[..., None], tuple[str, ...]] = {
    tables.scaling: ("scaling --store store", "scaling --store store --chart scaling.svg"),
    tables.variance: ("variance --store store",),
    tables.breakdown: ("breakdown --store store",),
    tables.rounds: ("rounds --store store --overall",),
    tables.power: ("power --store store",),
    tables.cost: (
        "cost --store store --prices prices.csv",
        "cost --dawnbench entry.json",
    ),
    tables.claims: ("claims claims.csv --store store",),
    tables.compare: ("compare MI300X/bert MI325X/bert --store store",),
}
"""Commands that print a table, each with its examples."""

for command, lines in ANALYSES.items():
    app.command(epilog=examples(*(f"podium results {line}" for line in lines)))(command)

app.command(
    epilog=examples(
        "podium results site store --output site",
        "podium results site store --output site --source https://example.org/{round}",
    )
)(site)
