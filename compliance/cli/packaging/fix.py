"""`podium fix`: fix mechanical faults of a submission, never the content of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.delivery import clear_leftovers, refuse_inside, suggest
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import (
    AnswerFormat,
    AnswerFormatOption,
    OutputOption,
    RoundOption,
    UsageOption,
)
from podium.compliance.exit_codes import Exit

EXAMPLES = examples(
    "podium fix Acme",
    "podium fix Acme --write",
    "podium fix Acme/systems/ex_n8.json --round 5.1 --format json",
)

PathArgument = Annotated[
    Path,
    typer.Argument(help="A submission, a round, results, or a description.", metavar="PATH"),
]
WriteOption = Annotated[
    bool, typer.Option("--write", help="Make the changes instead of showing them.")
]


def fix(
    path: PathArgument,
    write: WriteOption = False,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Show automatic fixes of names, JSON, junk files and permissions; --write makes them.

    Logs may be renamed or decompressed, but their content is never changed. Exit status: 0 nothing
    to fix, or all fixed; 1 faults to fix, or faults left after --write; 2 not a submission, or not
    writable.
    """
    from podium.compliance.files.staging import staged_below
    from podium.compliance.judging.inputs.round_selection import RoundRequest
    from podium.compliance.reporting.console import send, width
    from podium.compliance.reporting.json_text import json_text
    from podium.compliance.tools.fixing.fix_text import to_data, to_text
    from podium.compliance.tools.fixing.session import fix_path

    refuse_inside("--output", output, [path])
    if write:
        if path.is_dir():
            clear_leftovers(*(folder / "any" for folder in staged_below(path)), whatever=True)
        else:
            clear_leftovers(path)
    results = fix_path(path, RoundRequest(usage, round), write=write)
    as_json = format is AnswerFormat.JSON
    arguments = (("--usage", usage), ("--round", round))
    options = [word for name, value in arguments if value for word in (name, str(value))]
    text = (
        json_text(to_data(results, written=write))
        if as_json
        else to_text(results, path, width(), written=write, options=options)
    )
    send(text, output)
    if output is None and not as_json and (write or not any(result.changes for result in results)):
        suggest("check", path, *options)
    has_unfixed = any(result.left for result in results)
    has_findings = (
        has_unfixed if write else has_unfixed or any(result.changes for result in results)
    )
    raise typer.Exit(Exit.FOUND if has_findings else Exit.CLEAN)
