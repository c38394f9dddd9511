"""`podium rules`: the rules of each round, benchmark and division."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.help import examples, group
from podium.compliance.cli.options import (
    AnswerFormat,
    AnswerFormatOption,
    BenchmarkArgument,
    Division,
    JobsOption,
    NewestRoundOption,
    OutputOption,
    SuiteOption,
    Usage,
    processes,
)
from podium.compliance.cli.rulebook.schema import SchemaName, schema_of
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit

app = group("List, explain and compare the rules; print legal hyperparameters.")


class Format(StrEnum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
DivisionOption = Annotated[
    Division | None, typer.Option("--division", help="Division; default both.")
]
ListedArgument = Annotated[
    str | None,
    typer.Argument(
        help="Benchmark whose rules to list; default: list the benchmarks.", metavar="[BENCHMARK]"
    ),
]
KeysOption = Annotated[
    bool,
    typer.Option(
        "--keys", help="List the log keys of the benchmark: the rules of each, or why it is free."
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="List every rule of the round.")]
RuleArgument = Annotated[
    str, typer.Argument(help="A rule's id, a glob of ids, or a key.", metavar="RULE-ID")
]
PluginArgument = Annotated[
    str, typer.Argument(help="Plug-in listed by podium plugins.", metavar="PLUGIN")
]
OldArgument = Annotated[str, typer.Argument(help="A round, such as 6.0.", metavar="A")]
NewArgument = Annotated[str, typer.Argument(help="Another round, such as 6.1.", metavar="B")]
BatchOption = Annotated[
    int | None, typer.Option("--gbs", min=1, help="Global batch size.", metavar="N")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Value of another key (repeatable).", metavar="KEY=VALUE"),
]
OneDivisionOption = Annotated[Division, typer.Option("--division", help="Division.")]
SchemaArgument = Annotated[
    SchemaName, typer.Argument(help="File to print the schema of.", metavar="NAME")
]
WriteOption = Annotated[bool, typer.Option("--write", help="Write the stale pages.")]
PythonOption = Annotated[
    str | None,
    typer.Option(
        "--python",
        help="Python that has mlperf-logging; default the one that runs podium.",
        metavar="FILE",
    ),
]
OneUsageOption = Annotated[Usage | None, typer.Option("--usage", help="Suite; default both.")]
OneRoundOption = Annotated[
    str | None, typer.Option("--round", help="Round; default all.", metavar="ROUND")
]
OneBenchmarkOption = Annotated[
    str | None,
    typer.Option("--benchmark", help="Benchmark; default all.", metavar="BENCHMARK"),
]
DraftOption = Annotated[
    Path | None,
    typer.Option(
        "--draft", help="Write a draft of the rules of --round to this file.", metavar="FILE"
    ),
]
FolderOption = Annotated[
    Path | None,
    typer.Option("--to", help="Folder of the pages; default rules/pages.", metavar="DIR"),
]


@app.command(
    "list",
    epilog=examples(
        "podium rules list --round 5.1",
        "podium rules list llama31_8b",
        "podium rules list dlrmv4 --division open --format markdown",
        "podium rules list --keys llama2_70b_lora --round 5.0",
    ),
)
def list_(
    benchmark: ListedArgument = None,
    division: DivisionOption = None,
    everything: AllOption = False,
    keys: KeysOption = False,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """List the benchmarks of a round, or all rules for the logs of one benchmark."""
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.rulebook import answers

    rules = named_round(usage, round)
    if keys:
        if benchmark is None:
            raise UsageFault("--keys needs a benchmark")
        benchmark_name = answers.named(rules, benchmark)
        answers.keys(rules, benchmark_name, division and division.value, format.value)
        return
    # --division alone asks for rules, like --all: it does not select benchmarks
    if benchmark is None and not everything and division is None:
        answers.benchmarks(rules, format.value)
        return
    name = answers.named(rules, benchmark) if benchmark is not None else None
    answers.rules_of_logs(rules, name, division and division.value, format.value)


@app.command(
    epilog=examples(
        "podium rules show llama31_8b",
        "podium rules show bert --round 5.0 --format markdown",
    )
)
def show(
    benchmark: BenchmarkArgument,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show a benchmark: target, runs, rules, differences of policy and verifier, checks."""
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.rulebook import answers

    rules = named_round(usage, round)
    answers.page(rules, answers.named(rules, benchmark), format.value)


@app.command(
    epilog=examples(
        "podium rules explain closed.llama31_8b.opt_adamw_beta_2",
        "podium rules explain 'common.init_*' --round 5.1",
        "podium rules explain log.not-json",
    )
)
def explain(
    rule: RuleArgument,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Explain a rule: bound, sources, history, a bad example and its fix."""
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.rulebook import answers

    answers.explained(named_round(usage, round), rule, format.value)


@app.command(
    epilog=examples(
        "podium rules diff 6.0 6.1",
        "podium rules diff 5.0 6.1 --format markdown",
        "podium rules diff 2.0 3.0 --usage hpc",
    )
)
def diff(
    old: OldArgument,
    new: NewArgument,
    usage: SuiteOption = Usage.TRAINING,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show the changes between two rounds, consecutive or not."""
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.rulebook import answers

    answers.differences(named_round(usage, old), named_round(usage, new), format.value)


@app.command(
    epilog=examples(
        "podium rules hparams llama31_405b --round 6.0 --gbs 2304",
        "podium rules hparams llama31_8b --gbs 1152 --set opt_base_learning_rate=5e-4",
    )
)
def hparams(
    benchmark: BenchmarkArgument,
    gbs: BatchOption = None,
    settings: SetOption = None,
    division: OneDivisionOption = Division.CLOSED,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Print the legal hyperparameters for a batch size, and the evaluation schedule.

    Exit status: 1 if a value on the command line is not legal.
    """
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.rulebook import answers

    rules = named_round(usage, round)
    values = answers.given_values(gbs, settings or [])
    name = answers.named(rules, benchmark)
    legal = answers.hyperparameters(rules, name, division.value, values, format.value)
    if not legal:
        raise typer.Exit(Exit.FOUND)


@app.command(
    epilog=examples(
        "podium rules drift",
        "podium rules drift --round 6.1 --benchmark llama31_8b --format json",
        "podium rules drift --python new/bin/python --round 6.2 --draft v6_2.py",
    )
)
def drift(
    python: PythonOption = None,
    usage: OneUsageOption = None,
    round: OneRoundOption = None,  # noqa: A002 - the option's name
    benchmark: OneBenchmarkOption = None,
    draft: DraftOption = None,
    jobs: JobsOption = None,
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Compare the tables with an installed mlperf-logging, using logs that break each row.

    Exit status: 1 the two disagree, 2 mlperf-logging is not installed.
    """
    from podium.compliance.cli.rulebook.drift import run

    scope = (usage.value if usage else "", round or "", benchmark or "")
    disagree = run(scope, python, processes(jobs), draft, format.value, output)
    raise typer.Exit(Exit.FOUND if disagree else Exit.CLEAN)


@app.command(
    "test", epilog=examples("podium rules test acme", "podium rules test acme --round 5.1")
)
def try_examples(
    plugin: PluginArgument,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Test the rules of a plug-in: each must report its bad example and not its good example.

    Exit status: 1 a rule fails its test, 2 the plug-in cannot be loaded.
    """
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.rulebook.plugin_list import try_rules

    passed = try_rules(plugin, named_round(usage, round), format.value)
    raise typer.Exit(Exit.CLEAN if passed else Exit.FOUND)


@app.command(epilog=examples("podium rules schema report > report.schema.json"))
def schema(
    of: SchemaArgument,
) -> None:
    """Print the JSON Schema of a file that podium reads or writes; see podium schema."""
    from podium.compliance.reporting.console import print_text
    from podium.compliance.reporting.json_text import json_text

    print_text(json_text(schema_of(of)))


@app.command(epilog=examples("podium rules coverage", "podium rules coverage --format json"))
def coverage(
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show each clause of the policy documents and the rules that implement it, with totals."""
    from podium.compliance.rulebook import answers

    answers.clauses(format.value)


@app.command(epilog=examples("podium rules points 6.0 6.1"))
def points(old: OldArgument, new: NewArgument, usage: SuiteOption = Usage.TRAINING) -> None:
    """Let round B use the reference points of round A, in the data of the rules.

    This changes the benchmarks of both rounds that have no points in B yet.
    """
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.rulebook.points import carry_points

    for path in carry_points(named_round(usage, old), named_round(usage, new)):
        typer.echo(f"written: {path.name}")


@app.command(
    epilog=examples(
        "podium rules pages",
        "podium rules pages --write",
    )
)
def pages(
    write: WriteOption = False,
    to: FolderOption = None,
) -> None:
    """List the pages made from the rules that are stale, or write them.

    Exit status: 1 if pages are stale.
    """
    from podium.compliance.rulebook.pages import stale_pages, write_pages

    names = write_pages(to) if write else stale_pages(to)
    for name in names:
        typer.echo(f"{'written' if write else 'stale'}: {name}")
    if names and not write:
        raise typer.Exit(Exit.FOUND)
