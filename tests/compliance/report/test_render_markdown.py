"""Markdown: what logs say is shown, never obeyed."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from hypothesis import given
from markdown_it import MarkdownIt

from podium.compliance.report.grouping import own_findings
from podium.compliance.report.render import markdown
from podium.compliance.report.terminal import clean
from tests.compliance.render_reports import CALM, REPORTS, TEXT, finding, report

if TYPE_CHECKING:
    from podium.compliance.report.data import Outcome

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def cell(source: str) -> str:
    found = re.search("<td>(.*)</td>", PARSER.render(f"| a |\n| --- |\n| {source} |\n"))
    assert found is not None
    return found[1].replace("<!-- -->", "")


@CALM
@given(TEXT)
def test_escaped_text_is_shown_as_it_is(raw: str) -> None:
    display_path = cell(markdown.escape(f"x{raw}x"))
    assert "<" not in display_path
    assert html.unescape(display_path) == clean(f"x{raw}x")


@CALM
@given(TEXT)
def test_code_is_shown_as_it_is(raw: str) -> None:
    display_path = re.fullmatch("<code>([^<]*)</code>", cell(markdown.code(f"x{raw}x")))
    assert display_path is not None
    assert html.unescape(display_path[1]) == clean(f"x{raw}x")


def test_mentions_and_links_are_broken() -> None:
    display_path = markdown.escape("@all #12 http://x www.x.org")
    assert not re.search(r"@all|#12|http://|www\.", display_path)


@CALM
@given(REPORTS)
def test_markdown_tables_hold_every_finding_of_its_own_cause(display_path: Outcome) -> None:
    tokens = PARSER.parse(markdown.render(display_path))
    heads = sum(token.type == "thead_open" for token in tokens)
    rows = sum(token.type == "tr_open" for token in tokens) - heads
    # The first is that of the counts
    assert rows == 1 + len(display_path.submissions) + len(own_findings(display_path))


def test_long_tables_are_cut_and_say_so() -> None:
    made = report([finding(f"result_{number}.txt") for number in range(markdown.MOST_ROWS + 3)])
    told = markdown.render(made)
    assert told.count("| opt_adamw_beta_2 is 0.8") == markdown.MOST_ROWS
    assert "and 3 more, which the other formats list" in told
