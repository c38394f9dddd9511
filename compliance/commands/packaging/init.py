"""`podium init` and `podium doctor`: a submission begun, and what it still lacks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.exit_codes import Exit

EPILOG_INIT = (
    "Examples:  podium init Acme --submitter Acme --round 5.1    "
    "podium init Acme --submitter Acme --round 5.1 --system ex_n8 --benchmark llama31_8b"
)
EPILOG_DOCTOR = "Examples:  podium doctor Acme    podium doctor . --round 5.1"


def init(
    folder: Annotated[Path, typer.Argument(help="The new submission's folder.", metavar="FOLDER")],
    submitter: Annotated[str, typer.Option(help="Organisation that submits.")],
    round: Annotated[str, typer.Option(help="Round, such as 5.1.")],  # noqa: A002 - the option's name
    usage: Annotated[str, typer.Option(help="Suite: training or hpc.")] = "training",
    division: Annotated[str, typer.Option(help="closed or open.")] = "closed",
    system: Annotated[list[str] | None, typer.Option(help="Name of a system (repeatable).")] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Benchmark to submit (repeatable).")
    ] = None,
) -> None:
    """Write the skeleton of a submission: folders, empty system descriptions, podium.toml.

    Nothing is overwritten: the folder must be new or empty. Exit status: 0 written, 2 bad arguments
    or the folder is in use.
    """
    from podium.compliance.inputs.round_selection import RoundRequest
    from podium.compliance.packing.skeleton import Skeleton, write_skeleton
    from podium.compliance.report.console import print_text
    from podium.compliance.report.terminal import clean

    rules = RoundRequest(usage, round).choose(folder).rules
    skeleton = Skeleton(
        submitter,
        rules,
        division,
        tuple(dict.fromkeys(system or ())),
        tuple(dict.fromkeys(benchmark or ())),
    )
    written = write_skeleton(folder, skeleton)
    lines = [f"{clean(str(folder))}: a submission of {rules.title}", *(f"  {p}" for p in written)]
    print_text("\n".join([*lines, "", f"next: podium doctor {clean(str(folder))}", ""]))


def doctor(
    submission: Annotated[
        Path, typer.Argument(help="The submission's folder.", metavar="SUBMISSION")
    ],
    usage: Annotated[
        str | None, typer.Option(help="Suite; else from podium.toml or a folder's name.")
    ] = None,
    round: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="Round; else from podium.toml or a folder's name.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default all cores.")
    ] = None,
) -> None:
    """List in order what a submission still lacks, with the command for each.

    Exit status: 0 complete, 1 something is missing, 2 no such submission.
    """
    from podium.compliance.checking.doctor import examine
    from podium.compliance.checking.session import Options
    from podium.compliance.report.console import print_text, width

    options = Options(usage, round, jobs=jobs or os.cpu_count() or 1)
    text, complete = examine(submission, options, width())
    print_text(text)
    raise typer.Exit(Exit.CLEAN if complete else Exit.FOUND)
