"""`podium pack`: assemble and check the tree of a submission, and write a receipt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.compliance.cli.delivery import (
    REMOVE_UNUSED,
    clear_leftovers,
    shown_from_here,
    suggest,
    suggest_unpack,
    tell_leftovers,
)
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import (
    AnswerFormat,
    Division,
    JobsOption,
    NoSyncOption,
    QuietOption,
    Usage,
    processes,
)
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit

if TYPE_CHECKING:
    from podium.compliance.tools.packing.writing.pack import Packed, PackJob

EXAMPLES = examples(
    "podium pack --dry-run",
    "podium pack Acme/podium.toml --into trees",
    "podium pack --git ../training_results_v5.1",
    "podium pack --since origin/main",
)


def _option(help_: str, metavar: str | None = None, *names: str) -> Any:
    return typer.Option(*names, help=help_, metavar=metavar)


ConfigArgument = Annotated[
    Path, typer.Argument(help="podium.toml, or its folder.", metavar="[CONFIG]")
]
Submitter = Annotated[str | None, _option("Submitting organization.", "NAME")]
Suite = Annotated[Usage | None, _option("Suite.")]
RoundName = Annotated[str | None, _option("Round, such as 5.1.", "ROUND")]
DivisionName = Annotated[Division | None, _option("Division.")]
Into = Annotated[Path | None, _option("Folder in which to create the submitter's folder.", "DIR")]
Systems = Annotated[
    list[str] | None, _option("A system and its description (repeatable).", "NAME=FILE")
]
Results = Annotated[
    list[str] | None, _option("Logs of a result (repeatable).", "SYSTEM/BENCHMARK[/weak]=GLOB")
]
Codes = Annotated[
    list[str] | None, _option("A folder of code (repeatable).", "BENCHMARK[/NAME]=FOLDER")
]
Documents = Annotated[list[str] | None, _option("Any other file (repeatable).", "PATH=FILE")]
WaiversFile = Annotated[Path | None, _option("waivers.toml to submit.", "FILE")]
Merge = Annotated[list[Path] | None, _option("Tree to merge in (repeatable).", "DIR")]
Settings = Annotated[
    list[str] | None, _option("Any field of podium.toml (repeatable).", "FIELD=TOML", "--set")
]
DryRun = Annotated[bool, _option("Print the plan; write nothing.", None, "--dry-run", "-n")]
Replace = Annotated[
    list[str] | None, _option("Path that may be overwritten or removed (repeatable).", "PATH")
]
Keep = Annotated[list[str] | None, _option("Path in the old tree to keep (repeatable).", "PATH")]
Force = Annotated[
    bool,
    _option("Pack even if the check rejects the tree; the receipt records this.", None, "--force"),
]
ReceiptFile = Annotated[Path | None, _option("Where to write the receipt.", "FILE")]
ReceiptInTree = Annotated[
    bool, _option("Also put the receipt into the tree.", None, "--receipt-in-tree")
]
Git = Annotated[Path | None, _option("Commit to this clone of the review repository.", "CLONE")]
Push = Annotated[bool, _option("Also push the commit.", None, "--push")]
Since = Annotated[str | None, _option("Check the changes of the clone's branch since REF.", "REF")]
BundleFile = Annotated[Path | None, _option("Also write a bundle of the tree.", "FILE")]
Clean = Annotated[
    bool, _option("Only remove the leftovers of killed calls for this tree.", None, "--clean")
]
Format = Annotated[AnswerFormat, _option("Output format of the plan.")]


def pack(
    config: ConfigArgument = Path(),
    submitter: Submitter = None,
    usage: Suite = None,
    round: RoundName = None,  # noqa: A002 - the option's name
    division: DivisionName = None,
    into: Into = None,
    system: Systems = None,
    result: Results = None,
    code: Codes = None,
    document: Documents = None,
    waivers: WaiversFile = None,
    merge: Merge = None,
    set: Settings = None,  # noqa: A002 - the option's name
    dry_run: DryRun = False,
    replace: Replace = None,
    keep: Keep = None,
    force: Force = False,
    receipt: ReceiptFile = None,
    receipt_in_tree: ReceiptInTree = False,
    git: Git = None,
    push: Push = False,
    since: Since = None,
    bundle: BundleFile = None,
    clean: Clean = False,
    no_sync: NoSyncOption = False,
    format: Format = AnswerFormat.TEXT,  # noqa: A002 - the option's name
    jobs: JobsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Assemble a submission: plan, copy, check, replace the old tree, write a receipt.

    Every field of podium.toml has an option or can be set with --set. Existing files are
    overwritten only if --replace names them, and logs are never altered. Exit status: 0 packed,
    1 refused because of conflicts or by the check, 2 bad arguments or an output that cannot be
    written.
    """
    if since is not None:
        raise typer.Exit(_check_since(git or Path(), since, usage, round, processes(jobs)))
    from podium.compliance.tools.packing.planning.request import fields_of, read_request
    from podium.compliance.tools.packing.writing.pack import PackJob

    fields = {
        "submitter": submitter,
        "usage": usage,
        "round": round,
        "division": division,
        "into": into,
        "systems": system,
        "results": result,
        "code": code,
        "documents": document,
        "waivers": waivers,
        "merge": merge,
    }
    job = PackJob(
        read_request(config, fields_of(fields), set or ()),
        replace=tuple(replace or ()),
        keep=tuple(keep or ()),
        force=force,
        jobs=processes(jobs),
        receipt=receipt,
        receipt_in_tree=receipt_in_tree,
        durable=not no_sync,
    )
    _leftovers(job, git, bundle, clean=clean, dry_run=dry_run)
    _print(packed := _pack(job, git, push=push, dry_run=dry_run), format, quiet=quiet)
    _bundle(packed, bundle, durable=not no_sync)
    if format is AnswerFormat.TEXT and not quiet:
        _suggest_next(packed, config, bundle, dry_run=dry_run)
    raise typer.Exit(_status(packed, force=force))


def _leftovers(
    job: PackJob, clone: Path | None, archive: Path | None, *, clean: bool, dry_run: bool
) -> None:
    """List the leftovers of killed calls for this tree; with `clean` remove them and exit."""
    from podium.compliance.files.staging import leftovers
    from podium.compliance.tools.packing.writing import write

    location = job.target, job.target.parent
    if clone is not None:
        from podium.compliance.tools.packing.git.commit import place_in

        location = place_in(job, clone)
    if clean:
        tell_leftovers(write.clean(*location), "removed")
        tell_leftovers(leftovers(*location), REMOVE_UNUSED)
        raise typer.Exit(Exit.CLEAN)
    if archive is not None:
        from podium.compliance.tools.bundling.format.hashes import archive_files

        clear_leftovers(*archive_files(archive))
    candidates = leftovers(*location)
    # The call itself removes them under its lock, as they may hold the old tree
    action = "`podium pack --clean` removes it" if dry_run else "it is removed now"
    tell_leftovers([leftover for leftover in candidates if leftover.owner_gone], action)
    tell_leftovers([leftover for leftover in candidates if not leftover.owner_gone], REMOVE_UNUSED)


def _pack(job: PackJob, clone: Path | None, *, push: bool, dry_run: bool) -> Packed:
    from podium.compliance.tools.packing.writing.pack import pack as write_tree
    from podium.compliance.tools.packing.writing.pack import plan_only

    if push and clone is None:
        raise UsageFault("--push needs --git CLONE")
    if clone is None:
        return plan_only(job) if dry_run else write_tree(job)
    from podium.compliance.tools.packing.git.commit import commit_to, plan_for

    return plan_for(job, clone) if dry_run else commit_to(job, clone, push=push)


def _print(packed: Packed, format_: AnswerFormat, *, quiet: bool) -> None:
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.tools.packing.writing import plan_text

    # --quiet does not apply to JSON, which a program reads
    if format_ is AnswerFormat.JSON:
        print_text(plan_text.to_json(packed))
        return
    if not quiet:
        print_text(plan_text.to_text(packed, width()) + "\n")
    print_text(plan_text.outcome_text(packed, width()))


def _suggest_next(packed: Packed, config: Path, archive: Path | None, *, dry_run: bool) -> None:
    """Suggest the next command: the real call, or writing or opening the archive."""
    if packed.state in ("refused", "rejected"):
        suggest("doctor", config if config.is_dir() else config.parent)
    elif dry_run:
        if not packed.plan.stopped():
            suggest("pack", config)
    elif archive is None:
        suggest("bundle", shown_from_here(packed.target), f"{packed.target.name}.tar.zst")
    else:
        suggest_unpack(archive, packed.receipt_file)


def _bundle(packed: Packed, archive: Path | None, *, durable: bool) -> None:
    if archive is None or packed.state not in ("packed", "unchanged"):  # then no tree is written
        return
    from podium.compliance.tools.bundling.bundle import BundleOptions
    from podium.compliance.tools.bundling.bundle import bundle as write_bundle

    # `podium pack` accepts no keys: `podium bundle` makes encrypted bundles
    write_bundle(packed.target, archive, BundleOptions(durable=durable))
    typer.echo(f"Bundle: {archive}")


def _status(packed: Packed, *, force: bool) -> Exit:
    from podium.compliance.judging.logs.broken_rule import crashed

    # A tree that could not be judged is neither accepted nor rejected
    if packed.report is not None and crashed(packed.report.findings):
        return Exit.INTERNAL
    # A dry run fails if the real call would refuse, so that a script can ask first
    planned = packed.state == "planned" and not packed.plan.stopped(force=force)
    return Exit.CLEAN if planned or packed.state in ("packed", "unchanged") else Exit.FOUND


def _check_since(clone: Path, ref: str, usage: str | None, round_: str | None, jobs: int) -> Exit:
    from podium.compliance.judging.inputs.round_selection import RoundRequest
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.tools.packing.git.since import check_since, to_text

    changes = check_since(clone, ref, RoundRequest(usage, round_), jobs)
    print_text(to_text(changes, width()))
    return Exit.CLEAN if changes.accepted else Exit.FOUND
