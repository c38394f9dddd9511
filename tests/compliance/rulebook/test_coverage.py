"""Every rule cites an existing section, and every clause names the rules that implement it."""

from __future__ import annotations

import fnmatch
import json

import pytest

from podium import check
from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.coverage import (
    CoveredClause,
    State,
    coverage,
    rules_by_section,
    totals,
)
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.citations import OWN, VERIFIER
from podium.rules.clauses import UnknownSection, cited
from podium.rules.finding import StatedBy
from podium.rules.model.round import Round
from tests.compliance import command_line
from tests.locations import CORPUS

ROUNDS = [rules for usage in USAGES for rules in rounds_of(usage).values()]
by_round = pytest.mark.parametrize("rules", ROUNDS, ids=lambda rules: rules.title)
PUBLISHED = sorted(path.name for path in CORPUS.glob("*_results_v*"))


def unknown_citations() -> list[str]:
    """Return each rule that cites an unknown section, with the reason."""
    found = {}
    for rules in ROUNDS:
        for rule in all_rules(rules):
            try:
                cited(rule.cites)
            except UnknownSection as error:
                found[rule.id] = f"{rule.id} cites {rule.cites!r}: {error}"
    return [*found.values()]


@pytest.fixture(scope="module")
def clauses() -> list[CoveredClause]:
    """Every clause, with the rules that implement it."""
    if unknown_citations():
        pytest.skip("a rule cites an unknown section: see test_every_citation_names_a_section")
    return coverage()


def test_every_citation_names_a_section() -> None:
    unknown = unknown_citations()
    assert not unknown, "write the heading as rules/clauses has it:\n" + "\n".join(unknown)


@by_round
@pytest.mark.usefixtures("clauses")
def test_every_rule_cites_the_document_that_states_it(rules: Round) -> None:
    for rule in all_rules(rules):
        named = {document for document, _ in cited(rule.cites)}
        where = f"{rule.id} is stated by {rule.stated_by} and cites {rule.cites!r}"
        if rule.stated_by is StatedBy.VERIFIER:
            assert VERIFIER in named, f"{where}; must cite its program"
        elif rule.stated_by is not StatedBy.PODIUM:
            assert not named & {VERIFIER, OWN}, f"{where}; must cite sections of the policy only"
        else:
            assert named <= {OWN, "official logging library"}, f"{where}; must cite podium"


def test_every_clause_has_rules_or_a_reason(clauses: list[CoveredClause]) -> None:
    silent = [
        f"no rule cites {covered.clause.section!r} ({covered.id}): name rules, or say by_hand or "
        "missing"
        for covered in clauses
        if not (
            covered.rules
            or covered.clause.computed
            or covered.clause.by_hand
            or covered.clause.missing
        )
    ]
    assert not silent, "\n".join(silent)


def test_every_rule_that_a_clause_names_exists(clauses: list[CoveredClause]) -> None:
    known = {rule for ids in rules_by_section().values() for rule in ids}
    unknown = [
        f"{covered.id} names {glob}, which matches no rule"
        for covered in clauses
        for glob in covered.clause.rules
        if not fnmatch.filter(known, glob)
    ]
    assert not unknown, "\n".join(unknown)


def test_every_command_that_a_clause_names_exists(clauses: list[CoveredClause]) -> None:
    for command in {covered.clause.computed for covered in clauses} - {""}:
        program, *words = command.split()
        assert program == "podium"
        assert command_line.podium(*words, "--help").exit_code == 0, command


def test_every_rule_implements_a_clause(clauses: list[CoveredClause]) -> None:
    known = {rule for ids in rules_by_section().values() for rule in ids}
    without = known - {rule for held in clauses for rule in held.rules}
    assert not without, (
        f"no clause in rules/clauses is held by {', '.join(sorted(without))}: name the rule in the "
        "`rules` of the clause whose section it cites, or cite the section of a clause without any"
    )


def test_the_state_follows_from_the_fields_of_the_clause(clauses: list[CoveredClause]) -> None:
    for held in clauses:
        clause = held.clause
        holds = bool(held.rules or clause.computed)
        expected = {
            State.MISSING: bool(clause.missing),
            State.BY_HAND: not clause.missing and not holds,
            State.IN_PART: not clause.missing and holds and bool(clause.by_hand),
            State.CHECKED: not clause.missing and holds and not clause.by_hand,
        }
        assert expected[held.state]


@pytest.mark.parametrize("round_", ["0.5", "5.0"])
@pytest.mark.parametrize(
    ("rule", "stated_by", "cites"),
    [
        (
            "result.numbering",
            "podium only; not in the policy or the verifier",
            "podium, Names",
        ),
        (
            "repo.long-path",
            "podium only; not in the policy or the verifier",
            "podium, Names",
        ),
        ("repo.leading-dot", "the official verifier only", "official verifier, repo_checker"),
    ],
)
def test_explain_prints_who_states_a_rule_and_its_citation(
    rule: str, stated_by: str, cites: str, round_: str
) -> None:
    lines = command_line.podium("rules", "explain", rule, "--round", round_).stdout.splitlines()
    assert f"  stated by  {stated_by}" in lines
    assert f"  cites      {cites}" in lines


def test_no_clause_is_missing_a_rule(clauses: list[CoveredClause]) -> None:
    """A new round may add such a clause: list it here, and remove it when its rule exists."""
    waiting = [held.id for held in clauses if held.state is State.MISSING]
    assert not waiting, f"these clauses say what is missing, which a rule can check: {waiting}"


# --- the command ---


def test_the_json_has_every_clause_and_its_rules(clauses: list[CoveredClause]) -> None:
    result = command_line.podium("rules", "coverage", "--format", "json")
    data = json.loads(result.stdout)
    listed = {(each["document"], each["id"]): each for each in data["clauses"]}
    assert len(listed) == len(clauses)
    runs = listed["training rules", "RUNS-01"]
    assert runs["rules"] == ["result.too-few-runs", "result.too-many-runs"]
    assert (runs["section"], runs["number"]) == ("Benchmark Results", "12")
    assert data["totals"] == totals(clauses)
    assert {each["name"] for each in data["documents"]} == set(data["totals"])
    counted = sum(count for states in data["totals"].values() for count in states.values())
    assert counted == len(listed)


def test_the_text_names_each_clause_and_ends_in_totals(clauses: list[CoveredClause]) -> None:
    lines = command_line.podium("rules", "coverage").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for held in clauses:
        assert f"  {held.id}  [{held.state}]" in text
    assert "totals" in lines[-12:]


def test_the_markdown_has_a_row_for_each_clause(clauses: list[CoveredClause]) -> None:
    text = command_line.podium("rules", "coverage", "--format", "markdown").stdout
    assert text.startswith("# Clauses and the rules that implement them\n")
    for held in clauses:
        assert f"\n| {held.id} | " in text


# --- published results ---


@pytest.mark.long
@pytest.mark.corpus
@pytest.mark.parametrize("profile", ["policy", "verifier"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_every_finding_about_published_results_cites_a_section(name: str, profile: str) -> None:
    report = check(CORPUS / name, profile=profile)
    for text in {finding.cites for finding in report.findings}:
        assert cited(text)
