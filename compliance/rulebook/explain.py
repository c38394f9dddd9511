"""A rule for readers: its bound, its source, its first round, a violation, and the fix.

`RuleView` is the content of the terminal, Markdown and JSON output.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.rulebook.added_rules import added_rules
from podium.compliance.rulebook.catalogue import all_rules, rounds_with
from podium.compliance.rulebook.rates import rates
from podium.compliance.rulebook.tables.examples import Example, example
from podium.compliance.rulebook.tables.history import RuleKind
from podium.compliance.rulebook.tables.rule import Rule
from podium.compliance.rulebook.tables.tables import tables
from podium.logging_spec.keys import POINT_IN_TIME as POINT
from podium.logging_spec.reader.record import TOKEN, Record
from podium.rules.catalogue import USAGES
from podium.rules.checks import Check
from podium.rules.derived_records import GATHERED
from podium.rules.finding import StatedBy
from podium.rules.fixed.fixed_rule import Example as FixedExample
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round
from podium.rules.table import Row

MOST_SHOWN = 4
"""Maximum lines of an example; further lines at its start are omitted."""

NEAR = 0.6
"""Minimum similarity of an id that is suggested for an unknown id."""


STATED_BY = {
    StatedBy.BOTH: "the official verifier and the policy",
    StatedBy.VERIFIER: "the official verifier only",
    StatedBy.POLICY: "the policy only; the official verifier does not check it",
    StatedBy.PODIUM: "podium only; not in the policy or the verifier",
    StatedBy.PLUGIN: "a plug-in",
    StatedBy.HOUSE: "a podium.toml",
}


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule in one round, with an example that violates it and an example that obeys it.

    An example is a few lines of a log, or edits of a complete submission.
    """

    rules: Round
    rule: Rule
    bad: tuple[str, ...]
    good: tuple[str, ...]
    absent: bool = False
    """The fault is a missing key, which has no bad line."""

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON data."""
        rule, rate = self.rule.to_dict(), rates().of(self.rule.id)
        fires_on = None if rate is None else rate.to_dict()
        return {**rule, "bad": list(self.bad), "good": list(self.good), "fires_on": fires_on}

    def labelled(self) -> Iterator[tuple[str, str]]:
        """The facts about the rule: (label, text)."""
        rule, rate = self.rule, rates().of(self.rule.id)
        if rule.policy is None:
            yield (
                "must be" if rule.kind in (RuleKind.ROW, RuleKind.TARGET) else "says",
                rule.constraint,
            )
        else:
            yield from (("verifier", rule.constraint), ("policy", rule.policy))
        disputed = rule.policy_exempt_reason
        verifier = rule.verifier_severity or "not reported"
        labelled = (
            ("logged", rule.times),
            ("message", rule.message),
            ("stated by", self._stated_by),
            ("why", rule.why),
            ("disputed", disputed if disputed != rule.why else ""),
            ("since", f"{self.rules.usage} {rule.since}" if rule.since else "every round"),
            ("cites", rule.cites),
            ("severity", f"{rule.policy_severity} (policy profile); {verifier} (verifier profile)"),
            ("varies", rule.varies),
            ("help", rule.hint),
            ("fires on", f"{rate.text} (measured on {rates().source})" if rate else ""),
        )
        yield from ((label, text) for label, text in labelled if text)

    @property
    def _stated_by(self) -> str:
        # Faults of podium itself have no source
        if self.rule.kind is RuleKind.INTERNAL:
            return ""
        # Programs that check trees belong to no round: the same official programs serve all rounds
        if not self.rules.verified and self.rule.stated_by in (StatedBy.POLICY, StatedBy.BOTH):
            return "the policy; no verifier is public"
        return STATED_BY[self.rule.stated_by]


def explain(rules: Round, rule: Rule) -> RuleView:
    """A rule with its example, if one can be made."""
    if isinstance(rule.source, Check):
        bad, good = rule.source.bad, rule.source.good
        return RuleView(rules, rule, _lines(bad), _lines(good))
    if isinstance(rule.source, FixedRule):
        source = rule.source
        return RuleView(rules, rule, example_lines(source.bad), example_lines(source.good))
    sample = example_of(rules, rule)
    if sample is None:
        return RuleView(rules, rule, (), ())
    benchmark = rules.benchmarks.get(tables(rules)[rule.table].benchmark)
    unit = benchmark.gathers if benchmark else ""
    bad_lines, good_lines = (
        _rendered(_apart(records, unit), rules) for records in (sample.bad, sample.good)
    )
    return RuleView(rules, rule, bad_lines, good_lines, absent=not sample.bad)


def example_of(rules: Round, rule: Rule) -> Example | None:
    """Records that break the rule of a row, and records that obey it."""
    if not isinstance(rule.source, Row):
        return None
    return example(rule.source, _known(rules, rule.table), rule.kind is RuleKind.TARGET)


def _known(rules: Round, name: str) -> dict[str, Row]:
    """The rows of the other keys of an example, innermost last."""
    all_tables = tables(rules)
    table = all_tables[name]
    scope_name = f"{table.division}.{table.benchmark}".strip(".")
    rows: dict[str, Row] = {}
    # As in the official verifier, the last scope that lists a key decides it
    for outer in dict.fromkeys(("common", table.division, scope_name, name)):
        if outer in all_tables:
            rows |= {line.name: line for line in all_tables[outer].lines if isinstance(line, Row)}
    return rows


def example_lines(example: FixedExample) -> tuple[str, ...]:
    """The lines of a fixed rule's example: its edits, or its sentence."""
    return _lines(example) if isinstance(example, str) else tuple(map(str, example))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines())


def _apart(records: tuple[Record, ...], unit: str) -> tuple[Record, ...]:
    """The log lines of a record that only a checker makes: one line for each metric."""
    lines: list[Record] = []
    for index, record in enumerate(records):
        if record.key != GATHERED:
            lines.append(record)
            continue
        for metric, value in record.value.items():
            metadata = {"metric": metric, unit: 512_000 * (index + 1)}
            if metric != unit:
                lines.append(Record("eval_accuracy", record.time_ms, value, metadata, POINT, ""))
    return tuple(lines)


def _rendered(records: tuple[Record, ...], rules: Round) -> tuple[str, ...]:
    # The end is kept: the start only sets the keys that the record needs
    lines = [line_of(record, rules.generation) for record in records[-MOST_SHOWN:]]
    return ("…", *lines) if len(records) > MOST_SHOWN else tuple(lines)


def line_of(record: Record, generation: str) -> str:
    """A record as a log line in the format of a round."""
    if generation == "mlpv":
        from podium.logging_spec.reader.dialects import render_v05

        name = record.namespace or "resnet"
        return render_v05(name, record.time_ms / 1000, "train.py", 1, record.key, record.value)
    if generation == "mll":
        from podium.logging_spec.reader.dialects import render_v06

        return render_v06(record.time_ms / 1000, record.key, record.value, record.metadata)
    fields = ("namespace", "time_ms", "event_type", "key", "value", "metadata")
    body = {name: getattr(record, name) for name in fields}
    body["time_ms"] = round(record.time_ms)
    return f"{TOKEN} {json.dumps(body)}"


# --- ids ------------------------------------------------------------------------------------------


def find(rules: Round, selector: str) -> list[Rule]:
    """The rules of an old or new id, a glob or a bare key; raises UsageFault with similar ids."""
    # Reports print ids in brackets, and people paste them
    selector = selector.strip().strip("[]")
    candidates = (*all_rules(rules), *added_rules())
    # The narrowest interpretation first: a bare key may name a rule in every table
    for matches in (
        [rule for rule in candidates if selector == rule.id],
        [rule for rule in candidates if fnmatch.fnmatchcase(rule.id, selector)],
        [rule for rule in candidates if selector in (rule.key, rule.name)],
    ):
        if matches:
            return matches
    raise UsageFault(_not_found(rules, selector))


def _not_found(rules: Round, selector: str) -> str:
    sentence = f"{selector} is not a rule of {rules.title}"
    other_rounds = rounds_with(selector)
    if other_rounds:
        last = other_rounds[-1]
        usage = f"--usage {last.usage} " if last.usage != rules.usage else ""
        return f"{sentence}; it is in {_spans(other_rounds)}: try {usage}--round {last.name}"
    matches = nearest(selector, (rule.id for rule in (*all_rules(rules), *added_rules())))
    if matches:
        return f"{sentence}; did you mean {' or '.join(matches)}?"
    return f"{sentence}; see `podium rules list --all`"


def nearest(rule_id: str, rule_ids: Iterable[str]) -> list[str]:
    """The ids most similar to an unknown id: by the whole id, else by its last part."""
    ids = list(dict.fromkeys(rule_ids))
    matches = difflib.get_close_matches(rule_id, ids, n=2, cutoff=NEAR)
    if matches and difflib.SequenceMatcher(None, rule_id, matches[0]).ratio() > 0.85:
        return matches
    ends: dict[str, str] = {}
    for name in ids:
        ends.setdefault(name.rpartition(".")[2], name)
    last = difflib.get_close_matches(rule_id.rpartition(".")[2], ends, n=2, cutoff=0.8)
    return matches or [ends[end] for end in last]


def _spans(rounds: list[Round]) -> str:
    names = []
    for usage in USAGES:
        of_usage = [rules.name for rules in rounds if rules.usage == usage]
        if of_usage:
            names.append(f"{usage} {', '.join(of_usage)}")
    return " and ".join(names)
