"""`podium system`: check system descriptions, and the schema that they must fit."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.commands.group import group
from podium.compliance.commands.options import (
    IgnoreOption,
    NoColorOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    ReportFormatOption,
    RoundOption,
    SelectOption,
    StrictOption,
    UsageOption,
    globs,
    rule_texts,
    told,
)
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.rules.finding import Profile

app = group("System descriptions (systems/*.json): check them, print the schema they must fit.")

Paths = Annotated[
    list[Path], typer.Argument(help="Descriptions, or folders that hold them.", metavar="FILE…")
]


@app.command(
    epilog="Examples:  podium system check systems/ex_n8.json --round 5.1    "
    "podium system check . --profile verifier --format json"
)
def check(
    paths: Paths,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: ReportFormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    strict: StrictOption = False,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    quiet: QuietOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Check system descriptions: every fault at once, with its line and how to mend it.

    Exit status: 0 nothing wrong (warnings allowed), 1 at least one error, 2 nothing to judge or bad
    arguments.
    """
    from podium.compliance.checking.session import Options
    from podium.compliance.checking.system_report import check_systems
    from podium.compliance.report.console import default_format, deliver, inside

    with told():
        if output is not None and inside(output, paths):
            raise UsageFault(f"--output {output} lies where podium reads; choose a place outside")
        wanted = (globs("--select", select), globs("--ignore", ignore))
        options = Options(usage.value if usage else None, round, profile, 1, strict, *wanted)
        report = check_systems(paths, options)
        chosen = format.value if format else default_format()
        color = not no_color
        deliver(report, chosen, output, color=color, quiet=quiet, describe=rule_texts)
    raise typer.Exit(Exit.FOUND if report.verdict == "rejected" else Exit.CLEAN)


@app.command(
    epilog="Examples:  podium system schema --round 5.1    "
    "podium system schema --usage hpc --round 3.0 --output system.schema.json"
)
def schema(
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Print the JSON Schema (draft 2020-12) of a round's system descriptions."""
    from podium.compliance.inputs.round_selection import RoundRequest
    from podium.compliance.report.console import write_whole
    from podium.compliance.systems.schema import system_schema

    with told():
        rules = RoundRequest(usage.value if usage else None, round).choose(".").rules
        text = json.dumps(system_schema(rules), indent=2) + "\n"
        if output is not None:
            write_whole(output, text)
        else:
            sys.stdout.write(text)


@app.command(
    epilog="Examples:  podium system init systems/ex_n8.json --round 5.1    "
    "podium system init systems/ex_n8.json --node n1.json --node n2.json    "
    "podium system init systems/ex_n8.json --from sysinfo.json --set cooling=Liquid"
)
def init(
    file: Annotated[Path, typer.Argument(help="The description to write.", metavar="FILE")],
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    node: Annotated[
        list[Path] | None,
        typer.Option(help="Probe of a node (`podium system probe`), instead of this one."),
    ] = None,
    told_by: Annotated[
        list[Path] | None,
        typer.Option("--from", help="mlperf-sysinfo's JSON, a log with :::SYSJSON, a description."),
    ] = None,
    set: Annotated[  # noqa: A002 - the option's name
        list[str] | None, typer.Option("--set", help="FIELD=VALUE (repeatable).")
    ] = None,
    probe: Annotated[bool, typer.Option(help="Ask this machine what it is made of.")] = True,
    input: Annotated[  # noqa: A002 - the option's name
        bool, typer.Option("--input/--no-input", help="Ask for what is missing, in a terminal.")
    ] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an older one.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Write a system description from what the machine and its surroundings tell.

    What a person must still write begins with TODO, and `podium system check` names it. Of all
    sources the first wins: --set, MLPERF_* variables, --from, podium.toml, --node or a probe.
    Exit status: 0 written, 2 bad arguments.
    """
    from podium.compliance.inputs.round_selection import RoundRequest
    from podium.compliance.report.console import print_text, width
    from podium.compliance.systems.probe.filling_text import to_text
    from podium.compliance.systems.probe.session import (
        Sources,
        ask_for_missing,
        draft_description,
        refuse_older,
        write_description,
    )

    with told():
        refuse_older(file, replace=replace)
        rules = (
            RoundRequest(usage.value if usage else None, round).choose(file.absolute().parent).rules
        )
        listed = (tuple(set or ()), os.environ, tuple(told_by or ()), tuple(node or ()))
        draft = draft_description(file, rules, Sources(*listed, probe=probe))
        if input and sys.stdin.isatty() and sys.stdout.isatty():
            ask_for_missing(draft, _ask, typer.echo)
        write_description(draft, file, replace=replace)
    if not quiet:
        print_text(to_text(draft, str(file), width()))


def _ask(field: str, wanted: str) -> str:
    return str(typer.prompt(f"{field} ({wanted})", default="", show_default=False))


@app.command(
    "probe",
    epilog="Examples:  podium system probe    podium system probe --output n1.json    "
    "srun --ntasks-per-node=1 podium system probe --output 'probe-%h.json'",
)
def probe_command(output: OutputOption = None) -> None:
    """Tell what this node is made of, as JSON; `podium system init --node` reads it.

    In --output, %h stands for the host's name.
    """
    from podium.compliance.report.console import print_text, write_whole
    from podium.compliance.systems.probe.probe import probe_node

    with told():
        found = probe_node()
        if output is None:
            print_text(found.to_json())
        else:
            host = found.host or "node"
            write_whole(output.with_name(output.name.replace("%h", host)), found.to_json())
