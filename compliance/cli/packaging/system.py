"""`podium system`: write and check system descriptions, and print their schema."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.delivery import (
    clear_leftovers,
    deliver_report,
    globs,
    refuse_inside,
    refuse_unknown,
)
from podium.compliance.cli.help import examples, group
from podium.compliance.cli.options import (
    IgnoreOption,
    NoColorOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    RelativeToOption,
    ReportFormatOption,
    RoundOption,
    SelectOption,
    StrictOption,
    UsageOption,
)
from podium.rules.finding import Profile

app = group("Write and check system descriptions (systems/*.json), and print their schema.")

Paths = Annotated[
    list[Path], typer.Argument(help="Descriptions, or folders of descriptions.", metavar="FILE...")
]
FileArgument = Annotated[Path, typer.Argument(help="The description to write.", metavar="FILE")]
NodeOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="File of `podium system probe`, instead of this node (repeatable).", metavar="FILE"
    ),
]
FromOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        help="Source of values: JSON of mlperf-sysinfo, a log with :::SYSJSON, or a description.",
        metavar="FILE",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="A field's value (repeatable).", metavar="FIELD=VALUE"),
]
ProbeOption = Annotated[bool, typer.Option(help="Probe this machine.")]
InputOption = Annotated[
    bool, typer.Option("--input/--no-input", help="Ask for missing fields, in a terminal.")
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Overwrite an existing description.")
]


@app.command(
    epilog=examples(
        "podium system check systems/ex_n8.json --round 5.1",
        "podium system check . --profile verifier --format json",
    )
)
def check(
    paths: Paths,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: ReportFormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    relative_to: RelativeToOption = None,
    strict: StrictOption = False,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    quiet: QuietOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Check system descriptions: all faults at once, with lines and fixes.

    Exit status: 0 no errors (warnings allowed), 1 at least one error, 2 nothing to check or bad
    arguments.
    """
    from podium.compliance.judging.options import Options
    from podium.compliance.judging.system_report import check_systems
    from podium.compliance.reporting.console import Printing, default_format
    from podium.compliance.reporting.placing import based, root_of

    refuse_inside("--output", output, paths)
    # Descriptions are small: a second process costs more than it saves
    options = Options(
        usage=usage,
        round=round,
        profile=profile,
        strict=strict,
        select=globs("--select", select),
        ignore=globs("--ignore", ignore),
    )
    root = root_of(relative_to)
    report = based(check_systems(paths, options), paths, root)
    format_name = format or default_format()
    refuse_unknown(format_name)
    deliver_report(report, Printing(format_name, output, not no_color, quiet, root=root))
    raise typer.Exit(report.exit_status)


@app.command(
    epilog=examples(
        "podium system schema --round 5.1",
        "podium system schema --usage hpc --round 3.0 --output system.schema.json",
    )
)
def schema(
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Print the JSON Schema (draft 2020-12) of a round's system descriptions."""
    from podium.compliance.judging.inputs.round_selection import RoundRequest
    from podium.compliance.judging.systems.schema import system_schema
    from podium.compliance.reporting.console import send
    from podium.compliance.reporting.json_text import json_text

    # No file is read here: only the folder of the description can name the round
    rules = RoundRequest(usage, round).choose(".").rules
    send(json_text(system_schema(rules)), output)


@app.command(
    epilog=examples(
        "podium system init systems/ex_n8.json --round 5.1",
        "podium system init systems/ex_n8.json --node n1.json --node n2.json",
        "podium system init systems/n8.json --from sysinfo.json --set cooling=Liquid",
    )
)
def init(
    file: FileArgument,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    node: NodeOption = None,
    sources: FromOption = None,
    set: SetOption = None,  # noqa: A002 - the option's name
    probe: ProbeOption = True,
    input: InputOption = True,  # noqa: A002 - the option's name
    replace: ReplaceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a system description from facts about the machine and its configuration.

    Values that a person must write start with TODO; `podium system check` lists them. The first
    source that has a value wins: --set, MLPERF_* variables, --from, podium.toml, --node or a probe.
    Exit status: 0 written, 2 bad arguments.
    """
    from podium.compliance.judging.inputs.round_selection import RoundRequest
    from podium.compliance.judging.systems.probe import session
    from podium.compliance.judging.systems.probe.fill import to_text
    from podium.compliance.reporting.console import print_text, width

    # Refused before anything is probed or asked; writing checks again, as a file may be new by then
    session.refuse_older(file, replace=replace)
    rules = RoundRequest(usage, round).choose(file.absolute().parent).rules
    inputs = session.Sources(
        given=tuple(set or ()),
        variables=os.environ,
        sysinfo=tuple(sources or ()),
        nodes=tuple(node or ()),
        probe=probe,
    )
    draft = session.draft_description(file, rules, inputs)
    # In a batch job the call would wait forever for an answer
    if input and sys.stdin.isatty() and sys.stdout.isatty():
        session.ask_for_missing(draft, _ask, typer.echo)
    clear_leftovers(file)
    session.write_description(draft, file, replace=replace)
    if not quiet:
        print_text(to_text(draft, str(file), width()))


def _ask(field: str, description: str) -> str:
    return str(typer.prompt(f"{field} ({description})", default="", show_default=False))


@app.command(
    "probe",
    epilog=examples(
        "podium system probe",
        "podium system probe --output n1.json",
        "srun --ntasks-per-node=1 podium system probe --output 'probe-%h.json'",
    ),
)
def probe_command(output: OutputOption = None) -> None:
    """Print the hardware and software of this node as JSON, for `podium system init --node`.

    In --output, %h is replaced with the host name.
    """
    from podium.compliance.judging.systems.probe.probe import probe_node
    from podium.compliance.reporting.console import send

    node = probe_node()
    if output is not None:
        # srun starts the same command line on every node: with %h, each node writes its file
        output = output.with_name(output.name.replace("%h", node.host or "node"))
    send(node.to_json(), output)
