"""Markdown: what logs say is shown, never obeyed."""

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
"""What GitHub makes a link of, each by its own filter, after it has made HTML of the Markdown."""


def linked(source: str) -> bool:
    """Whether Markdown comes out with a link or markup, or with text that becomes one."""
    shown = PARSER.render(source)
    # Filters look at one text node after the other: a comment between two separates them
    pieces = re.split(r"<!-- -->|</?[a-z0-9]+>", shown)
    return bool(re.search(r"<(?:a|img|script)\b", shown)) or any(
        BY_ITSELF.search(html.unescape(piece)) for piece in pieces
    )


@pytest.mark.parametrize("text", LINKS)
@pytest.mark.parametrize("before", ["", " ", "x ", "_", "("])
def test_no_text_becomes_a_link(text: str, before: str) -> None:
    assert not linked(f"| a |\n| --- |\n| {markdown.escape(before + text)} |\n")
    assert not linked(f"# {markdown.escape(before + text)}")
    assert not linked(f"x <code>{markdown.escape(before + text)}</code>")


def test_links_are_seen() -> None:
    assert all(map(linked, ("www.x.org", "[a](b)", "<a href=b>c</a>", "a@b.c", "see #1")))


@CALM
@given(st.lists(st.sampled_from([*LINKS, *"_*(<[]`|~&:./@#", "www", "GH-", "1", " "])))
def test_no_text_made_of_parts_of_links_becomes_one(parts: list[str]) -> None:
    assert not linked(f"| a |\n| --- |\n| x{markdown.escape(''.join(parts))} |\n")


@CALM
@given(REPORTS)
def test_markdown_tables_hold_every_finding_of_its_own_cause(display_path: Outcome) -> None:
    tokens = PARSER.parse(markdown.render(display_path))
    heads = sum(token.type == "thead_open" for token in tokens)
    rows = sum(token.type == "tr_open" for token in tokens) - heads
    # The first is that of the counts
    _, submissions = submission_table(display_path)
    assert rows == 1 + len(submissions) + len(own_findings(display_path))


def test_long_tables_are_cut_and_say_so() -> None:
    made = report([finding(f"result_{number}.txt") for number in range(markdown.MOST_ROWS + 3)])
    told = markdown.render(made)
    assert told.count("| opt_adamw_beta_2 is 0.8") == markdown.MOST_ROWS
    assert "and 3 more; other formats list them" in told
