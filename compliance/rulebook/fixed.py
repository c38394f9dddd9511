"""The rules of every round that no table states: unreadable lines, and podium's own fault."""

from __future__ import annotations

from string import Formatter

from podium.compliance.history import rules as history
from podium.compliance.live import rules as live
from podium.compliance.power import rules as power
from podium.compliance.rcp import rules as rcp
from podium.compliance.rulebook.catalogue import Kind, Rule
from podium.compliance.rulebook.package_texts import PACKAGE_TEXTS, FixedText
from podium.compliance.rulebook.score_texts import SCORE_TEXTS
from podium.compliance.rulebook.tree_texts import TREE_TEXTS
from podium.compliance.scoring import rules as scoring
from podium.compliance.systems import rules as systems
from podium.rules.finding import Severity, StatedBy
from podium.rules.fixed_rule import FixedRule

_LINE = (
    ':::MLLOG {"namespace": "", "time_ms": 1735689600000, "event_type": "POINT_IN_TIME", '
    '"key": "seed", "value": 42, "metadata": {}}'
)


_SHORT = (
    ':::MLLOG {"namespace": "", "time_ms": 1735689600000, "event_type": "POINT_IN_TIME", '
    '"key": "seed", "val'
)

_TEXTS = {
    "log.not-json": FixedText(
        "what follows the token of a log line is valid JSON",
        "a line that cannot be read holds no record: the run loses what it was to say",
        _SHORT,
        _LINE,
        "write each record as one line of JSON after the token, from one process",
    ),
    "log.not-an-object": FixedText(
        "what follows the token of a log line is a JSON object",
        "the official verifier ends in a traceback at a list, a number or a string",
        ":::MLLOG [42]",
        _LINE,
        "write each record as a JSON object with key, value, time_ms and metadata",
    ),
    "log.missing-field": FixedText(
        "a record has time_ms, key, value and metadata, and time_ms is a number",
        "the official verifier ends in a traceback where one of the four is absent",
        ':::MLLOG {"time_ms": 1735689600000, "key": "seed", "value": 42}',
        _LINE,
        "give every record key, value, time_ms and metadata; value may be null",
    ),
    "log.bad-time": FixedText(
        "time_ms spells a number",
        "every duration is a difference of such times",
        _LINE.replace("1735689600000", '"12:00:00"'),
        _LINE,
        "give time_ms as integer milliseconds since 1970",
    ),
    "log.bad-key": FixedText(
        "the key of a record is a string",
        "a record under any other key is looked up by no rule",
        _LINE.replace('"seed"', "7"),
        _LINE,
        "give the key as a string",
        Severity.WARNING,
    ),
    "log.several-records": FixedText(
        "a line holds one record",
        "the official verifier sees only the last record of a line; the others are lost",
        f"{_LINE}{_LINE}",
        f"{_LINE}\n{_LINE}",
        "end each record with a line end before the next is written",
        Severity.WARNING,
    ),
    "log.nonstandard-dialect": FixedText(
        "a line of the rounds before 0.7 follows their layout",
        "the official verifier of 0.6 cannot read it, though its meaning is plain",
        ":::MLL 1735689600.000 seed: {'value': 42, 'metadata': {}}",
        ':::MLL 1735689600.000 seed: {"value": 42, "metadata": {}}',
        "write the record as JSON, as the round's format demands",
    ),
    "log.ignored-line": FixedText(
        "a line of 0.6 gives its value in an object",
        "the official verifier of 0.6 passes over a line without one",
        ":::MLL 1735689600.000 seed: 42",
        ':::MLL 1735689600.000 seed: {"value": 42, "metadata": {}}',
        "give every record a value, null where there is none",
        Severity.WARNING,
    ),
    "log.line-too-long": FixedText(
        "a line is no longer than 256 MiB",
        "a line of that length is never a record; it is not decoded",
        "",
        _LINE,
        "keep each record well below a mebibyte",
    ),
    "log.unreadable-file": FixedText(
        "the file can be opened and read",
        "what cannot be read cannot be judged, and is not passed",
        "",
        "",
        "check the path and its permissions",
    ),
    "log.broken-compression": FixedText(
        "a compressed log can be decompressed to its end",
        "a file cut short lacks the end of the run",
        "",
        "",
        "compress the log again from the original",
    ),
    "log.no-records": FixedText(
        "the file holds at least one record in the format of the round",
        "an empty log, or one in the format of another round, shows no run",
        "epoch 1: loss 2.31",
        _LINE,
        "check that this is the log of a run, and that --round names its round",
    ),
    "log.verifier-crash": FixedText(
        "the official verifier comes to a verdict",
        "it stops with a traceback on some logs, most of which break other rules as well; the "
        "upload is then refused without a reason",
        "",
        "",
        "mend the other findings first",
        stated_by=StatedBy.VERIFIER,
    ),
}

_INTERNAL = FixedText(
    "podium itself does not fail on a file",
    "a fault of podium must hide no other finding: the rest of the report is still printed, and "
    "the exit status is 3",
    hint="please report it, with the file if you may share it",
)


def _rule(id: str, text: FixedText, kind: Kind) -> Rule:  # noqa: A002 - the rule's id
    return Rule(
        id=id,
        kind=kind,
        table=id.partition(".")[0],
        key=None,
        meaning="every round and division",
        constraint=text.says,
        policy=None,
        times="",
        stated_by=text.stated_by,
        since="",
        why=text.why,
        hint=text.hint,
        cites="",
        policy_exempt_reason="",
        policy_severity=text.in_policy,
        verifier_severity=text.in_verifier,
    )


def _of_value(rule: FixedRule) -> Rule:
    more = f"; {rule.varies}" if rule.varies else ""
    return Rule(
        id=rule.id,
        kind=Kind.PACKAGE,
        table=rule.id.partition(".")[0],
        key=None,
        meaning="every round and division",
        constraint=rule.says,
        policy=None,
        times="",
        stated_by=rule.stated_by,
        since="",
        why=rule.why,
        hint=_named(rule.help),
        cites=rule.cites,
        policy_exempt_reason="",
        policy_severity=f"{rule.severity}{more}" if rule.severity else "",
        verifier_severity=rule.in_verifier.value if rule.in_verifier else "",
    )


def _named(template: str) -> str:
    """A template with its fields in angle brackets."""
    parsed = Formatter().parse(template)
    return "".join(text + (f"<{name}>" if name else "") for text, name, *_ in parsed)


_VALUES = (
    rcp.RULES,
    scoring.RULES,
    power.RULES,
    systems.RULES,
    history.RULES,
    live.RULES,
)

_PACKAGE = {**SCORE_TEXTS, **TREE_TEXTS, **PACKAGE_TEXTS}

FIXED: tuple[Rule, ...] = (
    *(_rule(name, text, Kind.LOG) for name, text in _TEXTS.items()),
    *(_rule(name, text, Kind.PACKAGE) for name, text in _PACKAGE.items()),
    *(_of_value(rule) for rules in _VALUES for rule in rules),
    _rule("internal.rule-crashed", _INTERNAL, Kind.INTERNAL),
)
"""Rules of every round, in the order pages list them."""


def fixed_example(rule: str) -> tuple[str, str]:
    """A line that breaks a fixed rule and one that obeys; empty where no line can show it."""
    text = _TEXTS.get(rule)
    return (text.bad, text.good) if text is not None else ("", "")
