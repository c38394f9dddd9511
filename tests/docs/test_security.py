"""Every line of the threat model names existing tests."""

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
    """Yield the tables of the page, as rows of cells."""
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
    """Return the names of the functions of a module; empty if the file does not exist."""
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
    # The cell contains nothing but the names of tests
    assert re.sub(r"[`,\s]", "", NAMED.sub("", line[2])) == ""


def test_the_threat_model_has_all_its_sections() -> None:
    assert len(LINES) >= 40
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for word in ("submission", "archive", "clone", "plug-in", "shared machine", "configuration"):
        assert any(word in heading for heading in headings), word


def test_every_security_test_is_named_in_the_threat_model() -> None:
    """`UNNAMED` lists the exceptions."""
    named = {(path, name) for line in LINES for path, name in NAMED.findall(line[2])}
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "tests" / "security").glob("test_*.py")
        for name in names_in(path.relative_to(ROOT).as_posix())
        if name.startswith("test_") and path.name != "test_audit.py"
    }
    assert found - named == UNNAMED


UNNAMED = {
    ("tests/security/test_clone.py", "test_a_supported_git_version_is_accepted"),
    ("tests/security/test_archive.py", "test_a_folder_entry_after_its_contents_is_counted_once"),
    ("tests/security/test_clone.py", "test_git_settings_in_environment_variables_are_kept"),
    (
        "tests/security/test_clone_files.py",
        "test_a_branch_checked_out_in_another_work_tree_is_refused",
    ),
    ("tests/security/test_clone_files.py", "test_a_linked_work_tree_is_accepted"),
    ("tests/security/test_clone_files.py", "test_a_clone_with_shared_objects_is_accepted"),
    ("tests/security/test_clone_files.py", "test_shallow_and_sparse_clones_are_accepted"),
    ("tests/security/test_clone_files.py", "test_a_clone_with_sha256_objects_is_accepted"),
    ("tests/security/test_clone_settings.py", "test_a_commit_is_signed_with_the_users_own_program"),
    ("tests/security/test_clone_remote.py", "test_a_supported_remote_address_is_accepted"),
    (
        "tests/security/test_clone_settings.py",
        "test_conditional_includes_of_the_user_apply",
    ),
    ("tests/security/test_clone_settings.py", "test_the_author_name_is_read_from_the_clone"),
}
"""Tests of legitimate use that the defenses must not block."""


def test_the_security_policy_links_to_the_threat_model() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "(docs/security.md)" in text
    assert "private vulnerability reports" in text
