"""The threat model: every line of it names tests, and they exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from markdown_it import MarkdownIt

from tests.locations import ROOT

PAGE = ROOT / "docs" / "security.md"
NAMED = re.compile(r"(tests/[\w/]+\.py)::(test_\w+)")
THREATS = ["threat", "defense", "tests"]


def tables() -> Iterator[list[list[str]]]:
    """The tables of the page: rows of cells."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(PAGE.read_text(encoding="utf-8")):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token.content)
        elif token.type == "table_close":
            yield rows
            rows = []


LINES = [row for table in tables() if table[0] == THREATS for row in table[1:]]


@cache
def names_in(path: str) -> frozenset[str]:
    """The tests at the top of a module; none where there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line[0]))
def test_a_line_of_the_threat_model_names_tests_that_exist(line: list[str]) -> None:
    named = NAMED.findall(line[2])
    assert named
    assert [f"{path}::{name}" for path, name in named if name not in names_in(path)] == []
    # Nothing else stands in the cell that could be taken for a test
    assert re.sub(r"[`,\s]", "", NAMED.sub("", line[2])) == ""


def test_the_model_has_its_tables() -> None:
    assert len(LINES) >= 40
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for word in ("submission", "archive", "clone", "plug-in", "shared machine", "configuration"):
        assert any(word in heading for heading in headings), word


def test_each_test_of_the_folder_is_named() -> None:
    """What is not in the model shows nothing of it."""
    named = {(path, name) for line in LINES for path, name in NAMED.findall(line[2])}
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "tests" / "security").glob("test_*.py")
        for name in names_in(path.relative_to(ROOT).as_posix())
        if name.startswith("test_") and path.name != "test_audit.py"
    }
    assert found - named == UNNAMED


UNNAMED = {
    ("tests/security/test_clone.py", "test_a_newer_git_is_not_refused"),
    ("tests/security/test_archive.py", "test_a_folder_may_come_after_what_is_in_it_but_once"),
    ("tests/security/test_clone.py", "test_settings_that_the_surroundings_pass_are_kept"),
    ("tests/security/test_clone_files.py", "test_a_branch_that_another_work_tree_has_is_refused"),
    ("tests/security/test_clone_files.py", "test_a_linked_work_tree_is_a_clone"),
    ("tests/security/test_clone_files.py", "test_a_store_of_objects_may_be_shared"),
    ("tests/security/test_clone_files.py", "test_clones_that_lack_a_part_are_clones"),
    ("tests/security/test_clone_files.py", "test_objects_by_another_hash_are_read"),
    ("tests/security/test_clone_settings.py", "test_a_commit_is_signed_where_the_user_wishes_it"),
    ("tests/security/test_clone_remote.py", "test_a_plain_address_is_taken"),
    (
        "tests/security/test_clone_settings.py",
        "test_conditions_in_the_users_own_configuration_hold",
    ),
    ("tests/security/test_clone_settings.py", "test_names_of_persons_are_taken_from_the_clone"),
}
"""Of harmless use: that the defence does not stand in its way."""


def test_the_policy_leads_to_the_model() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "(docs/security.md)" in text
    assert "private vulnerability reports" in text
