"""`podium compat`: the incumbent's programs by their own names, arguments and last lines."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from compliance.exits import Exit

app = typer.Typer(
    help="The incumbent's programs by their own names and flags, with true exit codes.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class _Usage(StrEnum):
    TRAINING = "training"
    HPC = "hpc"


@app.command(
    "compliance_checker",
    epilog="Example:  podium compat compliance_checker result_0.txt --ruleset 5.1.0",
)
def compliance_checker(
    filename: Annotated[Path, typer.Argument(help="The log to check.")],
    usage: Annotated[_Usage, typer.Option(help="Suite.")] = _Usage.TRAINING,
    ruleset: Annotated[str | None, typer.Option(help="Round, such as 5.1.0.")] = None,
    config: Annotated[
        str | None,
        typer.Option(help="A rule file as the incumbent names it: training_5.1.0/common.yaml."),
    ] = None,
    werror: Annotated[bool, typer.Option("--werror", help="Warnings fail, too.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No warnings; without effect with --werror.")
    ] = False,
    log_output: Annotated[
        Path | None, typer.Option(help="Write what is printed to this file as well.")
    ] = None,
) -> None:
    """Check one log by the official verifier's reading; the last line says SUCCESS or FAILED."""
    from compliance.compat import check_log
    from compliance.output import write_whole

    text, passed = check_log(
        filename, usage.value, ruleset, config, werror=werror, quiet=quiet and not werror
    )
    if log_output is not None:
        write_whole(log_output, text)
    sys.stderr.write(text)
    raise typer.Exit(Exit.CLEAN if passed else Exit.FOUND)
