"""`podium compat`: the official MLCommons tools with their names, arguments and last lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.delivery import refuse_inside
from podium.compliance.cli.help import examples, group
from podium.compliance.cli.options import Usage
from podium.compliance.exit_codes import Exit

app = group("The official MLCommons tools with their names and flags, and correct exit codes.")

PRUNED = "pruned_rcps"

FolderArgument = Annotated[Path, typer.Argument(help="The submission.", metavar="FOLDER")]
# A string, not a Path: the official tool itself expands the braces of a quoted argument
FoldersArgument = Annotated[
    str,
    typer.Argument(help="The submission, or several: 'round/{first,second}'.", metavar="FOLDER"),
]
ResultArgument = Annotated[Path, typer.Argument(help="The result's folder.", metavar="DIR")]
LogArgument = Annotated[Path, typer.Argument(help="The log to check.", metavar="FILENAME")]
DescriptionArgument = Annotated[
    Path, typer.Argument(help="The system description to check.", metavar="FILENAME")
]
UsageArgument = Annotated[Usage, typer.Argument(help="Suite.", metavar="USAGE")]
RulesetArgument = Annotated[str, typer.Argument(help="Round, such as 5.1.0.", metavar="RULESET")]
UsageOption = Annotated[Usage, typer.Option("--usage", help="Suite.")]
RulesetOption = Annotated[
    str | None, typer.Option("--ruleset", help="Round, such as 5.1.0.", metavar="ROUND")
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        help="Official name of a rule file: training_5.1.0/common.yaml.",
        metavar="FILE",
    ),
]
LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log_output", "--log-output", help="Also write the output to this file.", metavar="FILE"
    ),
]
WerrorOption = Annotated[bool, typer.Option("--werror", help="Treat warnings as errors.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="Hide warnings; no effect with --werror.")
]
# Scripts pass these flags to the official tools; refusing a flag would break a working script
IgnoredWerror = Annotated[
    bool, typer.Option("--werror", help="Accepted for compatibility; no effect.")
]
IgnoredQuiet = Annotated[
    bool, typer.Option("--quiet", help="Accepted for compatibility; no effect.")
]
# The official summarizer writes privateid.json into the submission
IgnoredPrivateIds = Annotated[
    bool,
    typer.Option(
        "--generate_private_ids", help="Accepted for compatibility; podium never changes the tree."
    ),
]
RcpBypassOption = Annotated[
    bool, typer.Option("--rcp-bypass", help="Accept results that fail the convergence check.")
]
TrainSamplesOption = Annotated[
    bool, typer.Option("--rcp-bert-train-samples", help="Count BERT's samples with train_samples.")
]
SeedBypassOption = Annotated[
    bool, typer.Option("--seed-checker-bypass", help="Do not check seeds.")
]
RcpUsageOption = Annotated[Usage, typer.Option("--rcp_usage", help="Suite.")]
RcpVersionOption = Annotated[
    str | None,
    typer.Option(
        "--rcp_version", help="Round, such as 5.1.0; default the newest.", metavar="ROUND"
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Also print the pruned points.")]
BertOption = Annotated[
    bool, typer.Option("--bert_train_samples", help="Count BERT's samples with train_samples.")
]
RcpPassOption = Annotated[
    str, typer.Option("--rcp_pass", help="pruned_rcps or full_rcps.", metavar="NAME")
]
CustomRcpsOption = Annotated[
    Path | None,
    typer.Option("--custom_rcps", help="Use the points of this file.", metavar="FILE"),
]
SummaryQuietOption = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
CsvOption = Annotated[
    Path | None,
    typer.Option(
        "--csv", "-csv", help="Write the tables to FILE and a _detailed file.", metavar="FILE"
    ),
]
XlsxOption = Annotated[
    Path | None, typer.Option("--xlsx", "-xlsx", help="Write an Excel workbook.", metavar="FILE")
]


@app.command(
    "compliance_checker",
    epilog=examples("podium compat compliance_checker result_0.txt --ruleset 5.1.0"),
)
def compliance_checker(
    filename: LogArgument,
    usage: UsageOption = Usage.TRAINING,
    ruleset: RulesetOption = None,
    config: ConfigOption = None,
    werror: WerrorOption = False,
    quiet: QuietOption = False,
    log_output: LogOption = None,
) -> None:
    """Check one log as the official checker does; the last line says SUCCESS or FAILED."""
    from podium.compliance.cli.compat.checkers import check_log

    refuse_inside("--log_output", log_output, [filename])
    text, passed = check_log(
        filename, usage.value, ruleset, config, werror=werror, quiet=quiet and not werror
    )
    _report(text, passed, log_output)


@app.command(
    "system_desc_checker",
    epilog=examples("podium compat system_desc_checker systems/ex_n8.json training 5.1.0"),
)
def system_desc_checker(
    filename: DescriptionArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    werror: IgnoredWerror = False,
    quiet: IgnoredQuiet = False,
    log_output: LogOption = None,
) -> None:
    """Check one system description as the official checker does."""
    from podium.compliance.cli.compat.checkers import compat_system

    del werror, quiet  # the official checker accepts them, but has no warnings
    refuse_inside("--log_output", log_output, [filename])
    _report(*compat_system(filename, usage.value, ruleset), log_output)


@app.command(
    "repo_checker",
    epilog=examples("podium compat repo_checker submission training 5.1.0"),
)
def repo_checker(
    folder: FolderArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    log_output: LogOption = None,
) -> None:
    """Check a tree's names, sizes and links as the official checker does."""
    from podium.compliance.cli.compat.checkers import compat_repo

    refuse_inside("--log_output", log_output, [folder])
    _report(*compat_repo(folder, usage.value, ruleset), log_output)


@app.command(
    "package_checker",
    epilog=examples("podium compat package_checker Acme training 5.1.0"),
)
def package_checker(
    folder: FolderArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    werror: WerrorOption = False,
    quiet: QuietOption = False,
    rcp_bypass: RcpBypassOption = False,
    rcp_bert_train_samples: TrainSamplesOption = False,
    seed_checker_bypass: SeedBypassOption = False,
    log_output: LogOption = None,
) -> None:
    """Check a submission as the official checker does; nothing in it is changed."""
    from podium.compliance.cli.compat.package_checker import Flags, compat_package
    from podium.compliance.judging.waivers.bypass_flags import RCP, SEEDS, TRAIN_SAMPLES

    options = {RCP: rcp_bypass, SEEDS: seed_checker_bypass, TRAIN_SAMPLES: rcp_bert_train_samples}
    bypass = frozenset(flag for flag, enabled in options.items() if enabled)
    flags = Flags(werror, quiet and not werror, bypass)
    # The official program writes scaling.json into the tree that it checks
    refuse_inside("--log_output", log_output, [folder])
    _report(*compat_package(folder, usage.value, ruleset, flags), log_output)


@app.command(
    "verify",
    epilog=examples("podium compat verify Acme training 5.1.0"),
)
def verify(
    folder: FolderArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    log_output: LogOption = None,
) -> None:
    """Run the usual three tools: package check, summary, repository check."""
    from podium.compliance.cli.compat.package_checker import compat_verify

    refuse_inside("--log_output", log_output, [folder])
    _report(*compat_verify(folder, usage.value, ruleset), log_output)


@app.command(
    "rcp_checker",
    epilog=examples("podium compat rcp_checker results/ex_n8/bert --rcp_version 5.0.0"),
)
def rcp_checker(
    folder: ResultArgument,
    rcp_usage: RcpUsageOption = Usage.TRAINING,
    rcp_version: RcpVersionOption = None,
    verbose: VerboseOption = False,
    bert_train_samples: BertOption = False,
    log_output: LogOption = None,
    rcp_pass: RcpPassOption = PRUNED,
    custom_rcps: CustomRcpsOption = None,
) -> None:
    """Compare one result with the reference points as the official checker does."""
    from podium.compliance.cli.compat.rcp_checker import check_folder

    refuse_inside("--log_output", log_output, [folder])
    text, passed = check_folder(
        folder,
        rcp_usage.value,
        rcp_version,
        rcp_pass,
        custom_rcps,
        train_samples=bert_train_samples,
        verbose=verbose,
    )
    _report(text, passed, log_output)


@app.command(
    "result_summarizer",
    epilog=examples(
        "podium compat result_summarizer submission training 5.1.0 --csv sum.csv",
        "podium compat result_summarizer 'round/{first,second}' training 5.1.0",
    ),
)
def result_summarizer(
    folder: FoldersArgument,
    usage: UsageArgument,
    ruleset: RulesetArgument,
    generate_private_ids: IgnoredPrivateIds = False,
    werror: IgnoredWerror = False,
    quiet: SummaryQuietOption = False,
    csv: CsvOption = None,
    xlsx: XlsxOption = None,
) -> None:
    """Summarize submissions with the columns and the order of the official summary.

    Exit status: 1 if a result has no score or no system description.
    """
    from podium.compliance.cli.compat.result_summarizer import summarize
    from podium.compliance.reporting.console import print_text

    del generate_private_ids, werror  # the official tool accepts them; neither changes its output
    text, passed = summarize(folder, usage.value, ruleset, csv, xlsx)
    # `summarize` starts each fault with this mark; no row of a table starts with it
    faults = "".join(line for line in text.splitlines(True) if line.startswith("ERROR: "))
    print_text(faults if quiet else text)
    raise typer.Exit(Exit.CLEAN if passed else Exit.FOUND)


def _report(text: str, passed: bool, log_output: Path | None) -> None:
    """Print to standard error, as the official tools do, and to a file; set the exit status."""
    from podium.compliance.reporting.console import write_whole

    if log_output is not None:
        write_whole(log_output, text)
    sys.stderr.write(text)
    # The official checkers always exit with 0, so that scripts with `set -e` continue
    raise typer.Exit(Exit.CLEAN if passed else Exit.FOUND)
