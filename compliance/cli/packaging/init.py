"""`podium init`: write the skeleton of a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.delivery import clear_leftovers, suggest
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import Division, SuiteOption, Usage

EXAMPLES = examples(
    "podium init Acme --submitter Acme --round 5.1",
    "podium init Acme --submitter Acme --round 5.1 --system n8 --benchmark flux1",
)

FolderArgument = Annotated[
    Path, typer.Argument(help="The new submission's folder.", metavar="FOLDER")
]
SubmitterOption = Annotated[str, typer.Option(help="Submitting organization.", metavar="NAME")]
RoundOption = Annotated[str, typer.Option(help="Round, such as 5.1.", metavar="ROUND")]
DivisionOption = Annotated[Division, typer.Option(help="Division.")]
SystemOption = Annotated[
    list[str] | None, typer.Option(help="Name of a system (repeatable).", metavar="NAME")
]
BenchmarkOption = Annotated[
    list[str] | None,
    typer.Option(help="Benchmark to submit (repeatable).", metavar="BENCHMARK"),
]


def init(
    folder: FolderArgument,
    submitter: SubmitterOption,
    round: RoundOption,  # noqa: A002 - the option's name
    usage: SuiteOption = Usage.TRAINING,
    division: DivisionOption = Division.CLOSED,
    system: SystemOption = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Write the skeleton of a submission: folders, system descriptions, podium.toml.

    Nothing is overwritten: the folder must be new or empty. Exit status: 0 written, 2 bad arguments
    or the folder is not empty.
    """
    from podium.compliance.judging.inputs.round_selection import RoundRequest
    from podium.compliance.reporting.console import print_text
    from podium.compliance.text.terminal import clean
    from podium.compliance.tools.packing.skeleton import Skeleton, write_skeleton

    rules = RoundRequest(usage, round).choose(folder).rules
    # A name that is given twice still asks for one folder
    systems, benchmarks = (tuple(dict.fromkeys(names or ())) for names in (system, benchmark))
    skeleton = Skeleton(submitter, rules, division.value, systems, benchmarks)
    clear_leftovers(folder)
    paths = write_skeleton(folder, skeleton)
    lines = [
        f"{clean(str(folder))}: a submission of {rules.title}",
        *(f"  {path}" for path in paths),
    ]
    print_text("\n".join([*lines, "", ""]))
    suggest("doctor", folder)
