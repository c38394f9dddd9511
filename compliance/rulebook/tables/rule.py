"""The rules of a round's tables and checks, for readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from podium.compliance.rulebook.tables.history import RuleKind, since
from podium.compliance.rulebook.tables.tables import Table
from podium.rules.checks import Check
from podium.rules.finding import Severity, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.hindsight import verifier_only
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.round import Round
from podium.rules.table import Line, Row, Times, WholeLogRule

UNCONSTRAINED = "unconstrained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule for readers; `policy` is the policy's bound if it differs.

    The severities are those of a finding in each profile; empty if it is not reported there.
    `varies` describes exceptions of the severity; `message` is the template of a finding's message.
    """

    id: str
    kind: RuleKind
    table: str
    key: str | None = None
    meaning: str
    constraint: str
    policy: str | None = None
    times: str = ""
    stated_by: StatedBy
    since: str = ""
    why: str
    hint: str = ""
    cites: str
    policy_exempt_reason: str = ""
    policy_severity: str
    verifier_severity: str
    varies: str = ""
    message: str = ""
    source: Line | Check | FixedRule | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON data."""
        names = (field.name for field in fields(self) if field.name != "source")
        return {name: getattr(self, name) for name in names}

    @property
    def name(self) -> str:
        """The name of the rule in a table: its key, or the end of its id."""
        if self.kind is RuleKind.ROW:
            return self.key or self.id
        return self.id.removeprefix(f"{self.table}.")

    @property
    def bound(self) -> str:
        """The constraint, with the policy's constraint if it differs."""
        if self.policy is None:
            return self.constraint
        return f"{self.constraint} [policy: {self.policy}]"


# --- rules of tables and checks ---


def rules_of(rules: Round, table: Table) -> list[Rule]:
    """The rules of a table's lines, in order; a target follows its row."""
    return [rule for line in table.lines for rule in _rules_of_line(rules, table, line)]


def _rules_of_line(rules: Round, table: Table, line: Line) -> Iterator[Rule]:
    if isinstance(line, WholeLogRule):
        yield _end_rule(rules, table, line)
        return
    # Rounds without a public verifier (training 0.5, HPC 0.7) have only the policy's bound
    row = line if rules.verified else line.as_policy
    yield _row_rule(rules, table, row, since(rules, table.name, line, RuleKind.ROW))
    if row.some or row.policy_some:
        since_ = since(rules, table.name, line, RuleKind.TARGET)
        yield _target_rule(rules, table, row, since_)


def _row_rule(rules: Round, table: Table, row: Row, first: str) -> Rule:
    differs = row.policy is not None
    policy = row.as_policy if differs else None
    return Rule(
        id=f"{table.name}.{row.name}",
        kind=RuleKind.ROW,
        table=table.name,
        key=row.name,
        meaning=row.key.meaning + (f" ({row.key.unit})" if row.key.unit else ""),
        constraint=cell(row),
        policy=cell(policy) if policy else None,
        times=times_text(row.times),
        since=first,
        source=row,
        stated_by=row.stated_by,
        why=row.why,
        hint=row.hint,
        cites=row.cites or _cites(rules, table),
        policy_exempt_reason=row.policy_exempt_reason,
        **_severities(
            rules, row.stated_by, row.policy_exempt_reason, differs, policy_only=row.policy_severity
        ),
    )


def _target_rule(rules: Round, table: Table, row: Row, first: str) -> Rule:
    policy = row.as_policy.some
    differs = row.policy_some is not None
    return Rule(
        id=f"{table.name}.target",
        kind=RuleKind.TARGET,
        table=table.name,
        key=row.name,
        meaning="quality that at least one record must reach",
        constraint=_all(row.some) or "none",
        policy=(_all(policy) or "no target") if differs else None,
        times="at least once",
        since=first,
        source=row,
        stated_by=row.stated_by,
        why=row.why,
        cites=row.cites or _cites(rules, table),
        policy_exempt_reason=row.policy_exempt_reason,
        **_severities(
            rules, row.stated_by, row.policy_exempt_reason, differs, one_sided=not policy
        ),
    )


def _end_rule(rules: Round, table: Table, end: WholeLogRule) -> Rule:
    return Rule(
        id=f"{table.name}.{end.id}",
        kind=RuleKind.END,
        table=table.name,
        meaning="about the whole log",
        constraint=end.text,
        since=since(rules, table.name, end, RuleKind.END),
        source=end,
        stated_by=end.stated_by,
        why=end.why,
        cites=end.cites or _cites(rules, table),
        policy_exempt_reason=end.policy_exempt_reason,
        **_severities(rules, end.stated_by, end.policy_exempt_reason, False),
    )


def _where_texts_differ(policy: Severity, verifier: Severity) -> str:
    """The severity in the policy profile if only one of policy and verifier rejects."""
    if policy is verifier:
        return f"error, or {policy} if only the policy or only the verifier rejects"
    severities = {"the policy": policy, "the official verifier": verifier}
    parts = [f"{weight} if only {text} rejects" for text, weight in severities.items()]
    return "error; " + ", ".join(part for part in parts if not part.startswith("error"))


def _severities(
    rules: Round,
    stated_by: StatedBy,
    policy_exempt_reason: str,
    differs: bool,
    one_sided: bool = False,
    policy_only: Severity = Severity.WARNING,
) -> dict[str, Any]:
    """The severities in both profiles; `policy_only` applies if only the policy rejects."""
    if stated_by is StatedBy.POLICY:
        policy = policy_only if rules.verified else Severity.ERROR
        return {"policy_severity": policy.value, "verifier_severity": ""}
    policy_text = "error"
    if policy_exempt_reason or one_sided:
        policy_text = verifier_only(rules).value
    elif differs:
        policy_text = _where_texts_differ(policy_only, verifier_only(rules))
    return {"policy_severity": policy_text, "verifier_severity": "error"}


def check_rules(rules: Round, division: str | None = None) -> list[Rule]:
    """The round's checks as rules, optionally of one division."""
    return [
        check_rule(check, since=_first_with(rules, check))
        for check in rules.checks
        if division is None or not check.divisions or division in check.divisions
    ]


def _first_with(rules: Round, check: Check) -> str:
    first = rules
    for older in rules.chain()[1:]:
        # By id: a check with a new wording is the same check
        if check.id not in {candidate.id for candidate in older.checks}:
            break
        first = older
    return first.name


def check_rule(check: Check, *, since: str = "") -> Rule:
    """A check as a rule; `since` is empty for a check of every round."""
    by_verifier = check.stated_by in (StatedBy.BOTH, StatedBy.VERIFIER)
    return Rule(
        id=check.id,
        kind=RuleKind.CHECK,
        table=check.id.partition(".")[0],
        key=check.key,
        meaning=f"{' and '.join(check.divisions) or 'any'} division",
        constraint=check.says,
        since=since,
        source=check,
        stated_by=check.stated_by,
        why=check.why,
        cites=check.cites,
        policy_severity=check.severity.value,
        verifier_severity=check.severity.value if by_verifier else "",
    )


# --- words ---


def cell(row: Row) -> str:
    """The requirements of a row on its records, as one cell of a table."""
    first = [text if text.startswith("first") else f"first {text}" for text in _texts(row.first)]
    return "; ".join((*_texts(row.each), *first)) or UNCONSTRAINED


def _texts(constraints: tuple[Any, ...]) -> list[str]:
    return [constraint.text() for constraint in constraints]


def _all(constraints: tuple[Any, ...]) -> str:
    return " and ".join(_texts(constraints))


def times_text(times: Times) -> str:
    """How often a key must be logged, and alternative keys."""
    if not times.instead:
        return times.text
    return f"{times.text}, or {' or '.join(times.instead)} instead"


def target_text(benchmark: Benchmark) -> str:
    """The quality that a run must reach."""
    if benchmark.target:
        return benchmark.target
    for line in benchmark.closed:
        if isinstance(line, Row) and line.some:
            return f"{line.name} {_all(line.some)}"
    return ""


def _cites(rules: Round, table: Table) -> str:
    benchmark = rules.benchmarks.get(table.benchmark)
    return benchmark.cites if benchmark is not None else ""
