"""Markdown: what logs say is shown, never obeyed."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from hypothesis import given
from markdown_it import MarkdownIt

from podium.compliance.report.render import markdown
from podium.compliance.report.terminal import clean
from tests.compliance.render_reports import CALM, REPORTS, TEXT

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
def test_markdown_tables_hold_every_finding(display_path: Outcome) -> None:
    tokens = PARSER.parse(markdown.render(display_path))
    heads = sum(token.type == "thead_open" for token in tokens)
    rows = sum(token.type == "tr_open" for token in tokens) - heads
    assert rows == 1 + len(display_path.findings)  # the first is that of the counts
