"""Rules that no RULES tuple declares yet: their texts stand here, away from what reports them."""

from __future__ import annotations

from podium.compliance.rulebook.package_texts import PACKAGE_TEXTS, FixedText
from podium.compliance.rulebook.power_texts import POWER_TEXTS
from podium.compliance.rulebook.score_texts import SCORE_TEXTS
from podium.compliance.rulebook.tree_texts import TREE_TEXTS
from podium.rules.finding import Severity, StatedBy
from podium.rules.fixed_rule import FixedRule

_FORMERLY = {"result.invalid-log-name": ("result.strange-log-name",)}

_BY_FIELD = "a warning of the policy where the official verifier does not reject the file for it"


def _rule(id: str, text: FixedText) -> FixedRule:  # noqa: A002 - the rule's id
    in_verifier = {StatedBy.POLICY: None, StatedBy.VERIFIER: Severity.ERROR}
    return FixedRule(
        id=id,
        says=text.says,
        why=text.why,
        message="",
        help=text.hint.replace("{", "{{").replace("}", "}}"),
        stated_by=text.stated_by,
        severity=text.severity,
        in_verifier=in_verifier.get(text.stated_by, text.severity),
        varies=_BY_FIELD if text.varies else "",
        formerly=_FORMERLY.get(id, ()),
    )


_TEXTS = {**SCORE_TEXTS, **POWER_TEXTS, **TREE_TEXTS, **PACKAGE_TEXTS}

UNDECLARED: tuple[FixedRule, ...] = tuple(_rule(name, text) for name, text in _TEXTS.items())
