"""`podium doctor`: list the missing steps of a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.help import examples
from podium.compliance.cli.options import JobsOption, RoundOption, UsageOption, processes
from podium.compliance.exit_codes import Exit

EXAMPLES = examples("podium doctor Acme", "podium doctor . --round 5.1")

SubmissionArgument = Annotated[
    Path, typer.Argument(help="The submission's folder.", metavar="SUBMISSION")
]


def doctor(
    submission: SubmissionArgument,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    jobs: JobsOption = None,
) -> None:
    """List the steps that a submission still lacks, in order, with a command for each.

    Exit status: 0 complete, 1 something is missing, 2 no such submission.
    """
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import print_text, width
    from podium.compliance.tools.doctor import examine

    # With the policy profile: the official verifier accepts submissions that lack required files
    options = Options(usage=usage, round=round, jobs=processes(jobs))
    text, complete = examine(submission, options, width())
    print_text(text)
    raise typer.Exit(Exit.CLEAN if complete else Exit.FOUND)
