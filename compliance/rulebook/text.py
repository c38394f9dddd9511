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


def print_benchmarks(to: Printer, rules: Round) -> None:
    """The benchmarks of a round."""
    to.say(f"{rules.title}: {len(rules.benchmarks)} benchmarks")
    to.say()
    heads = [division.capitalize() or "Rules" for division in divisions(rules)]
    cells = tuple(
        (
            f"{name} (retired)" if name in rules.retired_with_rules else name,
            known.title,
            str(known.runs),
            target_text(known),
            *(str(count(rules, name, division)) for division in divisions(rules)),
        )
        for name, known in rules.benchmarks.items()
    )
    numbers = (2, *range(4, 4 + len(heads)))
    to.grid(Grid(("Benchmark", "Title", "Runs", "Target", *heads), cells, numbers))
    to.say()
    to.say(f"`podium rules show {cells[0][0]} --round {rules.name}` shows one of them.")


def print_tables(to: Printer, rules: Round, found: Iterable[Table]) -> None:
    """Tables of rules, each under its name."""
    for table in found:
        if table.lines:
            to.head(f"{table.name}.*", table.when)
            print_rules(to, rules_of(rules, table))


def print_rules(to: Printer, found: Iterable[Rule]) -> None:
    """Rules of one table."""
    cells = tuple(
        (rule.name, _bound(rule), short_times(rule), rule.stated_by.value, rule.since)
        for rule in found
    )
    to.grid(Grid(("Key", "Constraint", "Times", "Stated by", "Since"), cells))


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


def print_checks(to: Printer, rules: Round, division: str | None = None) -> None:
    """The checks of a round."""
    print_check_table(to, "checks", check_rules(rules, division))


def print_check_table(to: Printer, title: str, found: Sequence[Rule]) -> None:
    """Rules that are not table cells, if there are any."""
    if found:
        to.head(title)
        cells = tuple((rule.id, rule.constraint, rule.policy_severity) for rule in found)
        to.grid(Grid(("Rule", "Says", "Severity"), cells))


def print_legend(to: Printer) -> None:
    """The legend of the tables, and further commands."""
    to.say()
    to.say(
        "A rule's id is its table's name and its key. Times: 1 exactly once, 1+ at least once, any "
        "number. Since: the first round with the rule in its present form. See `podium rules "
        "explain ID` for details."
    )


def print_page(to: Printer, rules: Round, name: str) -> None:
    """One benchmark: its facts, its tables, the differences of the two texts, its checks."""
    known = rules.benchmarks[name]
    to.say(f"{name}, {rules.title}: {known.title}")
    for fact in facts(rules, name):
        to.say(fact, "  ", "    ")
    own = own_tables(rules, name)
    print_tables(to, rules, own)
    found = [(r, text) for t in own for r in rules_of(rules, t) if (text := difference(r))]
    if found:
        to.head("differences of verifier and policy")
    for rule, text in found:
        to.say(f"{rule.id}: {text}", "  ", "    ")
    print_checks(to, rules)
    print_legend(to)


# --- one rule -------------------------------------------------------------------------------------


def print_view(to: Printer, view: RuleView) -> None:
    """One rule: its requirement, its source, its first round; a violation and its fix."""
    rule = view.rule
    to.head(rule.id)
    to.say(rule.meaning, "  ")
    to.say()
    for label, text in view.labelled():
        to.say(text, f"  {label:<11}", " " * 13)
    absent = (f"no {rule.key} at all",) if view.absent else ()
    for label, lines in (("violation", view.bad or absent), ("fixed", view.good)):
        if lines:
            to.say()
            to.say(f"{label}:", "  ")
        for line in lines:
            to.say(line, "    ", "      ")
    if not (view.bad or view.good or absent):
        to.say()
        to.say(_no_example(view), "  ")


def _no_example(view: RuleView) -> str:
    row = view.rule.source
    if isinstance(row, Row) and not row.times.least and not row.each:
        return "No logged value can violate this rule: it only names the key."
    return "No short example: the rule is about the whole log or file."


def print_matches(to: Printer, rules: Round, found: Sequence[Rule]) -> None:
    """Several rules, one line each."""
    to.say(f"{len(found)} rules of {rules.title}")
    to.say()
    cells = tuple((rule.id, rule.bound, rule.since) for rule in found)
    to.grid(Grid(("Rule", "Constraint", "Since"), cells))


# --- two rounds, and values -----------------------------------------------------------------------


def print_differences(to: Printer, old: Round, new: Round, found: Sequence[Difference]) -> None:
    """The changes between two rounds, by group."""
    number = f"{len(found)} differences" if found else "no difference"
    to.say(f"{old.title} to {new.title}: {number}")
    for group, items in groupby(found, key=lambda each: each.group):
        to.head(group)
        for each in items:
            to.say(f"{each.what:<10} {each.name}", "  ")
            for label, text in (("from", each.before), ("to", each.after)):
                if text:
                    to.say(text, f"    {label:<6}", " " * 10)


def print_settings(
    to: Printer, title: str, found: Sequence[Setting], grid: Sequence[dict[str, str]]
) -> None:
    """The legal hyperparameters, with formulas evaluated."""
    to.say(title)
    to.say()
    cells = tuple((each.key, value_text(each), _allowed_text(each)) for each in found)
    to.grid(Grid(("Key", "Value", "Allowed"), cells))
    if grid:
        to.head("evaluations")
    for when in grid:
        to.say(f"{when['text']} [{when['stated_by']}]", "  ", "    ")


def value_text(each: Setting) -> str:
    """A value in the form of the table."""
    plain = isinstance(each.value, int | float) and not isinstance(each.value, bool)
    value = repr(each.value) if plain else show(each.value)
    if each.state in ("fixed", "given"):
        return value
    said = {"wrong": f"{value} is wrong", "unverified": f"{value} (policy only)"}
    return said.get(each.state, each.state)


def _allowed_text(each: Setting) -> str:
    if each.missing:
        return f"{each.allowed} (give {', '.join(f'--set {key}=…' for key in each.missing)})"
    same = value_text(each) in (each.allowed.replace("_", ""), each.allowed)
    return "" if each.state == "fixed" and same else each.allowed
