"""The README: short, and the verdict that it shows is what podium prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.locations import ROOT

README = ROOT / "README.md"


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < 150


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


def test_the_verdict_shown_is_what_podium_prints(
    tmp_path: Path, good: LogBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good.set("opt_adamw_beta_2", 0.98).write(tmp_path / "result_0.txt")
    text = README.read_text()
    assert "$ podium check result_0.txt --round 5.1\n" in text
    done = podium("check", "result_0.txt", "--round", "5.1")
    assert done.exit_code == 1
    assert f"```text\n{done.stdout}```" in text
