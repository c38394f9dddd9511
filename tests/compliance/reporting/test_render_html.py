"""The HTML page: it shows every finding as text, loads nothing, and filters in the browser."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.pages.templates import page_policy
from podium.compliance.reporting.render import html as page
from podium.compliance.text.terminal import clean
from tests.builders import LogBuilder
from tests.compliance.render_reports import CALM, ODD, REPORTS, big_round, finding, report
from tests.compliance.web import console_lines
from tests.locations import ASKED

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome

VOID = {"meta", "input"}
PARTS = ("style", "script")
CELLS = {"td", "summary", "dd"}
MAIN = '<main id="main" tabindex="-1">'


class Reader(HTMLParser):
    """A parsed page: its elements, its attributes and the text of its cells."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)
        if tag in CELLS:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if CELLS & {*self.open}:
            self.texts[-1] += data


PLAIN = Reader(page.render(big_round()))


@CALM
@given(REPORTS)
def test_text_from_a_log_is_shown_and_never_interpreted(made: Outcome) -> None:
    read = Reader(page.render(made))
    assert read.open == []
    assert {*read.tags} <= {*PLAIN.tags} | {"p"}
    assert read.attributes <= PLAIN.attributes | {"open"}
    assert (read.tags["script"], read.tags["style"]) == (1, 1)
    cells = Counter(read.texts)
    for each in made.findings:
        assert cells[clean(each.path) or "."]
        assert any(text.endswith(clean(each.message)) for text in cells)


def test_hostile_names_cannot_add_elements_or_scripts() -> None:
    hostile = '"><script>alert(1)</script><a href=javascript:x onclick=y>'
    made = report([finding(f"{hostile}/r.txt", id=hostile, message=hostile), finding(ODD)], ODD)
    source = page.render(made)
    assert "<script>alert" not in source
    assert Reader(source).tags == Reader(source.replace(html.escape(hostile), "x")).tags
    assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', source))


def test_the_page_loads_no_external_resources() -> None:
    source = page.render(big_round())
    style, script = (re.findall(f"<{tag}>(.*?)</{tag}>", source, re.S) for tag in PARTS)
    assert (len(style), len(script)) == (1, 1)
    assert (
        f'http-equiv="Content-Security-Policy" content="{page_policy(*style, *script)}"' in source
    )
    assert "unsafe" not in page_policy(*style, *script)
    assert not PLAIN.attributes & {"src", "href", "action", "srcset", "style"}
    assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttp|import\(", source)


def test_the_page_shows_both_verdicts_and_every_submission() -> None:
    source = page.render(big_round())
    assert "<span>policy</span> <strong>rejected</strong>" in source
    assert "<span>official verifier</span> <strong>accepted</strong>" in source
    for name in ("acme", "bolt", "cork"):
        assert f'<td class="{name}">{name}</td>' in source
        assert f"<h2>{name}</h2>" in source


def test_a_few_groups_are_expanded_and_many_are_collapsed() -> None:
    few = page.render(report([finding("a"), finding("b", message="other")]))
    assert len(re.findall(r"<details class=\"group[^>]* open>", few)) == 2
    assert not re.search(r"<details class=\"group[^>]* open>", page.render(big_round()))


def test_the_check_command_writes_the_page(good: LogBuilder, tmp_path: Path) -> None:
    log, output = tmp_path / "logs/result_0.txt", tmp_path / "out.html"
    log.parent.mkdir()
    good.set("opt_adamw_beta_2", 0.5).write(log)
    words = ["check", str(log), "--round", "5.1", "--format", "html", "--output", str(output)]
    assert cli.run(words) == Exit.FOUND
    assert "opt_adamw_beta_2 is 0.5; must be 0.95" in output.read_text(encoding="utf-8")


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of Chromium: without it a test is skipped, or fails if a full run was requested."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        (pytest.fail if ASKED else pytest.skip)("chromium is not here")
    return found


def seen(browser: str, folder: Path, source: str, act: str = "") -> str:
    """Return the DOM of a page after the browser has run the script `act` in it."""
    file = folder / "page.html"
    allowed = page_policy("", act).partition("script-src ")[2].partition(";")[0]
    source = source.replace("script-src ", f"script-src {allowed} " if act else "script-src ")
    file.write_text(source.replace("</body>", f"<script>{act}</script></body>"), encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile")
    done = subprocess.run(
        [browser, *flags, "--virtual-time-budget=2000", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def complaints(browser: str, folder: Path, source: str) -> list[str]:
    """Return the errors and policy violations that the browser writes to its console."""
    file = folder / "page.html"
    file.write_text(source, encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile")
    done = subprocess.run(
        [browser, *flags, "--enable-logging=stderr", "--virtual-time-budget=2000", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return console_lines(done.stderr)


@pytest.mark.parametrize(
    ("spoilt", "reported"),
    [
        ("", ""),
        ("<script>nothing_of_that_name()</script>", "Content Security Policy"),
        ('<img src="https://example.org/a.png">', "Content Security Policy"),
    ],
)
def test_only_a_damaged_page_writes_errors_to_the_console(
    browser: str, tmp_path: Path, spoilt: str, reported: str
) -> None:
    source = page.render(big_round()).replace("</body>", f"{spoilt}</body>")
    found = complaints(browser, tmp_path, source)
    assert bool(found) is bool(spoilt)
    assert all(reported in line for line in found)


def choose(name: str, value: str) -> str:
    """Return a script that fills in a field of the filter."""
    return (
        f'const f = document.getElementById("filter"); f.elements.{name}.value = "{value}";'
        "f.dispatchEvent(new Event('input'));"
        "document.title = [...document.querySelectorAll('details.group')]"
        ".filter((g) => !g.hidden).length + ' shown, ' + f.querySelector('output').value;"
    )


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("rule", "common.run_stop", r'data-rule="common\.run_stop"'),
        ("submission", "bolt", 'data-submission="bolt"'),
        ("text", "RUN_STOP exactly", r'data-rule="common\.run_stop"'),
        ("text", "no such words", "never"),
    ],
)
def test_groups_are_filtered_in_the_browser(
    browser: str, tmp_path: Path, name: str, value: str, wanted: str
) -> None:
    source = page.render(big_round())
    groups = re.findall(r"<details class=\"group [^>]*>", source)
    number = sum(bool(re.search(wanted, group)) for group in groups)
    shown = seen(browser, tmp_path, source, choose(name, value))
    assert f"<title>{number} shown, {number} of {len(groups)} groups</title>" in shown
    assert '<form id="filter">' in shown  # the form is hidden if scripts are disabled
    assert (number == 0) == (value == "no such words")


def test_severities_are_filtered_in_the_browser(browser: str, tmp_path: Path) -> None:
    source = page.render(big_round())
    off = "document.querySelector('[value=error]').checked = false;"
    shown = seen(browser, tmp_path, source, off + choose("text", ""))
    groups = re.findall(r"<details class=\"group (\w+)\"", source)
    assert f"<title>{len(groups) - groups.count('error')} shown, " in shown


def test_the_browser_does_not_run_scripts_from_a_log(browser: str, tmp_path: Path) -> None:
    hostile = (
        "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    )
    shown = seen(browser, tmp_path, page.render(report([finding("a", message=hostile)])))
    assert "<title>podium: training 5.1, profile policy</title>" in shown
    assert "<img" not in shown


@pytest.mark.parametrize(
    "smuggled",
    [
        "<script>document.title='owned'</script>",
        "<img src=x onerror=\"document.title='owned'\">",
        "<a id=a href=\"javascript:document.title='owned'\">x</a>",
        "<svg onload=\"document.title='owned'\"></svg>",
        "<iframe srcdoc=\"<script>parent.document.title='owned'</script>\"></iframe>",
        "<style>body { content: 'owned' }</style><script src='data:,document.title=1'></script>",
    ],
)
def test_the_content_security_policy_blocks_unescaped_scripts(
    browser: str, tmp_path: Path, smuggled: str
) -> None:
    source = page.render(big_round())
    title = "<title>podium: training 5.1, profile policy</title>"
    assert title in seen(browser, tmp_path, source.replace(MAIN, f"{MAIN}{smuggled}"))
    # Without the policy, the simple payloads run: this shows that the test can fail
    bare = re.sub(r"<meta http-equiv=[^>]*>", "", source).replace(MAIN, f"{MAIN}{smuggled}")
    if "owned'<" in smuggled or "onerror" in smuggled:
        assert title not in seen(browser, tmp_path, bare)
