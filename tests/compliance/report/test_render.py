"""Every format: golden output, and laws that hold for whatever logs and file names say."""

from __future__ import annotations

import os
import re
import time
from functools import partial
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from podium.compliance.report.data import Outcome, conclude
from podium.compliance.report.render import FORMATS, github, junit, markdown, renderer, text
from podium.compliance.report.terminal import clean, columns, wrap, wrap_path
from podium.rules.finding import Severity
from tests.compliance.render_reports import (
    CALM,
    REPORTS,
    RULES,
    TEXT,
    finding,
    log,
    report,
    sample,
)
from tests.locations import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable

# --- golden output: PODIUM_GOLDEN=write regenerates it; then read the difference ------------------


@pytest.mark.parametrize(
    ("name", "output"),
    [
        *((f"report.{name}", partial(renderer(name), sample())) for name in FORMATS),
        ("narrow.txt", lambda: text.render(sample(), width=50)),
        ("quiet.txt", lambda: text.render(sample(), quiet=True)),
        ("folded.md", lambda: markdown.render(sample(copies=14))),
    ],
)
def test_output_is_as_recorded(name: str, output: Callable[[], str]) -> None:
    path = GOLDEN / name
    if os.environ.get("PODIUM_GOLDEN") == "write":
        path.write_text(output(), encoding="utf-8")
    assert output() == path.read_text(encoding="utf-8")


# --- laws over any report -------------------------------------------------------------------------


@CALM
@given(REPORTS, st.integers(20, 120), st.booleans())
def test_text_is_never_wider_than_asked(display_path: Outcome, width: int, quiet: bool) -> None:
    lines = text.render(display_path, width=width, quiet=quiet).splitlines()
    assert [line for line in lines if cell_len(line) > width] == []


@CALM
@given(REPORTS)
def test_colour_only_adds_colour(display_path: Outcome) -> None:
    coloured = text.render(display_path, color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text.render(display_path)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])  # which is exact
@CALM
@given(REPORTS)
def test_output_is_one_clean_text(name: str, display_path: Outcome) -> None:
    output = renderer(name)(display_path)
    assert output.endswith("\n")
    assert not output.endswith("\n\n")
    assert all(line.isprintable() for line in output.split("\n"))
    assert output.encode()
    assert output == renderer(name)(display_path)


@CALM
@given(TEXT)
def test_clean_text_is_one_printable_line(raw: str) -> None:
    assert clean(raw).isprintable()
    assert clean(clean(raw)) == clean(raw)


@CALM
@given(TEXT, st.integers(4, 60))
def test_wrapping_a_path_loses_nothing(raw: str, width: int) -> None:
    path = clean(raw)
    lines = wrap_path(path, width, "> ", "  ")
    assert "".join(line[2:] for line in lines) == path
    assert all(columns(line) <= width for line in lines)


@CALM
@given(TEXT, st.integers(4, 60))
def test_wrapping_prose_loses_only_spaces(raw: str, width: int) -> None:
    lines = wrap(clean(raw), width, "> ", "  ")
    assert "".join(line[2:] for line in lines).replace(" ", "") == clean(raw).replace(" ", "")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain / text", "plain / text"),
        ("全角 é", "全角 é"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31m\x00\x7f\x9b", r"\x1b[31m\x00\x7f\x9b"),
        ("\u202eexe\u2066\u200b\ufeff", r"\u202eexe\u2066\u200b\ufeff"),
        ("\udcff\ufe0f\U000e0041", r"\udcff\ufe0f\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(raw: str, shown: str) -> None:
    assert clean(raw) == shown


# --- text ----------------------------------------------------------------------------------------


def test_a_single_passing_file_is_named() -> None:
    lines = text.render(report([], "result_0.txt")).splitlines()
    assert lines[0] == "PASS  result_0.txt  (llama31_8b, closed)"
    assert lines[-1] == "ACCEPTED"


def test_passing_files_among_many_are_only_counted() -> None:
    display_path = text.render(report([], "result_0.txt", "result_1.txt"))
    assert "result_0" not in display_path
    assert "2 logs judged" in display_path


def test_quiet_lists_a_shared_fault_once() -> None:
    display_path = text.render(
        report([finding(f"result_{number}.txt") for number in range(40)]), quiet=True
    )
    assert display_path.count("opt_adamw_beta_2 is 0.8") == 1
    assert "40 times in 40 files, first in result_0.txt:24" in display_path


def test_fifty_thousand_findings_take_seconds_at_most() -> None:
    display_path = report([finding(f"result_{number}.txt") for number in range(50_000)])
    start = time.perf_counter()
    text.render(display_path)
    assert time.perf_counter() - start < 5


# --- junit ---------------------------------------------------------------------------------------


@CALM
@given(REPORTS)
def test_junit_counts_are_those_of_its_cases(display_path: Outcome) -> None:
    suite = ET.fromstring(junit.render(display_path))[0]
    cases = suite.findall("testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert suite.get("tests") == str(len(cases))
    assert suite.get("failures") == str(len(failed))
    paths = {each.path for each in display_path.findings} | {
        each.path for each in display_path.files
    }
    assert len(cases) == len(paths)
    rejected = {
        each.path for each in display_path.findings if each.severity == "error" and not each.waived
    }
    assert len(failed) == len(rejected)


def test_junit_fails_on_warnings_where_they_reject() -> None:
    warned = [finding("a/b.txt", severity=Severity.WARNING)]
    for strict, failures in ((False, "0"), (True, "1")):
        display_path = conclude(RULES, [log("a/b.txt", "pass")], warned, strict=strict)
        suite = ET.fromstring(junit.render(display_path))[0]
        assert suite.get("failures") == failures


# --- github --------------------------------------------------------------------------------------


def test_github_commands_escape_what_would_end_them() -> None:
    display_path = github.render(report([finding("a,b:c%.txt", message="50%\n::error::x")]))
    command = display_path.splitlines()[0]
    assert command.startswith("::error file=a%2Cb%3Ac%25.txt,line=24,title=closed.llama31_8b.")
    assert r"::50%25\n::error::x%0Ahelp: " in command


@CALM
@given(REPORTS)
def test_github_has_one_command_per_finding_and_errors_first(display_path: Outcome) -> None:
    *commands, last = github.render(display_path).splitlines()
    kinds = [re.match(r"::(error|warning|notice) ", command) for command in commands]
    names = [kind[1] for kind in kinds if kind]
    assert len(names) == len(commands) == len(display_path.findings)
    assert names == sorted(names, key=["error", "warning", "notice"].index)
    assert names.count("error") == display_path.counts.error
    assert last.startswith(display_path.verdict.upper())
