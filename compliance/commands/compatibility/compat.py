"""`podium compat`: the incumbent's programs by their own names, arguments and last lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.commands.group import group
from podium.compliance.commands.options import Usage, told
from podium.compliance.exit_codes import Exit

app = group("The incumbent's programs by their own names and flags, with true exit codes.")

FolderArgument = Annotated[Path, typer.Argument(help="The submission.")]
UsageArgument = Annotated[Usage, typer.Argument(help="Suite.")]
RulesetArgument = Annotated[str, typer.Argument(help="Round, such as 5.1.0.")]
LogOption = Annotated[
    Path | None, typer.Option("--log_output", "--log-output", help="Write to this file, too.")
]
WerrorOption = Annotated[bool, typer.Option("--werror", help="Warnings fail a log, too.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="No warnings; without effect with --werror.")
]


@app.command(
    "compliance_checker",
    epilog="Example:  podium compat compliance_checker result_0.txt --ruleset 5.1.0",
)
def compliance_checker(
    filename: Annotated[Path, typer.Argument(help="The log to check.")],
    usage: Annotated[Usage, typer.Option(help="Suite.")] = Usage.TRAINING,
    ruleset: Annotated[str | None, typer.Option(help="Round, such as 5.1.0.")] = None,
    config: Annotated[
        str | None,
        typer.Option(help="A rule file as the incumbent names it: training_5.1.0/common.yaml."),
    ] = None,
    werror: WerrorOption = False,
    quiet: QuietOption = False,
    log_output: LogOption = None,
) -> None:
    """Check one log by the official verifier's reading; the last line says SUCCESS or FAILED."""
    from podium.compliance.compat.compliance_checker import check_log

    text, passed = check_log(
        filename, usage.value, ruleset, config, werror=werror, quiet=quiet and not werror
    )
    _tell(text, passed, log_output)


@app.command(
    "system_desc_checker",
    epilog="Example:  podium compat system_desc_checker systems/ex_n8.json training 5.1.0",
)
def system_desc_checker(
    filename: Annotated[Path, typer.Argument(help="The system description to check.")],
    usage: UsageArgument,
    ruleset: RulesetArgument,
    werror: Annotated[bool, typer.Option("--werror", help="Taken, without effect.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Taken, without effect.")] = False,
    log_output: LogOption = None,
) -> None:
    """Check one system description by the official verifier's reading."""
    from podium.compliance.compat.desc_and_repo import compat_system

    del werror, quiet  # this checker of the incumbent has no warnings
    _tell(*compat_system(filename, usage.value, ruleset), log_output)


@app.command(
    "repo_checker", epilog="Example:  podium compat repo_checker submission training 5.1.0"
)
def repo_checker(
    folder: FolderArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    log_output: LogOption = None,
) -> None:
    """Check a tree's names, sizes and links by the official verifier's reading."""
    from podium.compliance.compat.desc_and_repo import compat_repo

    _tell(*compat_repo(folder, usage.value, ruleset), log_output)


@app.command(
    "package_checker",
    epilog="Example:  podium compat package_checker Acme training 5.1.0",
)
def package_checker(
    folder: FolderArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    werror: WerrorOption = False,
    quiet: QuietOption = False,
    rcp_bypass: Annotated[
        bool, typer.Option("--rcp-bypass", help="Let failed convergence checks through.")
    ] = False,
    rcp_bert_train_samples: Annotated[
        bool,
        typer.Option("--rcp-bert-train-samples", help="Count BERT's samples by train_samples."),
    ] = False,
    seed_checker_bypass: Annotated[
        bool, typer.Option("--seed-checker-bypass", help="Let seeds through.")
    ] = False,
    log_output: LogOption = None,
) -> None:
    """Check a submission by the official verifier's reading; nothing in it is changed."""
    from podium.compliance.compat.package_checker import Flags, compat_package
    from podium.compliance.waivers.bypass_flags import RCP, SEEDS, TRAIN_SAMPLES

    given = {RCP: rcp_bypass, SEEDS: seed_checker_bypass, TRAIN_SAMPLES: rcp_bert_train_samples}
    bypass = frozenset(flag for flag, wanted in given.items() if wanted)
    flags = Flags(werror, quiet and not werror, bypass)
    _keep_out(log_output, folder)
    _tell(*compat_package(folder, usage.value, ruleset, flags), log_output)


@app.command("verify", epilog="Example:  podium compat verify Acme training 5.1.0")
def verify(
    folder: FolderArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    log_output: LogOption = None,
) -> None:
    """The usual three programs in a row: package check, summary, repository check."""
    from podium.compliance.compat.package_checker import compat_verify

    _keep_out(log_output, folder)
    _tell(*compat_verify(folder, usage.value, ruleset), log_output)


def _keep_out(log_output: Path | None, folder: Path) -> None:
    from podium.compliance.errors import UsageFault
    from podium.compliance.report.console import inside

    if log_output is not None and inside(log_output, [folder]):
        raise UsageFault(f"--log_output {log_output} lies in the submission; choose another place")


@app.command(
    "rcp_checker",
    epilog="Example:  podium compat rcp_checker results/ex_n8/bert --rcp_version 5.0.0",
)
def rcp_checker(
    folder: Annotated[Path, typer.Argument(help="The result's folder.", metavar="DIR")],
    rcp_usage: Annotated[Usage, typer.Option("--rcp_usage", help="Suite.")] = Usage.TRAINING,
    rcp_version: Annotated[
        str | None, typer.Option("--rcp_version", help="Round, such as 5.1.0; default the newest.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Tell the pruned points, too.")
    ] = False,
    bert_train_samples: Annotated[
        bool, typer.Option("--bert_train_samples", help="BERT: go by train_samples.")
    ] = False,
    log_output: Annotated[
        Path | None, typer.Option("--log_output", help="Write what is printed there, too.")
    ] = None,
    rcp_pass: Annotated[
        str, typer.Option("--rcp_pass", help="pruned_rcps or full_rcps.")
    ] = "pruned_rcps",  # noqa: S107 - the name of a set of points
    custom_rcps: Annotated[
        Path | None, typer.Option("--custom_rcps", help="Points of this file instead.")
    ] = None,
) -> None:
    """Hold one result against the reference points by the official verifier's reading."""
    from podium.compliance.compat.rcp_checker import check_folder

    with told():
        text, passed = check_folder(
            folder,
            rcp_usage.value,
            rcp_version,
            rcp_pass,
            custom_rcps,
            train_samples=bert_train_samples,
            verbose=verbose,
        )
    _tell(text, passed, log_output)


@app.command(
    "result_summarizer",
    epilog="Examples:  podium compat result_summarizer submission training 5.1.0 --csv sum.csv    "
    "podium compat result_summarizer 'round/{first,second}' training 5.1.0",
)
def result_summarizer(
    folder: Annotated[
        str, typer.Argument(help="The submission; several as in 'round/{first,second}'.")
    ],
    usage: UsageArgument,
    ruleset: RulesetArgument,
    generate_private_ids: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--generate_private_ids", help="Taken, without effect: no tree is changed."),
    ] = False,
    werror: Annotated[  # noqa: ARG001
        bool, typer.Option("--werror", help="Taken, without effect.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but faults.")] = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", "-csv", help="Write the tables there, and _detailed.")
    ] = None,
    xlsx: Annotated[
        Path | None, typer.Option("--xlsx", "-xlsx", help="Write a workbook there.")
    ] = None,
) -> None:
    """Summarize submissions in the official summary's columns and order.

    Exit status 1 where a result has no score, or no description.
    """
    from podium.compliance.compat.result_summarizer import summarize
    from podium.compliance.report.console import print_text

    with told():
        text, passed = summarize(folder, usage.value, ruleset, csv, xlsx)
    faults = "".join(line for line in text.splitlines(True) if line.startswith("ERROR: "))
    print_text(faults if quiet else text)
    raise typer.Exit(Exit.CLEAN if passed else Exit.FOUND)


def _tell(text: str, passed: bool, log_output: Path | None) -> None:
    """Print to standard error, as the incumbent does, and to a file; set the exit status."""
    from podium.compliance.report.console import write_whole

    if log_output is not None:
        write_whole(log_output, text)
    sys.stderr.write(text)
    raise typer.Exit(Exit.CLEAN if passed else Exit.FOUND)
