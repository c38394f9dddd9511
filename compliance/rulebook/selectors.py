"""Rules in reports and options: texts by id, and the globs of `--select`."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Iterator
from functools import cache

from podium.compliance.judging.inputs.house_rules import FAMILY
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.render.sarif import RuleText
from podium.compliance.rulebook.added_rules import added_rules
from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.explain import nearest
from podium.compliance.rulebook.fixed_rules import FIXED_RULES
from podium.compliance.rulebook.tables.history import RuleKind
from podium.compliance.rulebook.tables.rule import Rule
from podium.rules.catalogue import USAGES, find_round, rounds_of
from podium.rules.model.round import Round


def unmatched(option: str, globs: Iterable[str]) -> Iterator[str]:
    """A message for each glob that matches no rule of any round."""
    for glob in globs:
        # The podium.toml of such rules may be next to the input, far from the working directory
        if glob.startswith(f"{FAMILY}."):
            continue
        if not any(fnmatch.fnmatchcase(rule.id, glob) for rule in _rules()):
            ids = _near(glob, sorted({rule.id for rule in _rules()}))
            advice = f"did you mean {' or '.join(ids)}?" if ids else "see podium rules list --all"
            yield f"{option} {glob!r} matches no rule; {advice}"


def _near(glob: str, ids: list[str]) -> list[str]:
    """Ids similar to a glob without matches; families of ids for a trailing wildcard."""
    stem, wildcard, _ = re.split(r"([*?[]|$)", glob, maxsplit=1)
    if not wildcard or not stem.rstrip("."):
        return nearest(glob, ids)
    parts = [rule_id.split(".") for rule_id in ids]
    families = {".".join(names[:depth]) for names in parts for depth in range(1, len(names))}
    matches = difflib.get_close_matches(stem.rstrip("."), sorted(families), n=2, cutoff=0.7)
    return [f"{family}.*" for family in matches] or nearest(glob, ids)


def _rules() -> Iterator[Rule]:
    """Every rule, newest rounds first, which have most of the wanted rules."""
    for usage in USAGES:
        for rules in reversed([*rounds_of(usage).values()]):
            yield from all_rules(rules)
    yield from added_rules()


def texts_of(report: Outcome) -> dict[str, RuleText]:
    """The text of each rule with findings in a report, by id."""
    rule_ids = {finding.id for finding in report.findings}
    texts: dict[str, RuleText] = {}
    for rules in _rounds_of_report(report):
        if texts.keys() >= rule_ids:
            break
        for rule in all_rules(rules):
            if rule.id in rule_ids:
                # Newest rounds come first, so the newest wording of a rule wins
                texts.setdefault(rule.id, _text(rule))
    if texts.keys() < rule_ids:
        texts |= {rule.id: _text(rule) for rule in added_rules() if rule.id in rule_ids}
    return texts


def has_one_message(rule: str) -> bool:
    """Whether one template makes the messages of a rule; false if a field is the whole message."""
    return rule in _templates()


@cache
def _templates() -> frozenset[str]:
    return frozenset(rule.id for rule in FIXED_RULES if rule.general_message)


def _rounds_of_report(report: Outcome) -> Iterator[Round]:
    """The round of a report, or all rounds, newest first, if the report has several."""
    if report.rules.round != "several":
        yield find_round(report.rules.usage, report.rules.round)
        return
    for usage in USAGES:
        yield from reversed([*rounds_of(usage).values()])


def _text(rule: Rule) -> RuleText:
    says = rule.constraint
    if rule.kind in (RuleKind.ROW, RuleKind.TARGET):
        says = f"{rule.key}: {rule.bound}"
    return RuleText(says, rule.why, rule.hint)
