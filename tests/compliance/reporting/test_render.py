"""Output formats: golden files, and properties for arbitrary logs and file names."""

from __future__ import annotations

import json
import os
import re
import time
from functools import partial
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from podium.compliance.reporting.conclusion import Decision, conclude, headline
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.grouping import own_findings
from podium.compliance.reporting.render import (
    FORMATS,
    github,
    html,
    junit,
    markdown,
    renderer,
    text,
)
from podium.compliance.text.terminal import clean, columns, wrap, wrap_path
from podium.rules.finding import Severity
from tests.compliance.render_reports import (
    CALM,
    REPORTS,
    RULES,
    TEXT,
    big_round,
    finding,
    log,
    one_fault_in_ten_runs,
    report,
    sample,
)
from tests.locations import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable

# --- json ---


@pytest.mark.parametrize(
    "raw", ["\x7f", "\x9b31m", "\u202e", "\u2066a", "\x1b[2J", "\u200f", "\ud800"]
)
def test_json_escapes_characters_that_affect_a_terminal(raw: str) -> None:
    said = renderer("json")(report([finding("a", message=f"é {raw} b", actual=raw)], "a"))
    assert raw not in said
    (found,) = json.loads(said)["findings"]
    assert (found["message"], found["actual"]) == (f"é {raw} b", raw)


# --- golden files: PODIUM_GOLDEN=write regenerates them; then read the diff -----------------------


@pytest.mark.parametrize(
    ("name", "output"),
    [
        *((f"report.{name}", partial(renderer(name), sample())) for name in FORMATS),
        ("narrow.txt", lambda: text.render(sample(), width=50)),
        ("full.txt", lambda: text.render(sample(), full=True)),
        ("quiet.txt", lambda: text.render(sample(), quiet=True)),
        ("round_80.txt", lambda: text.render(big_round(), width=80)),
        ("round_120.txt", lambda: text.render(big_round(), width=120)),
        ("result_80.txt", lambda: text.render(one_fault_in_ten_runs(), width=80)),
        ("result_120.txt", lambda: text.render(one_fault_in_ten_runs(), width=120)),
        ("round.html", lambda: html.render(big_round())),
        ("folded.md", lambda: markdown.render(sample(copies=14))),
    ],
)
def test_output_equals_the_golden_file(name: str, output: Callable[[], str]) -> None:
    path = GOLDEN / name
    if os.environ.get("PODIUM_GOLDEN") == "write":
        path.write_text(output(), encoding="utf-8")
    assert output() == path.read_text(encoding="utf-8")


# --- properties of any report ---------------------------------------------------------------------


@CALM
@given(REPORTS, st.integers(20, 120), st.booleans())
def test_text_output_fits_the_requested_width(
    display_path: Outcome, width: int, quiet: bool
) -> None:
    lines = text.render(display_path, width=width, quiet=quiet).splitlines()
    assert [line for line in lines if cell_len(line) > width] == []


@CALM
@given(REPORTS)
def test_color_adds_only_escape_sequences(display_path: Outcome) -> None:
    coloured = text.render(display_path, color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text.render(display_path)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])  # JSON is exact
@CALM
@given(REPORTS)
def test_output_is_printable_and_ends_in_one_newline(name: str, display_path: Outcome) -> None:
    output = renderer(name)(display_path)
    assert output.endswith("\n")
    assert not output.endswith("\n\n")
    assert all(line.isprintable() for line in output.split("\n"))
    assert output.encode()
    assert output == renderer(name)(display_path)


@CALM
@given(TEXT)
def test_clean_text_is_printable_and_cleaning_is_idempotent(raw: str) -> None:
    assert clean(raw).isprintable()
    assert clean(clean(raw)) == clean(raw)


@CALM
@given(TEXT, st.integers(4, 60))
def test_wrapping_a_path_keeps_every_character(raw: str, width: int) -> None:
    path = clean(raw)
    lines = wrap_path(path, width, "> ", "  ")
    assert "".join(line[2:] for line in lines) == path
    assert all(columns(line) <= width for line in lines)


@CALM
@given(TEXT, st.integers(4, 60))
def test_wrapping_prose_removes_only_spaces(raw: str, width: int) -> None:
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
def test_control_characters_are_shown_as_escapes(raw: str, shown: str) -> None:
    assert clean(raw) == shown


# --- text ----------------------------------------------------------------------------------------


def test_a_single_passing_file_is_named() -> None:
    lines = text.render(report([], "result_0.txt")).splitlines()
    assert lines[0] == "PASS  result_0.txt  (llama31_8b, closed)"
    assert lines[-1] == "ACCEPTED"


def test_several_passing_files_are_counted_and_not_listed() -> None:
    display_path = text.render(report([], "result_0.txt", "result_1.txt"))
    assert "result_0" not in display_path
    assert "2 logs checked" in display_path


def test_quiet_output_lists_a_repeated_error_once() -> None:
    display_path = text.render(
        report([finding(f"result_{number}.txt") for number in range(40)]), quiet=True
    )
    assert display_path.count("opt_adamw_beta_2 is 0.8") == 1
    assert "40 times in 40 files, first in result_0.txt:24" in display_path


def test_fifty_thousand_findings_are_rendered_within_five_seconds() -> None:
    display_path = report([finding(f"result_{number}.txt") for number in range(50_000)])
    start = time.perf_counter()
    text.render(display_path)
    assert time.perf_counter() - start < 5


# --- junit ---------------------------------------------------------------------------------------


@CALM
@given(REPORTS)
def test_junit_counts_match_the_test_cases(display_path: Outcome) -> None:
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
        each.path
        for each in display_path.findings
        if (each.severity == "error" or each.official) and not each.waived
    }
    assert len(failed) == len(rejected)


def test_junit_fails_on_warnings_only_with_strict() -> None:
    warned = [finding("a/b.txt", severity=Severity.WARNING)]
    for strict, failures in ((False, "0"), (True, "1")):
        display_path = conclude(
            RULES,
            files=[log("a/b.txt", "pass")],
            findings=warned,
            decision=Decision(strict=strict),
        )
        suite = ET.fromstring(junit.render(display_path))[0]
        assert suite.get("failures") == failures


# --- github --------------------------------------------------------------------------------------


def test_github_commands_escape_their_delimiters() -> None:
    display_path = github.render(report([finding("a,b:c%.txt", message="50%\n::error::x")]))
    command = display_path.splitlines()[0]
    assert command.startswith("::error file=a%2Cb%3Ac%25.txt,line=24,title=closed.llama31_8b.")
    assert r"::50%25\n::error::x%0Ahelp: " in command


@CALM
@given(REPORTS)
def test_github_prints_one_command_per_finding_with_errors_first(display_path: Outcome) -> None:
    *commands, last = github.render(display_path).splitlines()
    kinds = [re.match(r"::(error|warning|notice) ", command) for command in commands]
    names = [kind[1] for kind in kinds if kind]
    own = own_findings(display_path)
    assert len(names) == len(commands) == len(own)
    assert names == sorted(names, key=["error", "warning", "notice"].index)
    assert names.count("error") == sum(f.severity == "error" and not f.waived for f in own)
    assert last.startswith(headline(display_path))


def test_github_does_not_annotate_consequences() -> None:
    late = finding("a.txt", 9, id="b", caused_by="log.cut")
    reported = github.render(report([finding("a.txt", 3, id="log.cut"), late]))
    assert [
        line.partition("title=")[2].partition("::")[0] for line in reported.splitlines()[:-1]
    ] == ["log.cut"]
    assert "title=b::" in github.render(report([late]))  # the report lacks the cause


# --- verdicts ------------------------------------------------------------------------------------


def test_junit_has_both_verdicts_and_fails_if_the_verifier_rejects() -> None:
    found = finding("a/b.txt", severity=Severity.WARNING, official=True)
    made = report([found], "a/b.txt", official_verdict="rejected")
    suite = ET.fromstring(junit.render(made))[0]
    said = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert said == {
        "verdict of the policy": "accepted",
        "verdict of the official verifier": "rejected",
        "conclusion": "REJECTED by the official verifier (policy: accepted)",
    }
    assert suite.get("failures") == "1"
    assert "OFFICIAL VERIFIER: rejects (1 finding)" in (suite.findtext("system-out") or "")


def test_markdown_and_github_show_the_verdict_of_the_verifier() -> None:
    made = report([finding("a", official=True)], official_verdict="rejected")
    for render in (markdown.render, github.render):
        assert "OFFICIAL VERIFIER: rejects (1 finding)" in render(made)


def test_the_verdict_of_the_verifier_counts_only_selected_findings() -> None:
    found = [finding("a", id="x", official=True)]
    for selected, said in (("x", "rejects (1 finding)"), ("y", "rejects")):
        decision = Decision(selected=selected.__eq__)
        made = replace(
            conclude(RULES, findings=found, decision=decision), official_verdict="rejected"
        )
        assert f"OFFICIAL VERIFIER: {said}" in text.render(made).splitlines()


def test_a_rejection_that_only_strict_causes_names_the_option() -> None:
    warned = [finding("a/b.txt", severity=Severity.WARNING)]
    decision = Decision(strict=True)
    made = conclude(RULES, files=[log("a/b.txt", "pass")], findings=warned, decision=decision)
    strict = text.render(made)
    reason, verdict = strict.splitlines()[-2:]
    assert reason == "no errors; rejected for 1 warning (--strict)"
    assert verdict == "REJECTED"
    assert "--strict" not in text.render(conclude(RULES, findings=warned))
    warned.append(finding("a/b.txt"))
    assert "--strict" not in text.render(conclude(RULES, findings=warned, decision=decision))
