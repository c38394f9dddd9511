"""The notebook display: each finding once, and text from logs never as markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given

from podium import ComplianceError, __version__, check, score
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.models import publish
from tests.builders import build
from tests.compliance.command_line import podium
from tests.compliance.render_reports import CALM, ODD, REPORTS, finding, report, sample

TAGS = {"div", "p", "br", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "em"}


class _Page(HTMLParser):
    """The tags, the rows and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs == []
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data


def shown(found: Outcome) -> _Page:
    page = _Page(publish(found)._repr_html_())  # type: ignore[operator]
    assert page.open == []
    return page


def test_repeated_errors_share_a_row_and_rows_are_sorted_by_severity() -> None:
    page = shown(sample(copies=7))
    head, *rows = page.rows
    assert head == ["severity", "rule", "found", "first in", "message"]
    assert [row[0] for row in rows] == sorted(
        (row[0] for row in rows), key=["error", "warning", "note", "waived"].index
    )
    [common] = [row for row in rows if row[0] == "error" and row[4].startswith("opt_adamw_beta_2")]
    assert common[1:4] == [
        "closed.llama31_8b.opt_adamw_beta_2",
        "8 times",
        "acme/results/8xA100/llama31_8b/result_0.txt:24",
    ]
    assert "help: set opt_adamw_beta_2 to 0.95" in common[4]
    assert page.text.strip().startswith("REJECTED")


def test_a_report_without_findings_has_no_table() -> None:
    page = shown(report([], "a"))
    assert (page.rows, page.tags) == ([], {"div", "p", "br", "strong"})
    assert page.text.split()[0] == "ACCEPTED"


def test_omitted_rows_are_counted() -> None:
    faults = [finding("a", id=f"rule-{number}") for number in range(23)]
    page = shown(report(faults, "a"))
    assert len(page.rows) == 21
    assert "and 3 other faults" in page.text


def test_markup_from_a_log_is_shown_as_text() -> None:
    page = shown(report([finding(ODD, message="<script>alert(1)</script> $x$ &amp;")], ODD))
    assert page.tags <= TAGS
    assert "<script>alert(1)</script> $x$ &amp;" in page.rows[1][4]
    assert "$" not in publish(report([finding("a", message="$x$")], "a"))._repr_html_()  # type: ignore[operator]


@CALM
@given(REPORTS)
def test_text_from_a_report_stays_in_its_cell(found: Outcome) -> None:
    page = shown(found)
    assert page.tags <= TAGS
    assert all(len(row) == 5 for row in page.rows)
    assert not any(char in page.text for char in "\x1b\x00\x9b\u202e")


# --- Python callers get what the command prints ---


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with errors."""
    bad = build("training", "5.1", "closed", "llama31_8b").set("opt_name", "\ud800 NaN")
    return bad.set("opt_adamw_beta_2", float("inf")).write(tmp_path / "result_0.txt")


def test_model_dump_json_of_a_report_is_the_output_of_check(log: Path) -> None:
    printed = podium("check", log, "--round", "5.1", "--format", "json").stdout
    report = check(log, round="5.1")
    assert report.model_dump_json() == report.to_json() == printed  # type: ignore[attr-defined]
    on_one_line = report.model_dump_json(indent=None)  # type: ignore[attr-defined]
    assert on_one_line.count("\n") == 1


def test_model_dump_json_of_scores_is_the_output_of_score(log: Path) -> None:
    printed = podium("score", log, "--round", "5.1", "--format", "json").stdout
    assert score(log, round="5.1").model_dump_json() == printed


def test_the_command_prints_the_version_of_the_package() -> None:
    assert podium("--version").stdout == f"podium {__version__}\n"


def test_a_missing_path_raises_a_compliance_error() -> None:
    with pytest.raises(ComplianceError, match="no such file or folder: nowhere"):
        check("nowhere")
