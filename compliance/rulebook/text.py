"""The terminal output of `podium rules`: tables and pages that fit the width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from podium.compliance.rulebook.pages import count, difference, facts
from podium.compliance.rulebook.printer import Grid, Printer
from podium.compliance.rulebook.tables.history import RuleKind
from podium.compliance.rulebook.tables.rule import Rule, check_rules, rules_of, target_text
from podium.compliance.rulebook.tables.tables import Table, divisions, own_tables
from podium.rules.constraints.formula import show
from podium.rules.model.round import Round
from podium.rules.table import Row

if TYPE_CHECKING:
    from podium.compliance.rulebook.changes import Difference
    from podium.compliance.rulebook.explain import RuleView
    from podium.compliance.rulebook.tables.settings import Setting


# --- rules ----------------------------------------------------------------------------------------


def print_benchmarks(printer: Printer, rules: Round) -> None:
    """The benchmarks of a round."""
    printer.say(f"{rules.title}: {len(rules.benchmarks)} benchmarks")
    printer.say()
    heads = [division.capitalize() or "Rules" for division in divisions(rules)]
    cells = tuple(
        (
            f"{name} (retired)" if name in rules.retired_with_rules else name,
            benchmark.title,
            str(benchmark.runs),
            target_text(benchmark),
            *(str(count(rules, name, division)) for division in divisions(rules)),
        )
        for name, benchmark in rules.benchmarks.items()
    )
    numbers = (2, *range(4, 4 + len(heads)))
    printer.grid(Grid(("Benchmark", "Title", "Runs", "Target", *heads), cells, numbers))
    printer.say()
    printer.say(f"`podium rules show {cells[0][0]} --round {rules.name}` shows one of them.")


def print_tables(printer: Printer, rules: Round, listed_tables: Iterable[Table]) -> None:
    """Tables of rules, each under its name."""
    for table in listed_tables:
        if table.lines:
            printer.head(f"{table.name}.*", table.when)
            print_rules(printer, rules_of(rules, table))


def print_rules(printer: Printer, rules: Iterable[Rule]) -> None:
    """Rules of one table."""
    cells = tuple(
        (rule.name, _bound(rule), short_times(rule), rule.stated_by.value, rule.since)
        for rule in rules
    )
    printer.grid(Grid(("Key", "Constraint", "Times", "Stated by", "Since"), cells))


def short_times(rule: Rule) -> str:
    """How often a key is logged, in short: 1, 1+, any."""
    row = rule.source
    if rule.kind is RuleKind.TARGET:
        return "1+"
    if not isinstance(row, Row):
        return ""
    times = row.times
    if times.most is not None:
        return str(times.most) if times.most == times.least else f"{times.least}-{times.most}"
    return f"{times.least}+" if times.least else "any"


def _bound(rule: Rule) -> str:
    row = rule.source
    if rule.kind is RuleKind.ROW and isinstance(row, Row) and row.times.instead:
        return f"{rule.bound} (or {' or '.join(row.times.instead)} instead)"
    return rule.bound


def print_checks(printer: Printer, rules: Round, division: str | None = None) -> None:
    """The checks of a round."""
    print_check_table(printer, "checks", check_rules(rules, division))


def print_check_table(printer: Printer, title: str, rules: Sequence[Rule]) -> None:
    """Rules that are not table cells, if there are any."""
    if rules:
        printer.head(title)
        cells = tuple((rule.id, rule.constraint, rule.policy_severity) for rule in rules)
        printer.grid(Grid(("Rule", "Says", "Severity"), cells))


def print_legend(printer: Printer) -> None:
    """The legend of the tables, and further commands."""
    printer.say()
    printer.say(
        "A rule's id is its table's name and its key. Times: 1 means exactly once, 1+ at least "
        "once, any any number of times. Since: the first round with the rule in its present "
        "form. See `podium rules explain ID` for details."
    )


def print_page(printer: Printer, rules: Round, name: str) -> None:
    """One benchmark: its facts, its tables, the differences of policy and verifier, its checks."""
    benchmark = rules.benchmarks[name]
    printer.say(f"{name}, {rules.title}: {benchmark.title}")
    for fact in facts(rules, name):
        printer.say(fact, "  ", "    ")
    benchmark_tables = own_tables(rules, name)
    print_tables(printer, rules, benchmark_tables)
    differing = [
        (r, text) for t in benchmark_tables for r in rules_of(rules, t) if (text := difference(r))
    ]
    if differing:
        printer.head("differences of verifier and policy")
    for rule, text in differing:
        printer.say(f"{rule.id}: {text}", "  ", "    ")
    print_checks(printer, rules)
    print_legend(printer)


# --- one rule -------------------------------------------------------------------------------------


def print_view(printer: Printer, view: RuleView) -> None:
    """One rule: its requirement, its source, its first round; a violation and its fix."""
    rule = view.rule
    printer.head(rule.id)
    printer.say(rule.meaning, "  ")
    printer.say()
    for label, text in view.labelled():
        printer.say(text, f"  {label:<11}", " " * 13)
    absence = (f"no {rule.key} at all",) if view.absent else ()
    for label, lines in (("violation", view.bad or absence), ("fixed", view.good)):
        if lines:
            printer.say()
            printer.say(f"{label}:", "  ")
        for line in lines:
            printer.say(line, "    ", "      ")
    if not (view.bad or view.good or absence):
        printer.say()
        printer.say(_no_example(view), "  ")


def _no_example(view: RuleView) -> str:
    row = view.rule.source
    if isinstance(row, Row) and not row.times.least and not row.each:
        return "No logged value can violate this rule: it accepts every value."
    return "No short example: the rule is about the whole log or file."


def print_matches(printer: Printer, rules: Round, matches: Sequence[Rule]) -> None:
    """Several rules, one line each."""
    printer.say(f"{len(matches)} rules of {rules.title}")
    printer.say()
    cells = tuple((rule.id, rule.bound, rule.since) for rule in matches)
    printer.grid(Grid(("Rule", "Constraint", "Since"), cells))


# --- two rounds, and values -----------------------------------------------------------------------


def print_differences(
    printer: Printer, old: Round, new: Round, changes: Sequence[Difference]
) -> None:
    """The changes between two rounds, by group."""
    number = f"{len(changes)} differences" if changes else "no difference"
    printer.say(f"{old.title} to {new.title}: {number}")
    for group, items in groupby(changes, key=lambda change: change.group):
        printer.head(group)
        for change in items:
            printer.say(f"{change.what:<10} {change.name}", "  ")
            for label, text in (("from", change.before), ("to", change.after)):
                if text:
                    printer.say(text, f"    {label:<6}", " " * 10)


def print_settings(
    printer: Printer, title: str, settings: Sequence[Setting], grid: Sequence[dict[str, str]]
) -> None:
    """The legal hyperparameters, with formulas evaluated."""
    printer.say(title)
    printer.say()
    cells = tuple(
        (setting.key, value_text(setting), _allowed_text(setting)) for setting in settings
    )
    printer.grid(Grid(("Key", "Value", "Allowed"), cells))
    if grid:
        printer.head("evaluations")
    for entry in grid:
        printer.say(f"{entry['text']} [{entry['stated_by']}]", "  ", "    ")


def value_text(setting: Setting) -> str:
    """A value in the form of the table."""
    is_number = isinstance(setting.value, int | float) and not isinstance(setting.value, bool)
    value = repr(setting.value) if is_number else show(setting.value)
    if setting.state in ("fixed", "given"):
        return value
    remarks = {"wrong": f"{value} is wrong", "unverified": f"{value} (policy only)"}
    return remarks.get(setting.state, setting.state)


def _allowed_text(setting: Setting) -> str:
    if setting.missing:
        return f"{setting.allowed} (give {', '.join(f'--set {key}=…' for key in setting.missing)})"
    repeats_value = value_text(setting) in (setting.allowed.replace("_", ""), setting.allowed)
    return "" if setting.state == "fixed" and repeats_value else setting.allowed
