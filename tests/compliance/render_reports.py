"""Reports to render: a fixed sample, and any that hypothesis can think of."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st

from podium.compliance.report.data import (
    FileEntry,
    Outcome,
    ResultEntry,
    Rules,
    SubmissionEntry,
    Tool,
    conclude,
)
from podium.rules.finding import Finding, Severity, StatedBy

CALM = settings(max_examples=60, deadline=None)
RULES = Rules(usage="training", round="5.1", profile="policy", chosen_by="folder")
CITES = "training rules, Hyperparameters and Optimizer"
LLAMA = "acme/results/8xA100/llama31_8b"
LONG = "acme/results/" + "a_system_with_a_very_long_name_indeed_" * 3 + "/llama31_8b/result_0.txt"
ODD = "acme/results/\x1b[31mred\n| `a`, <b>%,: 全角/result_1.txt"


def log(path: str, verdict: str = "fail") -> FileEntry:
    given: dict[str, Any] = {"path": path, "kind": "log", "verdict": verdict}
    return FileEntry(benchmark="llama31_8b", division="closed", minutes=81.25, **given)


def finding(path: str, line: int | None = 24, **changes: Any) -> Finding:
    key = changes.setdefault("key", "opt_adamw_beta_2")
    given: dict[str, Any] = {
        "id": f"closed.llama31_8b.{key}",
        "severity": Severity.ERROR,
        "message": f"{key} is 0.8; must be 0.95",
        "expected": "0.95",
        "actual": 0.8,
        "hint": f"set {key} to 0.95",
        "cites": CITES,
    }
    return Finding(path=path, line=line, **given | changes)


def stop_missing(path: str) -> Finding:
    return finding(
        path,
        line=None,
        id="common.run_stop",
        key="run_stop",
        message="run_stop is not logged; must be logged exactly once",
        expected="exactly once",
        actual=None,
        hint="log run_stop: scored time ends; its metadata holds the status",
        cites="",
        stated_by=StatedBy.VERIFIER,
    )


def report(findings: list[Finding], *paths: str, **entries: Any) -> Outcome:
    failing = {each.path for each in findings if each.severity == "error" and not each.waived}
    files = [log(path, "fail" if path in failing else "pass") for path in paths]
    return conclude(RULES, files, findings, **entries)


def sample(copies: int = 1) -> Outcome:
    findings = [
        finding(f"{LLAMA}/result_0.txt"),
        finding(f"{LLAMA}/result_1.txt"),
        stop_missing(f"{LLAMA}/result_1.txt"),
        finding(
            f"{LLAMA}/result_2.txt",
            30,
            key="opt_end_learning_rate",
            severity=Severity.WARNING,
            message="opt_end_learning_rate is NaN; must be opt_base_learning_rate * 0.1 (= 7e-05)",
            actual=math.nan,
            stated_by=StatedBy.POLICY,
        ),
        finding(f"{LLAMA}/result_2.txt", 31, waived=True),
        finding(LONG, 1, severity=Severity.NOTE, message="x/" * 60, hint="", cites=""),
        finding(ODD, 7, message="opt_name is \x1b]0;owned\x07 @all](http://x); must be | `a` <b>"),
        finding("acme/systems", None, id="tree.extra", key=None, message="stray", hint=""),
    ]
    findings += [finding(f"{LLAMA}/result_4.txt", line) for line in range(2, copies + 1)]
    paths = [f"{LLAMA}/result_{number}.txt" for number in range(5)]
    result: dict[str, Any] = {
        "path": LLAMA,
        "submitter": "acme",
        "system": "8xA100",
        "benchmark": "llama31_8b",
    }
    result |= {"division": "closed", "verdict": "rejected", "runs": 5, "failed_runs": 2}
    display_path = report(
        findings,
        *paths,
        LONG,
        ODD,
        submissions=[SubmissionEntry(submitter="acme", path="acme", verdict="rejected")],
        results=[ResultEntry(**result)],
    )
    return msgspec.structs.replace(display_path, tool=Tool(version="1.2.3"))


AWKWARD = st.sampled_from(
    [*"|`<>\\*_[](){}#@~$%:;,./ \t\r\n\x00\x1b\x7f\x9b\u202e\u2066\u200b\udcff全é"]
)
TEXT = st.text(AWKWARD | st.characters(), max_size=90) | st.text("ab /", max_size=200)
PATHS = st.sampled_from(["a/b.txt", "a/c.txt", LONG, ODD, "", "a/"]) | TEXT
FINDINGS = st.builds(
    Finding,
    id=st.sampled_from(["common.run_stop", "log.json"]) | TEXT,
    severity=st.sampled_from(Severity),
    path=PATHS,
    line=st.none() | st.integers(1, 10**7),
    key=st.none() | TEXT,
    message=TEXT,
    expected=TEXT,
    actual=st.floats() | st.lists(st.floats()),
    hint=TEXT,
    cites=TEXT,
    stated_by=st.sampled_from(StatedBy),
    waived=st.booleans(),
)
REPORTS = st.builds(
    lambda findings, paths: report(findings, *dict.fromkeys(paths)),
    st.lists(FINDINGS, max_size=8),
    st.lists(PATHS, max_size=4),
)
