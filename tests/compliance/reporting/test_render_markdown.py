"""Markdown output: text from logs is shown and never interpreted."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from podium.compliance.reporting.grouping import own_findings
from podium.compliance.reporting.render import markdown
from podium.compliance.reporting.render.words import submission_table
from podium.compliance.text.terminal import clean
from tests.compliance.render_reports import CALM, REPORTS, TEXT, finding, report

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def cell(source: str) -> str:
    found = re.search("<td>(.*)</td>", PARSER.render(f"| a |\n| --- |\n| {source} |\n"))
    assert found is not None
    return found[1].replace("<!-- -->", "")


@CALM
@given(TEXT)
def test_escaped_text_is_shown_unchanged(raw: str) -> None:
    display_path = cell(markdown.escape(f"x{raw}x"))
    assert "<" not in display_path
    assert html.unescape(display_path) == clean(f"x{raw}x")


@CALM
@given(TEXT)
def test_code_is_shown_unchanged(raw: str) -> None:
    display_path = re.fullmatch("<code>([^<]*)</code>", cell(markdown.code(f"x{raw}x")))
    assert display_path is not None
    assert html.unescape(display_path[1]) == clean(f"x{raw}x")


LINKS = (
    *("@all", "#12", "GH-12", "acme/private#12", "a@evil.example", "mailto:a@evil.example"),
    *("http://evil.example", "HTTPS://evil.example", "ftp://evil.example", "www.evil.example"),
    *("_www.evil.example", "(www.evil.example)", "~WWW.evil.example", "xmpp:a@evil.example/x"),
    *("[text](http://evil.example)", "[text][1]", "![](//evil.example/pixel.png)", "[^1]"),
    *("<a href=//evil.example>x</a>", "<http://evil.example>", "<img src=x>", "&lt;b&gt;"),
    *("http:\\u200b//evil.example", "**@team**", "`@team`", "$x$"),
)
BY_ITSELF = re.compile(
    r"@\w|#\d|\bGH-\d|(?:https?|ftp)://|www\.|[\w.+-]@[\w-]|(?:mailto|xmpp):\S",
    re.IGNORECASE,
)
"""Text that GitHub turns into links with separate filters, after it has rendered Markdown."""


def linked(source: str) -> bool:
    """Return whether rendered Markdown has a link, markup or text that GitHub turns into a link."""
    shown = PARSER.render(source)
    # A filter reads one text node at a time: a comment between two nodes separates them
    pieces = re.split(r"<!-- -->|</?[a-z0-9]+>", shown)
    return bool(re.search(r"<(?:a|img|script)\b", shown)) or any(
        BY_ITSELF.search(html.unescape(piece)) for piece in pieces
    )


@pytest.mark.parametrize("text", LINKS)
@pytest.mark.parametrize("before", ["", " ", "x ", "_", "("])
def test_escaped_text_does_not_become_a_link(text: str, before: str) -> None:
    assert not linked(f"| a |\n| --- |\n| {markdown.escape(before + text)} |\n")
    assert not linked(f"# {markdown.escape(before + text)}")
    assert not linked(f"x <code>{markdown.escape(before + text)}</code>")


def test_the_helper_detects_links() -> None:
    assert all(map(linked, ("www.x.org", "[a](b)", "<a href=b>c</a>", "a@b.c", "see #1")))


@CALM
@given(st.lists(st.sampled_from([*LINKS, *"_*(<[]`|~&:./@#", "www", "GH-", "1", " "])))
def test_escaped_fragments_of_links_do_not_become_a_link(parts: list[str]) -> None:
    assert not linked(f"| a |\n| --- |\n| x{markdown.escape(''.join(parts))} |\n")


@CALM
@given(REPORTS)
def test_markdown_tables_list_every_finding_that_is_not_a_consequence(
    display_path: Outcome,
) -> None:
    tokens = PARSER.parse(markdown.render(display_path))
    heads = sum(token.type == "thead_open" for token in tokens)
    rows = sum(token.type == "tr_open" for token in tokens) - heads
    # The first row is in the table of counts
    _, submissions = submission_table(display_path)
    assert rows == 1 + len(submissions) + len(own_findings(display_path))


def test_long_tables_are_truncated_and_state_how_many_rows_are_missing() -> None:
    made = report([finding(f"result_{number}.txt") for number in range(markdown.MOST_ROWS + 3)])
    reported = markdown.render(made)
    assert reported.count("| opt_adamw_beta_2 is 0.8") == markdown.MOST_ROWS
    assert "and 3 more; other formats list them" in reported
