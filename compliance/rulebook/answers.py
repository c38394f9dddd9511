"""The output of `podium rules` in each format."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.reporting.console import print_text
from podium.compliance.reporting.json_text import json_text
from podium.compliance.rulebook.added_rules import added_rules
from podium.compliance.rulebook.changes import differences as between
from podium.compliance.rulebook.coverage import (
    coverage_data,
    coverage_page,
    print_coverage,
)
from podium.compliance.rulebook.explain import explain, find
from podium.compliance.rulebook.key_rules import KeyRules, key_rules, print_key_rules
from podium.compliance.rulebook.markdown import check_table, escape, example_block, table_lines
from podium.compliance.rulebook.pages import (
    benchmark_page,
    benchmark_table,
    count,
    facts,
    rows,
)
from podium.compliance.rulebook.printer import Printer
from podium.compliance.rulebook.tables.rule import Rule, check_rules, rules_of, target_text
from podium.compliance.rulebook.tables.settings import choices, evaluations, settings
from podium.compliance.rulebook.tables.tables import (
    Table,
    divisions,
    own_tables,
    tables,
    tables_for,
)
from podium.compliance.rulebook.text import (
    print_benchmarks,
    print_check_table,
    print_checks,
    print_differences,
    print_legend,
    print_matches,
    print_page,
    print_settings,
    print_tables,
    print_view,
    value_text,
)
from podium.logging_spec.keys import known, nearest
from podium.logging_spec.limits import BeyondLimitError, read_json
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.model.round import Round

SCHEMA = "podium.rules/1"


def named(rules: Round, name: str) -> str:
    """The benchmark's name; raises UsageFault with similar names or other rounds."""
    if name in rules.benchmarks:
        return name
    sentence = f"{name} is not a benchmark of {rules.title}"
    other_rounds = [r for u in USAGES for r in rounds_of(u).values() if name in r.benchmarks]
    if other_rounds:
        last = other_rounds[-1]
        usage = f"--usage {last.usage} " if last.usage != rules.usage else ""
        rounds = ", ".join(candidate.title for candidate in other_rounds)
        raise UsageFault(f"{sentence}; it is in {rounds}: try {usage}--round {last.name}")
    matches = difflib.get_close_matches(name, rules.benchmarks, n=2)
    if matches:
        raise UsageFault(f"{sentence}; did you mean {' or '.join(matches)}?")
    raise UsageFault(f"{sentence}; expected one of {', '.join(rules.benchmarks)}")


def _json(round_: Round, **data: Any) -> None:
    head = {"schema": SCHEMA, "usage": round_.usage, "round": round_.name}
    print_text(json_text(head | data))


def _print(lines: list[str]) -> None:
    print_text("\n".join(lines).rstrip("\n") + "\n")


# --- list and show --------------------------------------------------------------------------------


def benchmarks(rules: Round, form: str) -> None:
    """The benchmarks of a round."""
    if form == "json":
        _json(rules, benchmarks=[_benchmark_data(rules, name) for name in rules.benchmarks])
    elif form == "markdown":
        _print([f"# Benchmarks of {rules.title}", "", *benchmark_table(rules)])
    else:
        print_benchmarks(Printer(), rules)


def _benchmark_data(rules: Round, name: str) -> dict[str, Any]:
    benchmark = rules.benchmarks[name]
    return {
        "name": name,
        "title": benchmark.title,
        "runs": benchmark.runs,
        "target": target_text(benchmark),
        "listed": name not in rules.retired_with_rules,
        "rules": {division or "all": count(rules, name, division) for division in divisions(rules)},
    }


def rules_of_logs(rules: Round, benchmark: str | None, division: str | None, form: str) -> None:
    """All rules for a benchmark's logs, or of the whole round without a benchmark."""
    listed_tables = _tables(rules, benchmark, division)
    checks = check_rules(rules, division)
    if form == "json":
        row_data = [rule.to_dict() for table in listed_tables for rule in rules_of(rules, table)]
        other_rules = (*checks, *added_rules())
        _json(rules, benchmark=benchmark, rules=row_data + [rule.to_dict() for rule in other_rules])
    elif form == "markdown":
        _print(_markdown(rules, benchmark, listed_tables, checks))
    else:
        printer = Printer()
        printer.say(_title(rules, benchmark))
        print_tables(printer, rules, listed_tables)
        print_checks(printer, rules, division)
        print_check_table(printer, "rules of plug-ins and of podium.toml", added_rules())
        print_legend(printer)


def _title(rules: Round, benchmark: str | None) -> str:
    if benchmark is None:
        return f"every rule of {rules.title}"
    return f"the rules for a log of {benchmark} in {rules.title}"


def _tables(rules: Round, benchmark: str | None, division: str | None) -> list[Table]:
    division_names = (division,) if division and rules.divided else divisions(rules)
    if benchmark is None:
        all_tables = (table for table in tables(rules).values() if not table.hidden)
        return [table for table in all_tables if table.division in ("", *division_names)]
    by_name: dict[str, Table] = {}
    for division_name in division_names:
        for table in tables_for(rules, benchmark, division_name):
            # One division may override a row of the common table that the other does not override
            previous = by_name.setdefault(table.name, table)
            if len(table.lines) > len(previous.lines):
                by_name[table.name] = table
    common = by_name.pop("common", None)
    return [*by_name.values(), *([common] if common else [])]


def _markdown(
    rules: Round, benchmark: str | None, listed_tables: Sequence[Table], checks: Sequence[Rule]
) -> list[str]:
    title = _title(rules, benchmark)
    lines = [f"# {title[:1].upper()}{title[1:]}"]
    for table in listed_tables:
        if table.lines:
            condition = f" ({table.when})" if table.when else ""
            lines += ["", f"## {table.name}{condition}", "", *rows(rules_of(rules, table))]
    if checks:
        lines += ["", "## Checks", "", *check_table(checks)]
    if added := added_rules():
        lines += ["", "## Rules of plug-ins and of podium.toml", "", *check_table(added)]
    return lines


def page(rules: Round, name: str, form: str) -> None:
    """One benchmark's page."""
    benchmark_tables = own_tables(rules, name)
    if form == "json":
        row_data = [rule.to_dict() for table in benchmark_tables for rule in rules_of(rules, table)]
        data = {**_benchmark_data(rules, name), "facts": facts(rules, name), "rules": row_data}
        _json(rules, benchmark=data, checks=[rule.to_dict() for rule in check_rules(rules)])
    elif form == "markdown":
        print_text(benchmark_page(rules, name))
    else:
        print_page(Printer(), rules, name)


def keys(rules: Round, benchmark: str, division: str | None, form: str) -> None:
    """The rules for each key in a benchmark's logs."""
    entries = key_rules(rules, benchmark, division)
    if form == "json":
        _json(rules, benchmark=benchmark, keys=[entry.to_dict() for entry in entries])
    elif form == "markdown":
        _print(_keys_markdown(f"Keys of {benchmark}, {rules.title}", entries))
    else:
        print_key_rules(Printer(), rules, benchmark, entries)


def _keys_markdown(title: str, entries: Sequence[KeyRules]) -> list[str]:
    heads = ("Key", "Division", "State", "Rules", "Cites")
    return [f"# {title}", "", *table_lines(heads, map(_key_cells, entries))]


def _key_cells(entry: KeyRules) -> tuple[str, ...]:
    ids = ", ".join(f"`{rule}`" for rule in entry.rules)
    return (escape(entry.key), entry.division or "all", entry.state.value, ids, entry.cites)


def clauses(form: str) -> None:
    """Every clause of the documents, and the rules that implement it."""
    if form == "json":
        print_text(json_text({"schema": SCHEMA, **coverage_data()}))
    elif form == "markdown":
        print_text(coverage_page())
    else:
        print_coverage(Printer())


# --- explain and diff -----------------------------------------------------------------------------


def explained(rules: Round, selector: str, form: str) -> None:
    """The rules that an id, a glob or a key selects."""
    matches = find(rules, selector)
    has_several = len({rule.id for rule in matches}) > 1
    if form == "json":
        _json(rules, rules=[explain(rules, rule).to_dict() for rule in matches])
    elif form == "markdown":
        _print([line for rule in matches for line in _explained_markdown(rules, rule)])
    elif has_several:
        print_matches(Printer(), rules, matches)
    else:
        printer = Printer()
        for rule in matches:
            print_view(printer, explain(rules, rule))


def _explained_markdown(rules: Round, rule: Rule) -> list[str]:
    view = explain(rules, rule)
    lines = [f"## `{rule.id}`", "", f"{escape(rule.meaning)}.", ""]
    lines += [f"- {label}: {escape(text)}" for label, text in view.labelled()]
    lines += example_block("Violation", view.bad)
    return [*lines, *example_block("Fixed", view.good), ""]


def differences(old: Round, new: Round, form: str) -> None:
    """The changes between two rounds."""
    changes = between(old, new)
    if form == "json":
        _json(new, since=old.name, differences=[change.to_dict() for change in changes])
    elif form == "markdown":
        lines = [f"# {old.title} to {new.title}"]
        for group, items in groupby(changes, key=lambda change: change.group):
            cells = ((x.what, x.name, escape(x.before), escape(x.after)) for x in items)
            lines += ["", f"## {group}", "", *table_lines(("What", "Name", "From", "To"), cells)]
        _print(lines if changes else [*lines, "", "No difference."])
    else:
        print_differences(Printer(), old, new, changes)


# --- values and schemas ---------------------------------------------------------------------------


def given_values(batch: int | None, settings: Sequence[str]) -> dict[str, Any]:
    """The values of the options; raises UsageFault for an unknown key."""
    values: dict[str, Any] = {} if batch is None else {"global_batch_size": batch}
    for setting in settings:
        key, separator, text = setting.partition("=")
        key = key.strip()
        if not separator or not key:
            raise UsageFault(f"--set: expected KEY=VALUE, got {setting}")
        # A misspelled key would otherwise be ignored, and every value would look allowed
        if known(key) is None:
            nearest_key = nearest(key)
            hint = f"; did you mean {nearest_key.name}?" if nearest_key else ""
            raise UsageFault(f"--set: {key} is not a standard log key{hint}")
        try:
            # A bare word needs no quotes, which a shell removes: text that is not JSON is a string
            values[key] = read_json(text)
        except BeyondLimitError as error:
            raise UsageFault(f"--set: cannot read {key}: {error}") from None
        except ValueError:
            values[key] = text
    return values


def hyperparameters(
    rules: Round, name: str, division: str, values: Mapping[str, Any], form: str
) -> bool:
    """Print the values that a benchmark allows; return whether all given values are legal."""
    if not rules.has_rules(division, name):
        raise UsageFault(f"{rules.title} has no rules for {name} in the {division} division")
    division = division if rules.divided else ""
    listed_settings = settings(rules, name, division, values)
    grid = evaluations(rules, name, division, values)
    title = f"{name}, {rules.title}, {division or 'closed'} division"
    if form == "json":
        data = [setting.to_dict() for setting in listed_settings]
        _json(rules, benchmark=name, division=division, settings=data, evaluations=grid)
    elif form == "markdown":
        cells = (
            (setting.key, escape(value_text(setting)), escape(setting.allowed), f"`{setting.rule}`")
            for setting in listed_settings
        )
        lines = [f"# {title}", "", *table_lines(("Key", "Value", "Allowed", "Rule"), cells)]
        times = [f"- {escape(entry['text'])} (`{entry['stated_by']}`)" for entry in grid]
        _print([*lines, *(["", "Evaluations:", "", *times] if grid else [])])
    else:
        printer = Printer()
        print_settings(printer, title, listed_settings, grid)
        for hint in choices(rules, name, division, values):
            printer.say(hint)
    return all(setting.state != "wrong" for setting in listed_settings)
