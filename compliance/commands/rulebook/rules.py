"""`podium rules`: the rules themselves, by round, benchmark and division."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.commands.group import group
from podium.compliance.commands.options import (
    BenchmarkArgument,
    Division,
    NewestRoundOption,
    SuiteOption,
    Usage,
    told,
)
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit

if TYPE_CHECKING:
    from podium.rules.round import Round

app = group("The rules themselves: list, explain and compare them; work out what is legal.")


class Format(StrEnum):
    """How the answer is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class Schema(StrEnum):
    """What a JSON Schema is printed of."""

    REPORT = "report"
    RECORD = "record"
    CONFIG = "config"
    RECEIPT = "receipt"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
DivisionOption = Annotated[
    Division | None, typer.Option("--division", help="One division; default both.")
]


def _round(usage: Usage, name: str | None) -> Round:
    from podium.rules.catalogue import UnknownRound, find_round, newest

    try:
        return newest(usage.value) if name is None else find_round(usage.value, name)
    except UnknownRound as error:
        raise UsageFault(str(error)) from None


# --- list and show --------------------------------------------------------------------------------


@app.command(
    "list",
    epilog="Examples:  podium rules list --round 5.1    podium rules list llama31_8b    "
    "podium rules list dlrmv4 --division open --format markdown",
)
def list_(
    benchmark: Annotated[
        str | None, typer.Argument(help="Its rules; without it, the benchmarks.")
    ] = None,
    division: DivisionOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every rule of the round.")] = False,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """List a round's benchmarks, or all rules that judge one's logs."""
    from podium.compliance.rulebook import answers

    with told():
        rules = _round(usage, round)
        wanted = division.value if division else None
        if benchmark is None and not everything and wanted is None:
            answers.benchmarks(rules, format.value)
            return
        name = answers.named(rules, benchmark) if benchmark is not None else None
        answers.rules_of_logs(rules, name, wanted, format.value)


@app.command(
    epilog="Examples:  podium rules show llama31_8b    "
    "podium rules show bert --round 5.0 --format markdown"
)
def show(
    benchmark: BenchmarkArgument,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show a benchmark: target, runs, own rules, what is disputed, checks."""
    from podium.compliance.rulebook import answers

    with told():
        rules = _round(usage, round)
        answers.page(rules, answers.named(rules, benchmark), format.value)


@app.command(
    epilog="Examples:  podium rules explain closed.llama31_8b.opt_adamw_beta_2    "
    "podium rules explain 'common.init_*' --round 5.1    podium rules explain log.not-json"
)
def explain(
    rule: Annotated[
        str, typer.Argument(help="A rule's id, a glob of ids, or a bare key.", metavar="RULE-ID")
    ],
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Explain a rule: bound, authors, history, an example and its mend."""
    from podium.compliance.rulebook import answers

    with told():
        answers.explained(_round(usage, round), rule, format.value)


@app.command(
    epilog="Examples:  podium rules diff 6.0 6.1    podium rules diff 5.0 6.1 --format markdown    "
    "podium rules diff 2.0 3.0 --usage hpc"
)
def diff(
    old: Annotated[str, typer.Argument(help="A round, such as 6.0.", metavar="A")],
    new: Annotated[str, typer.Argument(help="Another, such as 6.1.", metavar="B")],
    usage: SuiteOption = Usage.TRAINING,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Say what changed between two rounds, neighbours or not."""
    from podium.compliance.rulebook import answers

    with told():
        answers.differences(_round(usage, old), _round(usage, new), format.value)


@app.command(
    epilog="Examples:  podium rules hparams llama31_405b --round 6.0 --gbs 2304    "
    "podium rules hparams llama31_8b --gbs 1152 --set opt_base_learning_rate=5e-4"
)
def hparams(
    benchmark: BenchmarkArgument,
    gbs: Annotated[int | None, typer.Option("--gbs", min=1, help="Global batch size.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another value as KEY=VALUE (repeatable).", metavar="KEY=VALUE"),
    ] = None,
    division: Annotated[Division, typer.Option("--division", help="Division.")] = Division.CLOSED,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Work out the legal hyperparameters for a batch size.

    Also when to evaluate, where the batch size decides it.

    Exit status 1 where a value given is not legal.
    """
    from podium.compliance.rulebook import answers

    with told():
        rules = _round(usage, round)
        given = answers.given_values(gbs, settings or [])
        name = answers.named(rules, benchmark)
        legal = answers.hyperparameters(rules, name, division.value, given, format.value)
    if not legal:
        raise typer.Exit(Exit.FOUND)


@app.command(epilog="Example:  podium rules schema report > report.schema.json")
def schema(
    of: Annotated[Schema, typer.Argument(help="Of what.")],
) -> None:
    """Print the JSON Schema of a report, a log record, podium.toml or a receipt."""
    from podium.compliance.rulebook import answers

    answers.schema(of.value)


@app.command(epilog="Examples:  podium rules pages    podium rules pages --write")
def pages(
    write: Annotated[bool, typer.Option("--write", help="Write what is stale.")] = False,
    to: Annotated[
        Path | None, typer.Option("--to", help="Another folder than rules/pages.")
    ] = None,
) -> None:
    """Say which pages made from the rules are stale, or write them.

    Exit status 1 where some are stale.
    """
    from podium.compliance.rulebook.pages import stale_pages, write_pages

    found = write_pages(to) if write else stale_pages(to)
    for name in found:
        typer.echo(f"{'written' if write else 'stale'}: {name}")
    if found and not write:
        raise typer.Exit(Exit.FOUND)
