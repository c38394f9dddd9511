"""The README: short, and it leads to every page."""

from __future__ import annotations

import re

from tests.locations import ROOT

README = ROOT / "README.md"


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 80


def test_every_page_can_be_reached_from_it() -> None:
    """By one step through another page at most."""
    docs = ROOT / "docs"
    linked = set(re.findall(r"\]\(docs/([\w.]+\.md)\)", README.read_text()))
    near = {
        name
        for page in (ROOT / "CONTRIBUTING.md", *(docs / each for each in linked))
        for name in re.findall(r"\]\((?:docs/)?([\w.]+\.md)\)", page.read_text())
    }
    assert {page.name for page in docs.glob("*.md")} - linked - near == set()
