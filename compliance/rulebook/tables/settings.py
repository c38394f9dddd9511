"""The hyperparameters that a benchmark allows, with formulas evaluated for a batch size."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from podium.compliance.rulebook.tables.history import RuleKind
from podium.compliance.rulebook.tables.rule import Rule, rules_of
from podium.compliance.rulebook.tables.tables import tables_for
from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.constraints import bounds as c
from podium.rules.constraints import formula
from podium.rules.constraints.constraint import Constraint
from podium.rules.constraints.evaluation_points import OnSamples
from podium.rules.model.round import Round
from podium.rules.run import NotLogged, Run, as_number
from podium.rules.table import Row

ROLES = ("hyperparameter", "statistic")
"""The roles of keys that are settings of a run."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One key and its allowed values.

    `state` is fixed, given, wrong (given but not allowed), unverified (given and allowed by the
    policy, but rejected by the official verifier), bounded, free, or depends (on the keys in
    `missing`).
    """

    key: str
    state: str
    value: Any
    allowed: str
    missing: tuple[str, ...]
    stated_by: str
    rule: str
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """The setting as JSON data."""
        return asdict(self)


def settings(
    rules: Round, benchmark: str, division: str, given_values: Mapping[str, Any]
) -> list[Setting]:
    """Every hyperparameter of a benchmark, in the order of its table."""
    values = dict(given_values)
    # A fixed value may be an input of the next formula
    while True:
        results = [*_settings(rules, benchmark, division, given_values, _run_of(values))]
        fixed = {setting.key: setting.value for setting in results if setting.state == "fixed"}
        if not fixed.keys() - values.keys():
            return results
        values |= fixed


def _run_of(values: Mapping[str, Any]) -> Run:
    records = [Record(key, 0.0, value, {}) for key, value in values.items()]
    run = Run(records)
    # Without a log, keys have no order, and computed floats need not match to the last bit
    run.ordered = run.exact = False
    run.position = len(records)
    return run


def _settings(
    rules: Round, benchmark: str, division: str, given_values: Mapping[str, Any], run: Run
) -> Iterator[Setting]:
    rows: dict[str, Rule] = {}
    for rule in _rows(rules, benchmark, division, run):
        # Innermost tables come first, and the first that lists a key decides it
        rows.setdefault(rule.name, rule)
    for name, rule in rows.items():
        assert isinstance(rule.source, Row)
        setting = _setting(rule, rule.source, given_values, run)
        if setting.state == "bounded" and name == k.NUM_PROMPTS_PER_STEP.name:
            setting = _with_prompts(setting, run)
        yield setting


def _with_prompts(prompts: Setting, run: Run) -> Setting:
    """The prompts of a step, computed from the batch size and the roll-outs of each prompt."""
    batch = run.number(k.GLOBAL_BATCH_SIZE.name)
    per_prompt = run.number(k.NUM_GENERATIONS_PER_PROMPT.name)
    if batch is None or not per_prompt or batch % per_prompt:
        return prompts
    allowed = f"{k.GLOBAL_BATCH_SIZE.name} / {k.NUM_GENERATIONS_PER_PROMPT.name}"
    return replace(prompts, state="fixed", value=int(batch // per_prompt), allowed=allowed)


def _rows(rules: Round, benchmark: str, division: str, run: Run) -> Iterator[Rule]:
    definition = rules.benchmarks[benchmark]
    variant_names = {v.name for v in definition.variants if run.value(v.chosen_by.name) == v.value}
    for table in tables_for(rules, benchmark, division):
        if table.when and table.name.rpartition(".")[2] not in variant_names:
            continue
        for rule in rules_of(rules, table):
            row = rule.source
            if rule.kind is RuleKind.ROW and isinstance(row, Row) and row.key.role in ROLES:
                yield rule


def _setting(rule: Rule, row: Row, given_values: Mapping[str, Any], run: Run) -> Setting:
    # Both texts together: planned values should pass both
    constraints = (*row.each, *(row.policy or ()))
    state, value, missing = "free", given_values.get(row.name), _missing(constraints, row.name, run)
    if row.name in given_values:
        state = _state(constraints, row.as_policy.each, value, run, row.name)
    elif (choice := _fixed(constraints, run)) is not None:
        state, value = "fixed", choice
    elif missing:
        state = "depends"
    elif constraints:
        state = "bounded"
    allowed = _allowed(constraints, run)
    return Setting(
        row.name, state, value, allowed, missing, row.stated_by.value, rule.id, rule.meaning
    )


def _state(
    constraints: tuple[Constraint, ...],
    policy: tuple[Constraint, ...],
    value: Any,
    run: Run,
    key: str,
) -> str:
    """The state of a given value."""
    if _allows(constraints, value, run, key):
        return "given"
    return "unverified" if _allows(policy, value, run, key) else "wrong"


def choices(
    rules: Round, benchmark: str, division: str, given_values: Mapping[str, Any]
) -> Iterator[str]:
    """The values that add keys, one sentence for each such key."""
    definition = rules.benchmarks[benchmark]
    if division == "open":
        return
    for key in dict.fromkeys(variant.chosen_by.name for variant in definition.variants):
        values = [v.value for v in definition.variants if v.chosen_by.name == key]
        if given_values.get(key) not in values:
            yield f"More keys follow from --set {key}={' or '.join(values)}."


def evaluations(
    rules: Round, benchmark: str, division: str, given_values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The evaluation schedule, computed as far as the batch size allows."""
    run = _run_of(given_values)
    entries: list[dict[str, Any]] = [
        {"stated_by": rule.id, "text": constraint.when(run)}
        for table in tables_for(rules, benchmark, division)
        for rule in rules_of(rules, table)
        if rule.kind is RuleKind.ROW and isinstance(rule.source, Row)
        for constraint in (*rule.source.each, *rule.source.first)
        if isinstance(constraint, OnSamples)
    ]
    schedule = rules.limits.evaluates.get(benchmark) if division != "open" else None
    if schedule is None:
        return entries
    batch = as_number(given_values.get(k.GLOBAL_BATCH_SIZE.name))
    points = schedule.due(batch) if batch is not None else ()
    entry: dict[str, Any] = {"stated_by": "policy", "text": schedule.text}
    for point in points[:1]:
        start = (
            "" if point.first is None else f"first at {formula.show(round(point.first, 6))}, then "
        )
        grid = f"{start}every {formula.show(round(point.interval, 6))} {point.unit}"
        entry |= {"first": point.first, "interval": point.interval, "unit": point.unit}
        entry["text"] = grid if schedule.text.startswith(grid) else f"{grid}: {schedule.text}"
    return [*entries, entry]


def _missing(constraints: tuple[Constraint, ...], name: str, run: Run) -> tuple[str, ...]:
    needed_keys = dict.fromkeys(key for constraint in constraints for key in constraint.needs())
    return tuple(key for key in needed_keys if key != name and key not in run.where)


def _allowed(constraints: tuple[Constraint, ...], run: Run) -> str:
    """The allowed values in words, with formulas evaluated."""
    bounds = []
    for constraint in constraints:
        if isinstance(constraint, c.computes):
            continue
        missing = _missing((constraint,), "", run)
        bounds.append(constraint.text() if missing else constraint.expected(run))
    return "; ".join(dict.fromkeys(bounds)) or "any value"


def _allows(constraints: tuple[Constraint, ...], value: Any, run: Run, key: str) -> bool:
    """Whether a given value obeys all constraints that can be tested."""
    run.position = len(run.records)
    for constraint in constraints:
        try:
            if not constraint.holds(Record(key, 0.0, value, {}), run):
                return False
        except NotLogged:
            continue
        except Exception:
            return False
    return True


def _fixed(constraints: tuple[Constraint, ...], run: Run) -> Any:
    """The only value that obeys all constraints; None if there are none or several."""
    for constraint in constraints:
        value = None
        with contextlib.suppress(Exception):  # a formula of values that are not given
            value = constraint.only_value(run)
        for candidate in _plain(value) if value is not None else ():
            if _allows(constraints, candidate, run, ""):
                return candidate
    return None


def _plain(value: Any) -> Iterator[Any]:
    """The shortest decimal forms of a rounded float, then the number itself."""
    if isinstance(value, float) and math.isfinite(value) and value:
        # A formula may yield 0.30000000000000004 where people log 0.3
        for digits in range(1, 10):
            short = float(f"{value:.{digits}g}")
            if math.isclose(short, value, rel_tol=1e-12):
                yield short
                break
    yield value
