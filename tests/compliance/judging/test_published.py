"""Published submissions: which are rejected or granted, and the tables in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podium.compliance import check
from podium.compliance.reporting.models import Report
from podium.rules.catalogue import find_round
from podium.rules.published import CONVERGENCE, GRANTED, REJECTED, Decision, granted_in
from tests.locations import ROOT

ROUNDS = ("hpc_results", "training_results")


def judged(corpus: Path) -> dict[tuple[str, str], Report]:
    """The reports on all submissions of the corpus, by round and submitter."""
    found = {}
    for folder in sorted(corpus.glob("*_results_v*/")):
        usage, _, name = folder.name.partition("_results_v")
        inner = folder / "v0.5.0" if name == "0.5" else folder
        for tree in sorted(each for each in inner.iterdir() if each.is_dir()):
            found[f"{usage} {name}", tree.name] = check(tree, usage=usage, round=name)
    return found


@pytest.fixture(scope="module")
def reports(corpus: Path) -> dict[tuple[str, str], Report]:
    return judged(corpus)


def test_exactly_the_listed_submissions_of_the_corpus_are_rejected(
    reports: dict[tuple[str, str], Report],
) -> None:
    listed = {(each.round, each.submitter): each for each in REJECTED}
    for place, report in reports.items():
        assert (report.verdict == "rejected") == (place in listed), place
        if place in listed:
            errors = {f.id for f in report.findings if f.severity == "error" and not f.waived}
            assert {*listed[place].rules} <= errors, place
            assert (report.official_verdict or "none") == listed[place].official


def test_a_granted_submission_has_a_warning_with_its_evidence(
    reports: dict[tuple[str, str], Report],
) -> None:
    for each in GRANTED:
        report = reports.get((each.round, each.submitter))
        if report is not None:
            found = [f for f in report.findings if f.id in CONVERGENCE]
            assert found
            assert {f.severity.value for f in found} == {"warning"}
            assert all(f"granted in review: {each.evidence}" in f.message for f in found)
            assert (report.verdict, report.official_verdict) == ("accepted", "rejected")


def test_at_most_ten_rejected_submissions_pass_the_official_verifier() -> None:
    assert len([each for each in REJECTED if each.official != "rejected"]) <= 10


def test_a_grant_applies_only_to_its_round_submitter_and_benchmark() -> None:
    one = find_round("training", "1.1")
    assert granted_in(one, "Graphcore", "bert") is not None
    assert granted_in(one, "Graphcore", "resnet") is None
    assert granted_in(one, "Acme", "bert") is None
    assert granted_in(find_round("training", "2.0"), "Graphcore", "bert") is None


def line(each: Decision) -> str:
    """The row of the table in docs/rules.md."""
    benchmark = f" ({each.benchmark})" if each.benchmark else ""
    rules = ", ".join(f"`{rule}`" for rule in each.rules)
    cells = (each.round, each.submitter + benchmark, rules, each.official, each.evidence)
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize(
    ("heading", "decisions"), [("still rejects", REJECTED), ("granted in review", GRANTED)]
)
def test_the_tables_in_rules_md_match_the_data(
    heading: str, decisions: tuple[Decision, ...]
) -> None:
    page = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    section = re.search(rf"### [^\n]*{heading}[^\n]*\n(.*?)(?=\n### |\n## |\Z)", page, re.DOTALL)
    assert section is not None
    rows = [row for row in section[1].splitlines() if row.startswith(("| hpc", "| training"))]
    assert rows == [line(each) for each in decisions]
