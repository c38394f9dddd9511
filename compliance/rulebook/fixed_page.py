"""The page of the rules that every round has: of lines, files, packages and results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from podium.compliance.rulebook.catalogue import FIXED
from podium.compliance.rulebook.explain import example_lines
from podium.compliance.rulebook.markdown import MADE, escape, rate_cell
from podium.compliance.rulebook.rates import rates
from podium.compliance.rulebook.tables.rule import Rule
from podium.rules.fixed.fixed_rule import FixedRule

_INTRODUCTION = (
    "These rules are the same in every round. A message names in angle brackets what each finding "
    "fills in. What only the official verifier demands is a note, where the policy profile has a "
    "warning, in rounds before training 4.1. An example is an edit of a complete submission: that "
    "of submitter Acme to training 5.1, with one result of three runs."
)


def fixed_page() -> str:
    """Every fixed rule: what it says, why, how it is reported, and an example."""
    lines = ["# Rules of lines, files and packages", "", MADE, "", _INTRODUCTION]
    lines += ["", f"How often rules fire was measured on {rates().source}."]
    # The sort is stable: in a family, rules keep the order in which they are declared
    for family, rules in groupby(sorted(FIXED, key=_family), key=_family):
        lines += ["", f"## {family}"]
        for rule in rules:
            lines += ["", *_section(rule)]
    return "\n".join(lines) + "\n"


def _family(rule: Rule) -> str:
    return rule.table


def _section(rule: Rule) -> Iterator[str]:
    yield f"### `{rule.id}`"
    yield ""
    yield f"{_sentence(rule.constraint)} {_sentence(rule.why)}"
    yield ""
    verifier = rule.verifier_severity or "not reported"
    labelled = (
        ("Policy profile", rule.policy_severity),
        ("Verifier profile", verifier),
        ("Varies", rule.varies),
        ("Message", rule.message),
        ("Help", rule.hint),
        ("Cites", rule.cites),
        ("Formerly", ", ".join(rule.formerly)),
        ("Fires on", rate_cell(rule)),
    )
    yield from (f"- {label}: {escape(text)}" for label, text in labelled if text)
    if isinstance(rule.source, FixedRule):
        for label, example in (("Violation", rule.source.bad), ("Fixed", rule.source.good)):
            lines = example_lines(example)
            if lines:
                yield from ("", f"{label}:", "", "```text", *lines, "```")


def _sentence(text: str) -> str:
    return f"{escape(text[:1].upper() + text[1:])}."
