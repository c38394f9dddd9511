"""Reports to render: fixed samples, and hypothesis strategies for arbitrary reports."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from podium.compliance.reporting.conclusion import conclude
from podium.compliance.reporting.data import (
    FileEntry,
    Outcome,
    ResultEntry,
    Rules,
    SubmissionEntry,
    Tool,
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
        hint="log run_stop: scored time ends; its metadata has the status",
        cites="",
        stated_by=StatedBy.VERIFIER,
    )


def report(
    findings: list[Finding],
    *paths: str,
    official_verdict: Literal["accepted", "rejected"] | None = None,
    **entries: Any,
) -> Outcome:
    failing = {each.path for each in findings if each.severity == "error" and not each.waived}
    files = [log(path, "fail" if path in failing else "pass") for path in paths]
    made = conclude(RULES, files=files, findings=findings, **entries)
    return replace(made, official_verdict=official_verdict or made.official_verdict)


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
    return with_tool(display_path)


def one_fault_in_ten_runs() -> Outcome:
    """A submission with one result, in which all runs have the same error."""
    paths = [f"{LLAMA}/result_{number}.txt" for number in range(10)]
    return with_tool(report([finding(path) for path in paths], *paths, **entries(LLAMA)))


def entries(*results: str) -> dict[str, Any]:
    """The entries of a report for submissions with these results."""
    names = dict.fromkeys(path.partition("/")[0] for path in results)
    said: dict[str, Any] = {"verdict": "rejected", "official_verdict": "accepted"}
    return {
        "official_verdict": "accepted",
        "submissions": [SubmissionEntry(submitter=name, path=name, **said) for name in names],
        "results": [
            ResultEntry(
                path=path,
                submitter=path.partition("/")[0],
                system=path.split("/")[2],
                benchmark=path.split("/")[3],
                division="closed",
                runs=10,
                failed_runs=0,
                **said,
            )
            for path in results
        ],
    }


def big_round(submissions: int = 3) -> Outcome:
    """A round of several submissions with many findings, repeated and unique."""
    findings: list[Finding] = []
    results = [
        f"{name}/results/{system}/{benchmark}"
        for name in ("acme", "bolt", "cork", *(f"s{i}" for i in range(3, submissions)))[
            :submissions
        ]
        for system in ("8xA100", "16xA100")
        for benchmark in ("llama31_8b", "bert")
    ]
    for at, place in enumerate(results):
        paths = [f"{place}/result_{number}.txt" for number in range(10)]
        findings += [finding(path, actual=0.8) for path in paths]
        findings += [stop_missing(path) for path in paths[: at + 1]]
        findings += [
            finding(path, None, id="result.no-files", key=None, caused_by="common.run_stop")
            for path in paths[: at + 1]
        ]
        findings += [
            finding(
                path,
                number,
                id=f"pairing.check-{number % (5 + at)}",
                key=None,
                severity=Severity.WARNING,
                message=f"{number} of {number + at} intervals are open; must be closed",
            )
            for number, path in enumerate(paths, 1)
        ]
        findings += [
            finding(path, 9, id="seed.odd", key="seed", severity=Severity.NOTE, hint="")
            for path in paths[at:]
        ]
        findings.append(finding(paths[0], 3, waived=True, waived_by="waivers.toml"))
        findings.append(finding(paths[1], 3, waived=True, waived_by="dropped run"))
        findings.append(
            finding(place, None, id="rcp.failed", key=None, official=True, stated_by=StatedBy.BOTH)
        )
    return with_tool(report(findings, *{each.path: None for each in findings}, **entries(*results)))


def with_tool(made: Outcome) -> Outcome:
    """The report with a fixed version of podium."""
    return msgspec.structs.replace(made, tool=Tool(version="1.2.3"))


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
    waived_by=st.sampled_from(["", "dropped run", "waivers.toml"]),
    caused_by=st.sampled_from(["", "", "common.run_stop", "log.json"]),
    official=st.booleans(),
)
REPORTS = st.builds(
    lambda findings, paths, submissions: report(
        findings,
        *dict.fromkeys(paths),
        submissions=[
            SubmissionEntry(submitter=path, path=path, verdict="rejected") for path in submissions
        ],
    ),
    st.lists(FINDINGS, max_size=8),
    st.lists(PATHS, max_size=4),
    st.lists(st.sampled_from(["a", "acme", "acme/results", ".", ""]), max_size=2, unique=True),
)
