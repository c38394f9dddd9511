"""Causes of findings: every chain of causes ends at a finding that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from podium.rules.consequences import Follows, Reach, mark
from podium.rules.finding import RANK, Finding, Severity

PATHS = ("a/1", "a/2", "b/1")
RULES = ("p.a", "p.b", "p.c", "p.d")


def finding(
    rule: str,
    path: str = "a/1",
    severity: Severity = Severity.ERROR,
    *,
    waived: bool = False,
    caused_by: str = "",
) -> Finding:
    return Finding(
        rule, severity, path, None, None, f"{rule} at {path}", waived=waived, caused_by=caused_by
    )


def place(found: Finding, reach: Reach) -> str:
    return found.path if reach is Reach.FILE else found.path.partition("/")[0]


def marked(
    findings: Sequence[Finding], declared: Mapping[str, Sequence[Follows]]
) -> dict[str, str]:
    """Return the cause of each finding, by rule and path."""
    found = mark(findings, lambda rule: declared.get(rule, ()), place)
    return {f"{each.id} {each.path}": each.caused_by for each in found}


FROM_A = {"p.b": (Follows("p.a"),)}


def test_a_finding_follows_from_the_cause_that_its_rule_declares() -> None:
    assert marked([finding("p.b"), finding("p.a")], FROM_A) == {"p.a a/1": "", "p.b a/1": "p.a"}


@pytest.mark.parametrize(
    "cause",
    [
        finding("p.a", "a/2"),
        finding("p.a", waived=True),
        finding("p.a", severity=Severity.WARNING),
    ],
    ids=["in another file", "waived", "of less weight"],
)
def test_a_finding_that_does_not_count_is_not_a_cause(cause: Finding) -> None:
    found = mark([finding("p.b"), cause], lambda rule: FROM_A.get(rule, ()), place)
    assert [each.caused_by for each in found] == ["", ""]


def test_a_cause_reaches_as_far_as_declared() -> None:
    declared = {"p.b": (Follows("p.a", Reach.RESULT),)}
    findings = [finding("p.a"), finding("p.b", "a/2"), finding("p.b", "b/1")]
    assert marked(findings, declared) == {"p.a a/1": "", "p.b a/2": "p.a", "p.b b/1": ""}


def test_a_cause_applies_only_if_its_condition_is_true() -> None:
    declared = {"p.b": (Follows("p.a", when=lambda cause, found: cause.line == found.line),)}
    here, there = replace(finding("p.a"), line=1), replace(finding("p.b"), line=2)
    assert marked([here, there], declared)["p.b a/1"] == ""
    assert marked([here, replace(there, line=1)], declared)["p.b a/1"] == "p.a"


def test_the_first_declared_cause_is_named() -> None:
    declared = {"p.c": (Follows("p.b"), Follows("p.a"))}
    assert marked([finding(rule) for rule in RULES], declared)["p.c a/1"] == "p.b"


def test_a_mark_is_kept_unless_its_cause_is_waived_or_absent() -> None:
    late = finding("p.c", caused_by="p.a")
    assert marked([finding("p.a"), finding("p.b"), late], {"p.c": (Follows("p.b"),)}) == {
        "p.a a/1": "",
        "p.b a/1": "",
        "p.c a/1": "p.a",
    }
    assert marked([finding("p.a", waived=True), late], {})["p.c a/1"] == ""
    assert marked([finding("p.b"), late], {})["p.c a/1"] == ""


def test_only_one_of_two_rules_that_follow_from_each_other_is_marked() -> None:
    declared = {"p.a": (Follows("p.b"),), "p.b": (Follows("p.a"),)}
    causes = marked([finding("p.a"), finding("p.b")], declared)
    assert sorted(causes.values()) in (["", "p.a"], ["", "p.b"])


# --- arbitrary declarations and findings ---

declarations = st.dictionaries(
    st.sampled_from(RULES),
    st.lists(st.builds(Follows, st.sampled_from(RULES), st.sampled_from(Reach)), max_size=4),
)
findings_of_any_kind = st.lists(
    st.builds(
        finding,
        st.sampled_from(RULES),
        st.sampled_from(PATHS),
        st.sampled_from(Severity),
        waived=st.booleans(),
        caused_by=st.sampled_from(("", "", "", *RULES)),
    ),
    max_size=12,
)


@given(findings_of_any_kind, declarations)
def test_every_chain_ends_at_a_cause_that_counts(
    findings: list[Finding], declared: dict[str, list[Follows]]
) -> None:
    after = mark(findings, lambda rule: declared.get(rule, ()), place)
    assert [replace(each, caused_by="") for each in after] == [
        replace(each, caused_by="") for each in findings
    ]
    roots = [each for each in after if not each.waived and not each.caused_by]
    for each in after:
        if not each.waived:
            assert any(RANK[root.severity] <= RANK[each.severity] for root in roots)
        if each.caused_by and not each.waived:
            assert any(other.id == each.caused_by and not other.waived for other in after)
