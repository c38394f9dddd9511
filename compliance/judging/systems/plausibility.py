"""Implausible values in a system description, and obligations that its availability brings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from podium.compliance.judging.systems.document import Document
from podium.compliance.judging.systems.fields import FIELDS, V11, Category, category_of, period_of
from podium.compliance.judging.systems.reader import line_of
from podium.compliance.judging.systems.system_rules import (
    BAD_CAPACITY,
    COUNTED_NONE,
    PREVIEW_DUE,
    PRIVATE_SOFTWARE,
    UNUSUAL_DETAIL,
)
from podium.compliance.judging.systems.values import (
    is_empty,
    is_placeholder,
    read_count,
    says_nothing,
    short,
)
from podium.rules.finding import Finding, Profile
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round

CAPACITIES = ("host_memory_capacity", "host_storage_capacity", "accelerator_memory_capacity")

_AVAILABLE = frozenset((Category.ON_PREMISE, Category.CLOUD, Category.AVAILABLE))

# Published descriptions also write 80G and 1.7 T
_CAPACITY = re.compile(r"\d\s*(?:[kmgtpe]i?(?:b|bytes?)?|bytes?)\b", re.IGNORECASE)

_PRIVATE = re.compile(
    r"\b(?:private|internal|in-house|unreleased|unpublished|confidential|redacted"
    r"|not (?:yet )?(?:released|published|public|available))\b",
    re.IGNORECASE,
)

_SOFTWARE = ("framework", "other_software_stack", "operating_system", "sw_notes")

_DETAIL = re.compile(
    r"cloud|prem|edge|server|data ?cent|cluster|super ?computer|work ?station|desktop|laptop"
    r"|rack|pod\b|node",
    re.IGNORECASE,
)


def judge_plausibility(document: Document, path: str, rules: Round) -> Iterator[Finding]:
    """Findings about values that no official program checks; they belong to the policy profile."""
    fields = document.fields

    def finding_of(rule: FixedRule, key: str, **details: Any) -> Finding:
        line = line_of(document, key)
        return rule.found(
            Profile.POLICY, path, line=line, key=key, given=short(fields.get(key)), **details
        )

    name = fields.get("accelerator_model_name")
    if read_count(fields.get("accelerators_per_node")).value == 0 and _says(
        "accelerator_model_name", name
    ):
        yield finding_of(COUNTED_NONE, "accelerators_per_node", name=short(name))
    for key in CAPACITIES:
        value = fields.get(key)
        if _says(key, value) and not _CAPACITY.search(str(value)):
            example = FIELDS[key].example
            yield finding_of(BAD_CAPACITY, key, field=key, value=short(value), example=example)
    detail = fields.get("system_type_detail")
    if _says("system_type_detail", detail) and not _DETAIL.search(str(detail)):
        yield finding_of(UNUSUAL_DETAIL, "system_type_detail", value=short(detail))
    yield from _by_category(fields, finding_of, rules)


def _by_category(fields: Mapping[str, Any], finding_of: Any, rules: Round) -> Iterator[Finding]:
    category = category_of(fields.get("status"))
    if category is Category.PREVIEW:
        days = 140 if period_of(rules) >= V11 else 180
        yield finding_of(PREVIEW_DUE, "status", days=days)
    if category not in _AVAILABLE:
        return
    for key in _SOFTWARE:
        for text in _texts(fields.get(key)):
            match = _PRIVATE.search(text)
            if match is not None:
                yield finding_of(PRIVATE_SOFTWARE, key, field=key, word=match[0])
                break


def _says(key: str, value: Any) -> bool:
    """Whether a field has a real value; other rules are about fields without one."""
    return not (is_empty(value) or says_nothing(value) or is_placeholder(key, value))


def _texts(value: Any) -> Iterator[str]:
    """The strings in a field: some descriptions have lists and objects of strings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for part in value.items() for item in part for text in _texts(item))
    elif isinstance(value, list):
        yield from (text for part in value for text in _texts(part))
