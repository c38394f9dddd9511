"""The cited documents that several modules name.

A citation is `document, heading`; several are joined with `; `. `rules/clauses` has the documents
with all their headings.
"""

from __future__ import annotations

VERIFIER = "official verifier"
"""Its sections are its programs."""

COMPLIANCE_CHECKER = f"{VERIFIER}, compliance_checker"

LIBRARY = "official logging library"
"""Its sections are the members of a record."""

OWN = "podium"
"""Rules of podium that neither the policy nor the official verifier states."""

LOGGING = "submission rules, Logging requirements"

_PROGRAMS = {
    "closed": "compliance_checker",
    "common": "compliance_checker",
    "log": "compliance_checker",
    "open": "compliance_checker",
    "rcp": "rcp_checker",
    "repo": "repo_checker",
    "score": "result_summarizer",
    "seeds": "seed_checker",
    "system": "system_desc_checker",
}
"""The program that checks a family of rules, if it is not the package checker itself."""


def official(rule: str) -> str:
    """The citation of the official program that checks a rule, by the id of the rule."""
    program = _PROGRAMS.get(rule.partition(".")[0], "package_checker")
    return f"{VERIFIER}, {program}"
