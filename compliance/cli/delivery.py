"""Steps that commands share: refuse, select, warn, print or write."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.files.staging import Leftover
    from podium.compliance.judging.inputs.given_paths import GivenPaths
    from podium.compliance.judging.options import Options
    from podium.compliance.judging.workers.engine import Engine
    from podium.compliance.reporting.console import Printing, Rulebook
    from podium.compliance.reporting.data import Outcome
    from podium.compliance.reporting.render.sarif import RuleText


REMOVE_UNUSED = "if no other call uses it, remove it"
"""The advice for a folder that another call may still use."""


def warn(message: str) -> None:
    """Print one line to standard error."""
    typer.echo(f"podium: {message}", err=True)


def suggest(*words: object) -> None:
    """Print the next command as the last line of the output."""
    from podium.compliance.reporting.console import print_text

    print_text(f"{_next_line(words)}\n")


def suggest_after_verdict(*words: object) -> None:
    """Print the next command to standard error: the last line of the output is the verdict."""
    # If both streams go to one file, the output comes first
    sys.stdout.flush()
    typer.echo(_next_line(words), err=True)


def _next_line(words: Sequence[object]) -> str:
    from podium.compliance.text.terminal import clean

    # On one line of any length, so that it can be copied
    return f"next: {clean(shlex.join(['podium', *map(str, words)]))}"


def shown_from_here(path: Path) -> Path:
    """A path, relative to the working directory if it is inside."""
    cwd = Path.cwd()
    return path.relative_to(cwd) if path.is_relative_to(cwd) else path


def suggest_unpack(archive: Path, receipt: Path | None) -> None:
    """Suggest the command that unpacks an archive, and verifies it if there is a receipt."""
    verify = () if receipt is None else ("--verify", shown_from_here(receipt))
    suggest("unpack", archive, "--output", "received", *verify)


def suggest_pack(path: Path, *, begun: bool) -> None:
    """Suggest `podium pack` for a folder with a podium.toml, else `podium doctor`."""
    configured = (path / "podium.toml").is_file()
    if configured and begun:
        suggest_after_verdict("pack", path)
    elif configured or (path / "results").is_dir():
        suggest_after_verdict("doctor", path)


def tell_leftovers(leftovers: Sequence[Leftover], action: str) -> None:
    """Print one line to standard error for each folder that a killed call has left."""
    from podium.compliance.text.terminal import clean
    from podium.compliance.text.words import age_text, size_text

    for leftover in leftovers:
        facts = f"{size_text(leftover.size)}, {age_text(leftover.age)} old"
        warn(f"left by a killed call: {clean(str(leftover.folder))} ({facts}); {action}")


def clear_leftovers(*targets: Path, whatever: bool = False) -> None:
    """Remove the folders that killed calls for these targets have left next to them.

    A folder that may be in use, or may have more than a draft, is named and kept. `whatever`:
    include calls for other targets in the same folder.
    """
    from podium.compliance.files.staging import leftovers, remove_disposable

    for target in targets:
        candidates = leftovers(target, whatever=whatever)
        remaining = remove_disposable(target, whatever=whatever) if candidates else []
        removed = [
            leftover
            for leftover in candidates
            if leftover.folder not in {other.folder for other in remaining}
        ]
        tell_leftovers(removed, "removed")
        tell_leftovers(remaining, REMOVE_UNUSED)


@contextmanager
def with_named_results(given_paths: GivenPaths, options: Options) -> Iterator[GivenPaths]:
    """The paths, with an assembled tree for each folder whose podium.toml names its results.

    Each assembled tree is reported on standard error. Raises UsageFault if a tree cannot be packed.
    """
    from podium.compliance.judging.inputs.named_results import names_results
    from podium.compliance.judging.inputs.round_selection import RoundRequest
    from podium.compliance.text.terminal import clean

    request = RoundRequest(options.usage, options.round)
    if not any(names_results(path, request) for path in given_paths.own):
        yield given_paths
        return
    from podium.compliance.tools.packing.assembled import with_assembled

    with with_assembled(given_paths, options, lambda line: warn(clean(line))) as assembled:
        yield assembled


def refuse_inside(option: str, output: Path | None, trees: Sequence[Path]) -> None:
    """Raise UsageFault if an option's file is in a tree that is read, which must not change."""
    from podium.compliance.reporting.console import inside

    # A file in the tree would be part of the submission, and the next call would judge it
    if output is not None and inside(output, list(trees)):
        raise UsageFault(f"{option} {output} is inside the tree being read; choose a path outside")


def globs(option: str, values: list[str] | None) -> tuple[str, ...]:
    """The globs of an option that is repeated, or given once with commas between them.

    Raises UsageFault for a glob that matches no rule: the report of a misspelled selector must not
    look clean.
    """
    patterns = [glob.strip() for value in values or () for glob in value.split(",")]
    selectors = tuple(glob for glob in patterns if glob)
    if selectors:
        # Builds the rules of every round; a call without selectors does not wait for this
        from podium.compliance.rulebook.selectors import unmatched

        faults = [*unmatched(option, selectors)]
        if faults:
            raise UsageFault("\npodium: ".join(faults))
    return selectors


def refuse_unknown(format_name: str) -> None:
    """Raise UsageFault for the format of a missing plug-in, before anything is judged."""
    name, dot, _ = format_name.partition(".")
    if not dot:
        return
    from podium.compliance.judging.plugins.installed import installed, left_out

    plugins = [plugin.name for plugin in installed()]
    if name not in plugins:
        hint = "they are left out" if left_out() else f"there are {', '.join(plugins) or 'none'}"
        raise UsageFault(f"--format {format_name}: no plug-in {name}; {hint}")


@contextmanager
def working(engine: str | None, jobs: int | None) -> Iterator[Engine | None]:
    """The engine that `--engine` names; None for processes, which need no preparation."""
    if engine is None:
        yield None
        return
    from podium.compliance.cli.options import processes
    from podium.compliance.judging.workers.cluster.connecting import engine_of

    with engine_of(engine, processes(jobs)) as workers:
        yield workers


def deliver_report(report: Outcome, printing: Printing) -> None:
    """Print or write a report in a built-in format or a format of a plug-in.

    If the plug-in fails, a warning names it, and the report is printed as text: no verdict is lost.
    """
    from podium.compliance.reporting.console import rendered, send

    if "." in printing.format:
        from podium.compliance.judging.plugins.extensions import rendered as rendered_by_plugin

        text, reason = rendered_by_plugin(printing.format, report)
        if not reason:
            send(text, printing.output)
            return
        name = printing.format.partition(".")[0]
        suffix = f"; {printing.output} is not written" if printing.output else ""
        warn(f"plug-in {name} is skipped: {reason}{suffix}")
        printing = printing._replace(format="text", output=None)
    send(rendered(report, printing, rulebook()), printing.output)


def rulebook() -> Rulebook:
    """The facts about rules that formats use, loaded on first use."""
    from podium.compliance.reporting.console import Rulebook

    return Rulebook(_rule_texts, _has_one_message)


def _rule_texts(report: Outcome) -> Mapping[str, RuleText]:
    from podium.compliance.rulebook.selectors import texts_of

    return texts_of(report)


def _has_one_message(rule: str) -> bool:
    from podium.compliance.rulebook.selectors import has_one_message

    return has_one_message(rule)
