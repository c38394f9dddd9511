"""The rules for each key in a benchmark's logs, or the section that leaves the key free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from podium.compliance.rulebook.printer import Grid, Printer
from podium.compliance.rulebook.tables.history import RuleKind
from podium.compliance.rulebook.tables.rule import UNCONSTRAINED, Rule, check_rules, rules_of
from podium.compliance.rulebook.tables.tables import divisions, tables_for
from podium.logging_spec import keys as k
from podium.rules.catalogue import find_round
from podium.rules.checks import Check
from podium.rules.citations import COMPLIANCE_CHECKER
from podium.rules.derived_records import GATHERED
from podium.rules.model.round import Round
from podium.rules.published_keys import keys_of


class State(StrEnum):
    """The constraint on the values of a key."""

    CHECKED = "checked"
    REFERENCE = "as reference"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class KeyRules:
    """One key in the logs of a benchmark and division.

    `rules` are the rules about it; for a free key, the rules that only require that it is logged.
    `cites` is the section that leaves it free, or requires the value of the reference. `logged_in`
    are the rounds whose published logs have it.
    """

    key: str
    division: str
    state: State
    rules: tuple[str, ...]
    cites: str
    logged_in: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The key as JSON data."""
        return asdict(self)


def key_rules(rules: Round, benchmark: str, division: str | None = None) -> list[KeyRules]:
    """Every key of the published logs and of the tables, by division and name."""
    division_names = (division,) if division and rules.divided else divisions(rules)
    return [entry for name in division_names for entry in _of_division(rules, benchmark, name)]


def _of_division(rules: Round, benchmark: str, division: str) -> Iterator[KeyRules]:
    logged_keys = _logged(rules, benchmark)
    rows = _rows(rules, benchmark, division)
    checks = _checks(rules, division)
    for key in sorted({*logged_keys, *rows} - {GATHERED}):
        matches = [*rows.get(key, ()), *checks.get(key, ())]
        if not all(map(_asks_only, matches)):
            state, cites = State.CHECKED, ""
        elif matches:
            state, cites = State.FREE, matches[0].cites
        else:
            state, cites = _left(rules, benchmark, division, key)
        ids = tuple(dict.fromkeys(rule.id for rule in matches))
        yield KeyRules(key, division, state, ids, cites, logged_keys.get(key, ()))


def _logged(rules: Round, benchmark: str) -> Mapping[str, tuple[str, ...]]:
    """The keys of published logs in the same format, with their rounds."""
    # Logs of later rounds use the later name
    lineage = rules.benchmark(benchmark).lineage
    published = {**keys_of(rules.usage, lineage), **keys_of(rules.usage, benchmark)}
    same_format = {
        name: tuple(
            r for r in round_names if find_round(rules.usage, r).generation == rules.generation
        )
        for name, round_names in published.items()
    }
    return {name: round_names for name, round_names in same_format.items() if round_names}


def _rows(rules: Round, benchmark: str, division: str) -> Mapping[str, list[Rule]]:
    by_key: dict[str, list[Rule]] = defaultdict(list)
    for table in tables_for(rules, benchmark, division):
        for rule in rules_of(rules, table):
            if rule.key is not None:
                by_key[rule.key].append(rule)
    return by_key


def _checks(rules: Round, division: str) -> Mapping[str, list[Rule]]:
    by_key: dict[str, list[Rule]] = defaultdict(list)
    for rule in check_rules(rules, division or None):
        for key in _looked_at(rule):
            by_key[key].append(rule)
    return by_key


def _looked_at(rule: Rule) -> set[str]:
    """The keys that a check is about; checks of types and spelling are about no key."""
    if not isinstance(rule.source, Check) or rule.table == "log":
        return set()
    keys = {key for watch in rule.source.watches for key in watch.keys}
    return keys | ({rule.key} if rule.key else set())


def _asks_only(rule: Rule) -> bool:
    """Whether a rule requires that a key is logged, with any value."""
    bounds = {rule.constraint, rule.policy or rule.constraint}
    return rule.kind is RuleKind.ROW and bounds == {UNCONSTRAINED}


def _left(rules: Round, benchmark: str, division: str, key: str) -> tuple[State, str]:
    """The state of a key without rules, and the section that defines it."""
    standard_key = k.known(key)
    if standard_key is None or standard_key.role not in ("hyperparameter", "statistic"):
        # Only the official program defines the treatment of keys that it does not know
        return State.FREE, COMPLIANCE_CHECKER
    if division == "open":
        document = "HPC rules" if rules.usage == "hpc" else "training rules"
        return State.FREE, f"{document}, Open Division"
    return State.REFERENCE, rules.benchmark(benchmark).cites


def print_key_rules(
    printer: Printer, rules: Round, benchmark: str, entries: list[KeyRules]
) -> None:
    """The keys on a terminal, by division, and a legend."""
    for division in dict.fromkeys(entry.division for entry in entries):
        of_division = [entry for entry in entries if entry.division == division]
        printer.head(f"keys of {benchmark}, {f'{rules.title} {division}'.strip()}")
        cells = tuple(
            (entry.key, entry.state.value, "; ".join(_texts(entry))) for entry in of_division
        )
        printer.grid(Grid(("Key", "State", "By"), cells))
    printer.say()
    printer.say(
        "Checked: rules constrain its value. Free: the named section allows any value; a rule "
        "may require that the key is logged. As reference: not a hyperparameter that may be "
        "tuned, so reviewers compare it with the reference by hand. podium also checks the type "
        "and spelling of every key (log.*), and that all runs of a result have the same settings."
    )


def _texts(entry: KeyRules) -> Iterator[str]:
    yield from entry.rules
    if entry.cites:
        yield f"by {entry.cites}"
