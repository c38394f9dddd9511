"""The command `podium`: parses arguments, calls one function, sets the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compliance.commands.options import (
    IgnoreOption,
    JobsOption,
    NoColorOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    RoundOption,
    SelectOption,
    StrictOption,
    UsageOption,
    group,
)
from compliance.errors import ComplianceError, UsageFault
from compliance.exits import Exit
from rules.finding import Profile

if TYPE_CHECKING:
    from compliance.outcome import Outcome
    from compliance.waivers import Waivers

app = group("Check, score and package MLPerf Training and HPC results.")

GROUPS = ("rules", "rcp", "system", "compat")
"""Commands with commands of their own: `app` of the module of that name in `commands`."""

COMMANDS = {
    "score": "score.score_command",
    "doctor": "submission.doctor",
    "init": "submission.init",
    "preflight": "preflight.preflight",
    "watch": "watch.watch",
    "pack": "pack.pack",
    "run": "run.run",
    "bundle": "unpack.bundle",
    "unpack": "unpack.unpack",
}
"""Commands that are functions: module and function in `commands`."""


def load_commands(arguments: Sequence[str] = ()) -> typer.Typer:
    """The whole command, or only the part of it that these arguments call.

    What is not called is not imported: `podium check` need not wait for the rest.
    """
    called = next((word for word in arguments if not word.startswith("-")), None)
    if called == "check":
        return app
    loaded = {each.name for each in app.registered_commands}
    loaded |= {each.name for each in app.registered_groups}
    wanted = {called} if called in (*COMMANDS, *GROUPS) else {*COMMANDS, *GROUPS}
    for name, place in COMMANDS.items():
        if name in wanted - loaded:
            home, _, function = place.partition(".")
            module = import_module(f"compliance.commands.{home}")
            examples = getattr(module, f"EPILOG_{name.upper()}", None)
            app.command(name, epilog=examples)(getattr(module, function))
    for name in GROUPS:
        if name in wanted - loaded:
            app.add_typer(import_module(f"compliance.commands.{name}").app, name=name)
    return app


Paths = Annotated[
    list[Path],
    typer.Argument(
        help="A log, a folder of logs, a submission, or a whole round.", metavar="PATH…"
    ),
]
WaiversOption = Annotated[
    Path | None, typer.Option("--waivers", help="Exceptions granted in review (waivers.toml).")
]
NoWaiversOption = Annotated[
    bool, typer.Option("--no-waivers", help="Disregard waivers and bypass flags in the tree.")
]
EarlierOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--earlier", help="An earlier round's tree: find logs handed in again.", metavar="TREE"
    ),
]
ScoreOption = Annotated[
    bool, typer.Option("--score", help="Score the results as well, reading each file once.")
]


def _read_waivers(path: Path | None) -> tuple[Waivers, ...]:
    if path is None:
        return ()
    from compliance.waivers import read_waivers

    return (read_waivers(path, str(path)),)


def _version(wanted: bool) -> None:
    if wanted:
        from compliance.report import tool_version

        sys.stdout.write(f"podium {tool_version()}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Examples:  podium check result_0.txt --round 5.1    "
    "podium check training_results_v5.1 --profile verifier    "
    "podium check . --format sarif --output podium.sarif"
)
def check(
    paths: Paths,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: ReportFormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    jobs: JobsOption = None,
    strict: StrictOption = False,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    waivers: WaiversOption = None,
    no_waivers: NoWaiversOption = False,
    score: ScoreOption = False,
    earlier: EarlierOption = None,
    quiet: QuietOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Judge logs against their round's rules: what is wrong, where, and how to mend it.

    Exit status: 0 nothing wrong (warnings allowed), 1 at least one error, 2 nothing to judge or bad
    arguments, 3 a fault of podium itself.
    """
    from compliance.output import deliver, inside, progress_bar, with_scores
    from compliance.session import Options, check_paths, gather, is_internal

    if output is not None and inside(output, [*paths, *(earlier or ())]):
        raise UsageFault(
            f"--output {output} lies in the tree being checked; choose a place outside"
        )
    options = Options(
        usage.value if usage else None,
        round,
        profile,
        jobs or os.cpu_count() or 1,
        strict,
        tuple(select or ()),
        tuple(ignore or ()),
        _read_waivers(waivers),
        not no_waivers,
        tuple(earlier or ()),
    )
    chosen = _chosen_format(format, score)
    with progress_bar(quiet) as progress:
        gathered = gather(paths, options, progress, for_scores=score)
    report = check_paths(paths, options, gathered=gathered)
    if score:
        from compliance.scoring import scores_of

        with_scores(report, scores_of(gathered, options), chosen, output, color=not no_color)
    else:
        deliver(report, chosen, output, color=not no_color, quiet=quiet)
    raise typer.Exit(_status(report, is_internal(report)))


def _chosen_format(asked: ReportFormat | None, score: bool) -> str:
    from compliance.output import SCORED, default_format

    chosen = asked.value if asked else default_format()
    if score and chosen not in SCORED:
        raise UsageFault(f"--score goes with --format {' or '.join(SCORED)}, not {chosen}")
    return chosen


def _status(report: Outcome, internal: bool) -> Exit:
    if internal:
        return Exit.INTERNAL
    return Exit.FOUND if report.verdict == "rejected" else Exit.CLEAN


def main() -> None:
    """Run the command; every way out ends in one of the contract's exit statuses."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit status of one call."""
    try:
        status = load_commands(arguments)(arguments, prog_name="podium", standalone_mode=False)
        _flush()
    except typer.Abort:
        return Exit.INTERRUPTED
    except ComplianceError as error:
        typer.echo(f"podium: {error}", err=True)
        return Exit.USAGE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough; nothing more can be told to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FOUND
    except Exception as error:
        # Typer brings its own click in some versions: its errors are known by what they can do.
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            error.show()
            return Exit.USAGE
        from compliance.output import own_fault

        typer.echo(own_fault(error), err=True)
        return Exit.INTERNAL
    return int(status or 0)


def _flush() -> None:
    sys.stdout.flush()


if __name__ == "__main__":
    main()
