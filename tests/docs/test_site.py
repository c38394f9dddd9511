"""The site builds without the test tools, loads nothing from other hosts and has a search."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.locations import ASKED, ROOT

pytestmark = pytest.mark.long

LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"?(https?:[^\">\s]+)|<link[^>]+href=\"?(https?:[^\">\s]+)"
)


BUILD = """
import sys
sys.modules.update(dict.fromkeys(("pytest", "mlperf_logging")))  # importing them fails
from mkdocs.__main__ import cli
cli(["build", "--strict", "--quiet", "--site-dir", sys.argv[1]])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(place)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def test_no_page_loads_a_resource_from_another_host(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 150
    loaded = {match[0] for page in pages for match in LOADED.finditer(page.read_text())}
    assert loaded == set()


def test_the_site_has_every_page_of_the_docs_folder(site: Path) -> None:
    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert names | {"index", "commands", "python", "results_tables"} <= {
        path.stem for path in site.glob("*.html")
    }


def rules_of(page: str, message: str) -> set[str]:
    """The rules in the row of a message of the official tools."""
    row = next(row for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if message in row)
    return set(re.findall(r"<code>([\w.-]+)</code>", row))


def test_messages_of_the_official_tools_are_mapped_to_rules(site: Path) -> None:
    page = (site / "symptoms.html").read_text(encoding="utf-8")
    assert "seeds.none" in rules_of(page, "logs no seed")
    assert rules_of(page, "already logs the same seed") == {"seeds.repeated"}
    assert rules_of(page, "RCP Test Failed") >= {"rcp.failed"}
    assert "common.KEY" in rules_of(page, "EXACTLY_ONE occurrence")
    assert rules_of(page, "Missing field") == {"system.missing-field"}


def search(site: Path, words: str, profile: Path) -> list[str]:
    """The pages that the search in Chromium finds, best first."""
    browser = shutil.which("chromium")
    if browser is None:
        if ASKED:
            pytest.fail("Debian's chromium is missing")
        pytest.skip("needs Debian's chromium")
    done = subprocess.run(
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", f"--user-data-dir={profile}"),
            *("--virtual-time-budget=8000", "--dump-dom"),
            f"{(site / 'index.html').as_uri()}?q={quote(words)}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    links = re.findall(r'href="([^"]+)" class="md-search-result__link"', done.stdout)
    return [Path(re.split(r"[?#]", link)[0]).name for link in links]


def test_the_search_works_with_a_file_url(site: Path, tmp_path: Path) -> None:
    assert len(search(site, "seed", tmp_path)) > 10


@pytest.mark.parametrize(
    "message", ["Missing field cooling", "logs no seed", "RCP Test Failed", "No log lines detected"]
)
def test_the_search_finds_an_official_message(site: Path, tmp_path: Path, message: str) -> None:
    assert search(site, message, tmp_path)[0] == "symptoms.html"


def test_a_page_links_to_the_previous_and_next_page(site: Path) -> None:
    page = (site / "packing.html").read_text(encoding="utf-8")
    assert "md-footer__link--prev" in page
    assert "md-footer__link--next" in page


def test_the_symptoms_page_has_the_messages_of_the_installed_tools() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import symptoms; print(symptoms.page(), end='')"],
        cwd=ROOT / "docs/site",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs/symptoms.md").read_text(encoding="utf-8")
    assert page == done.stdout, "run `python docs/site/symptoms.py`"


def test_choices_of_options_are_shown_without_a_backslash(site: Path) -> None:
    page = (site / "commands.html").read_text(encoding="utf-8")
    assert "\\|" not in page
    assert "<th>Name</th>" in page
