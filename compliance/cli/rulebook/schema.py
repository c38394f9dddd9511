"""`podium schema`: JSON Schemas, for editors and for programs."""

from __future__ import annotations

from typing import Annotated

import typer

from podium.compliance.cli.help import examples
from podium.compliance.cli.options import (
    NewestRoundOption,
    OutputOption,
    SuiteOption,
    Usage,
)
from podium.compliance.cli.rulebook.schemas import Of, schema_of
from podium.compliance.errors import UsageFault

EXAMPLES = examples(
    "podium schema config > podium.schema.json",
    "podium schema system --round 5.1 --output system.schema.json",
)

NameArgument = Annotated[Of, typer.Argument(help="What the schema is of.", metavar="NAME")]


def schema(
    name: NameArgument,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Print the JSON Schema of a file that podium reads or writes, for editors and programs.

    NAME is config (podium.toml), system (system descriptions, of a round), waivers, review,
    objection, report, receipt, record, profile or study.
    """
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.reporting.console import send
    from podium.compliance.reporting.json_text import json_text

    if round is not None and name is not Of.SYSTEM:
        raise UsageFault(f"--round goes with system; the schema of {name.value} is of no round")
    send(json_text(schema_of(name, named_round(usage, round))), output)
