"""The README is short and leads to every page in at most two links."""

from __future__ import annotations

import re

from tests.locations import ROOT

README = ROOT / "README.md"


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 80


def test_every_page_is_at_most_two_links_from_the_readme() -> None:
    """The second link may be on CONTRIBUTING.md or on a page that the README links to."""
    docs = ROOT / "docs"
    linked = set(re.findall(r"\]\(docs/([\w.]+\.md)\)", README.read_text()))
    near = {
        name
        for page in (ROOT / "CONTRIBUTING.md", *(docs / each for each in linked))
        for name in re.findall(r"\]\((?:docs/)?([\w.]+\.md)\)", page.read_text())
    }
    assert {page.name for page in docs.glob("*.md")} - linked - near == set()
