"""`podium results site`: a store as static pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.delivery import clear_leftovers, refuse_inside, warn
from podium.compliance.cli.options import QuietOption

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
        help="Where the rounds' folders lie, for links to lines: a folder, or an http(s) address; "
        "{round} in it stands for the name of a round's folder.",
        metavar="PLACE",
    ),
]

ChartsOption = Annotated[
    bool, typer.Option("--no-charts", help="Draw no charts of the analyses, which take seconds.")
]


def site(
    store: StoreArgument,
    output: SiteOption,
    source: SourceOption = None,
    no_charts: ChartsOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a store as pages to read in a browser, from a disk or from any server of files.

    Exit status: 0 the folder is written, 2 no such store, a folder that holds something, or a
    source that no link can lead to.
    """
    from podium.compliance.reporting.console import progress_bar
    from podium.compliance.text.terminal import clean
    from podium.compliance.text.words import size_text
    from podium.compliance.tools.store.site.write import write_site

    refuse_inside("--output", output, [store])
    clear_leftovers(output)
    with progress_bar(quiet) as progress:
        made = write_site(store, output, source, charts=not no_charts, progress=progress)
    if not quiet:
        warn(f"{clean(str(output))}: {made.pages:,} pages, {size_text(made.bytes)}")
