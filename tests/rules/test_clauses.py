"""The clauses of the documents: complete, well-formed, and cited with their real headings."""

from __future__ import annotations

import re

import pytest

from podium.rules.clauses import UnknownSection, cited, documents
from tests.locations import FACTS

_ID = re.compile(r"^\| ([A-Z]+-\d+) \|", re.MULTILINE)


def test_the_texts_of_a_clause_have_no_final_period() -> None:
    for document in documents().values():
        for clause in document.clauses.values():
            for text in (clause.says, clause.by_hand, clause.missing):
                assert text == text.strip().rstrip(".")


def test_ids_of_clauses_are_unique() -> None:
    names = [name for document in documents().values() for name in document.clauses]
    assert len(names) == len({*names})


def test_numbers_and_aliases_belong_to_headings() -> None:
    for document in documents().values():
        headings = {clause.section for clause in document.clauses.values()}
        assert set(document.aliases.values()) <= headings
        assert not headings & set(document.aliases)
        for chapter in set(document.numbers) - headings:
            number = document.numbers[chapter]
            assert any(other.startswith(f"{number}.") for other in document.numbers.values())


@pytest.mark.facts
@pytest.mark.parametrize("sheet", ["training-rules.md", "submission.md"])
def test_every_clause_of_the_digest_exists(sheet: str) -> None:
    wanted = set(_ID.findall((FACTS / sheet).read_text(encoding="utf-8")))
    there = {name for document in documents().values() for name in document.clauses}
    assert wanted
    assert wanted <= there


# --- citations ---


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("training rules, Run Results", [("training rules", "Run Results")]),
        ("training rules, Training Loop", [("training rules", "Training Loop")]),
        ("training rules, run results", [("training rules", "Run Results")]),
        ("training rules of 0.6, Run Results", [("training rules", "Run Results")]),
        ("training rules, RCPs", [("training rules", "Reference Convergence Points (RCPs)")]),
        (
            "power measurement rules, Measure max(a run, 60 power samples)",
            [("power measurement rules", "Measure max(a run, 60 power samples)")],
        ),
        (
            "official verifier, repo_checker; HPC rules, Throughput",
            [("official verifier", "repo_checker"), ("HPC rules", "Throughput")],
        ),
    ],
)
def test_a_citation_is_parsed_into_documents_and_headings(
    text: str, places: list[tuple[str, str]]
) -> None:
    assert cited(text) == places


@pytest.mark.parametrize(
    "text",
    [
        "",
        "training rules",
        "training rules, Logging",
        "logging rules, value",
        "training rules, Run Results;HPC rules, Throughput",
    ],
)
def test_a_citation_of_an_unknown_section_is_refused(text: str) -> None:
    with pytest.raises(UnknownSection):
        cited(text)
