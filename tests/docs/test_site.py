"""The site builds strictly, loads nothing from elsewhere, and its search works from file://."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.locations import ASKED, ROOT

pytestmark = pytest.mark.long

LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"?(https?:[^\">\s]+)|<link[^>]+href=\"?(https?:[^\">\s]+)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 150
    loaded = {match[0] for page in pages for match in LOADED.finditer(page.read_text())}
    assert loaded == set()


def test_every_page_of_the_folder_is_there(site: Path) -> None:
    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert names | {"index", "commands", "python", "symptoms"} <= {
        path.stem for path in site.glob("*.html")
    }


def rules_beside(page: str, message: str) -> set[str]:
    """The rules in the row of a message of the official tools."""
    row = next(row for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if message in row)
    return set(re.findall(r"<code>([\w.-]+)</code>", row))


def test_messages_of_the_official_tools_lead_to_rules(site: Path) -> None:
    page = (site / "symptoms.html").read_text(encoding="utf-8")
    assert "seeds.none" in rules_beside(page, "logs no seed")
    assert rules_beside(page, "already logs the same seed") == {"seeds.repeated"}
    assert rules_beside(page, "RCP Test Failed") >= {"rcp.failed"}
    assert "common.KEY" in rules_beside(page, "EXACTLY_ONE occurrence")
    assert rules_beside(page, "Missing field") == {"system.missing-field"}


def test_the_search_answers_from_a_files_address(site: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        if ASKED:
            pytest.fail("Debian's chromium is missing")
        pytest.skip("needs Debian's chromium")
    address = f"{(site / 'index.html').as_uri()}?q=seed"
    done = subprocess.run(
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", f"--user-data-dir={tmp_path}"),
            *(
                "--virtual-time-budget=8000",
                "--dump-dom",
                address,
            ),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"(\d+) matching documents", done.stdout)
    assert found
    assert int(found[1]) > 10


def test_choices_of_options_are_shown_without_a_backslash(site: Path) -> None:
    page = (site / "commands.html").read_text(encoding="utf-8")
    assert "\\|" not in page
    assert "<th>Name</th>" in page
