"""The pages generated from the rules: present, up to date and complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from podium.compliance.rulebook.catalogue import FIXED, all_rules
from podium.compliance.rulebook.pages import (
    COLUMNS,
    COVERAGE_PAGE,
    FIXED_PAGE,
    pages,
    pages_folder,
    stale_pages,
    write_pages,
)
from podium.compliance.rulebook.tables.tables import tables
from podium.rules.catalogue import USAGES, rounds_of
from tests.compliance.command_line import podium

if TYPE_CHECKING:
    from pathlib import Path

PARSER = MarkdownIt("commonmark").enable("table")


def test_the_committed_pages_are_up_to_date() -> None:
    stale = stale_pages()
    assert not stale, f"run `podium rules pages --write`: {', '.join(stale[:5])}"


def test_generating_the_pages_twice_gives_the_same_text() -> None:
    assert pages() == pages()


@pytest.mark.parametrize("usage", USAGES)
def test_every_rule_of_a_round_is_on_a_page(usage: str) -> None:
    made = pages()
    for rules in rounds_of(usage).values():
        folder = f"{usage}-{rules.name}"
        text = "".join(page for name, page in made.items() if name.startswith(f"{folder}/"))
        assert f"(../{FIXED_PAGE})" in made[f"{folder}/README.md"]
        text += made[FIXED_PAGE]
        hidden = {table.name for table in tables(rules).values() if table.hidden}
        for rule in all_rules(rules):
            assert rule.table in hidden or f"`{rule.id}`" in text
        assert f"({folder}/README.md)" in made["README.md"]


def test_the_fixed_rules_are_on_one_page_only() -> None:
    # The page of clauses names rules of every kind but does not describe them
    made = {name: page for name, page in pages().items() if name != COVERAGE_PAGE}
    for rule in FIXED:
        where = [name for name, page in made.items() if f"`{rule.id}`" in page]
        assert where == [FIXED_PAGE], rule.id


def test_tables_are_valid_markdown_with_all_columns_in_the_header() -> None:
    for name, page in pages().items():
        for token in PARSER.parse(page):
            if token.type == "inline" and token.content.startswith("| Name |"):
                pytest.fail(f"a table of {name} is not read as one")
        rows = [line for line in page.splitlines() if line.startswith("| ") and "`" in line]
        heads = {line.count(" | ") for line in page.splitlines() if line.startswith("| Name | Con")}
        assert heads <= {len(COLUMNS) - 1}
        assert all(line.endswith(" |") for line in rows)


def test_stale_pages_are_listed_and_rewritten(tmp_path: Path) -> None:
    assert len(write_pages(tmp_path)) == len(pages())
    assert stale_pages(tmp_path) == []
    index, extra = tmp_path / "README.md", tmp_path / "training-6.1" / "no_benchmark.md"
    index.write_text("old")
    extra.write_text("left over")
    (tmp_path / "training-6.1" / "llama31_8b.md").unlink()
    wanted = ["README.md", "training-6.1/llama31_8b.md", "training-6.1/no_benchmark.md"]
    assert stale_pages(tmp_path) == wanted
    reported = podium("rules", "pages", "--to", tmp_path)
    assert (reported.exit_code, reported.output.count("stale: ")) == (1, 3)
    reported = podium("rules", "pages", "--write", "--to", tmp_path)
    assert (reported.exit_code, reported.output.count("written: ")) == (0, 3)
    assert stale_pages(tmp_path) == []
    assert not extra.exists()


def test_the_pages_are_in_the_rules_folder() -> None:
    assert pages_folder().parts[-2:] == ("rules", "pages")
