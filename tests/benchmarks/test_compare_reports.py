"""`benchmarks/compare_reports.py` accepts listed renames and reports any other difference."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.locations import ROOT

SCRIPT = ROOT / "benchmarks" / "compare_reports.py"

RENAMES = r"""
[ids]
"old.id" = "new.id"

[fields]
place = "rank"

[[texts]]
before = '(\w+) is seen'
after = '\1 is reported'
"""

REPORT: dict[str, Any] = {
    "verdict": "accepted",
    "counts": {"errors": 0, "place": 1},
    "files": [{"path": "seen", "minutes": 1.5}, {"path": "b.txt", "minutes": 2}],
    "findings": [
        {"id": "old.id", "path": "a.txt", "line": 3, "message": "a seed is seen", "cites": ""},
        {"id": "other", "path": "b.txt", "line": None, "message": "no seed", "cites": "rules"},
    ],
}


@pytest.fixture
def renames(tmp_path: Path) -> Path:
    path = tmp_path / "renames.toml"
    path.write_text(RENAMES)
    return path


def compare(old: Path, new: Path, *words: object) -> tuple[int, list[str]]:
    command = [sys.executable, SCRIPT, old, new, *words]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def put(folder: Path, report: Any, name: str = "report.json") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(report))
    return folder


def changed(**edits: Any) -> dict[str, Any]:
    """The report with changed values: `findings_0_cites="text"` edits the first finding."""
    report = deepcopy(REPORT)
    for name, value in edits.items():
        *steps, last = [int(part) if part.isdigit() else part for part in name.split("_")]
        at: Any = report
        for step in steps:
            at = at[step]
        at[last] = value
    return report


def as_renamed() -> dict[str, Any]:
    report = changed(findings_0_id="new.id", findings_0_message="a seed is reported")
    report["counts"] = {"errors": 0, "rank": 1}
    report["findings"].reverse()
    return report


def test_a_listed_rename_is_not_a_difference(tmp_path: Path, renames: Path) -> None:
    old, new = put(tmp_path / "old", REPORT), put(tmp_path / "new", as_renamed())
    assert compare(old, new, "--renames", renames) == (0, ["1 reports compared, 0 differ"])


def test_a_rename_that_is_not_listed_is_a_difference(tmp_path: Path) -> None:
    old, new = put(tmp_path / "old", REPORT), put(tmp_path / "new", as_renamed())
    (tmp_path / "none.toml").write_text("")
    status, lines = compare(old, new, "--renames", tmp_path / "none.toml")
    assert status == 1
    assert lines[:2] == [
        "report.json: counts.place: only before: 1",
        "report.json: counts.rank: only after: 1",
    ]
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("edits", "shown"),
    [
        ({"verdict": "rejected"}, 'verdict: "accepted" -> "rejected"'),
        ({"counts_errors": 1}, "counts.errors: 0 -> 1"),
        ({"files_1_minutes": 2.0}, "files[1].minutes: 2 -> 2.0"),
        ({"files_0_path": "reported"}, 'files[0].path: "seen" -> "reported"'),
        ({"files_1": {"path": "b.txt"}}, "files[1].minutes: only before: 2"),
        ({"findings": REPORT["findings"][:1]}, 'findings: only before: {"cites": "rules"'),
        ({"findings_1_line": 4}, 'findings: only before: {"cites": "rules"'),
        ({"findings": [*REPORT["findings"], REPORT["findings"][1]]}, "findings: only after: "),
        ({"findings_1_cites": "x"}, '.cites: "rules" -> "x"'),
        ({"findings_0_cites": "x"}, '.cites: "" -> "x"'),
        ({"findings_1_message": "1 seed"}, '.message: "no seed" -> "1 seed"'),
    ],
)
def test_any_other_difference_is_shown(
    tmp_path: Path, renames: Path, edits: dict[str, Any], shown: str
) -> None:
    old, new = put(tmp_path / "old", REPORT), put(tmp_path / "new", changed(**edits))
    status, lines = compare(old, new, "--renames", renames)
    assert status == 1
    assert shown in lines[0]


def test_citations_may_be_added_but_not_changed(tmp_path: Path, renames: Path) -> None:
    words = ("--renames", renames, "--allow-new-citations")
    old = put(tmp_path / "old", REPORT)
    assert compare(old, put(tmp_path / "new", changed(findings_0_cites="x")), *words)[0] == 0
    assert compare(old, put(tmp_path / "new", changed(findings_1_cites="x")), *words)[0] == 1
    assert compare(old, put(tmp_path / "new", changed(findings_1_cites="")), *words)[0] == 1


def test_two_files_are_compared(tmp_path: Path, renames: Path) -> None:
    old, new = put(tmp_path, REPORT, "old.json"), put(tmp_path, as_renamed(), "new.json")
    assert compare(old / "old.json", new / "new.json", "--renames", renames)[0] == 0


@pytest.mark.parametrize(("place", "shown"), [("old", "only before"), ("new", "only after")])
def test_a_report_without_a_counterpart_differs(tmp_path: Path, place: str, shown: str) -> None:
    old, new = put(tmp_path / "old", REPORT), put(tmp_path / "new", REPORT)
    put(tmp_path / place, REPORT, "more.json")
    assert compare(old, new) == (1, [f"more.json: {shown}", "2 reports compared, 1 differ"])


def test_a_report_that_is_not_json_differs(tmp_path: Path) -> None:
    old, new = put(tmp_path / "old", REPORT), put(tmp_path / "new", REPORT)
    (new / "report.json").write_text("{")
    status, lines = compare(old, new)
    assert status == 1
    assert "not valid JSON" in lines[0]


def test_folders_without_reports_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    assert compare(tmp_path / "old", tmp_path / "old")[0] == 1


@pytest.mark.parametrize("text", ["ids = [", "[[texts]]\nbefore = '('\nafter = ''"])
def test_an_invalid_table_of_renames_is_a_usage_error(tmp_path: Path, text: str) -> None:
    old = put(tmp_path / "old", REPORT)
    (tmp_path / "bad.toml").write_text(text)
    assert compare(old, old, "--renames", tmp_path / "bad.toml") == (2, [])


def test_the_default_table_next_to_the_script_is_applied(tmp_path: Path) -> None:
    old = put(tmp_path / "old", changed(findings_0_id="pairing.left-open"))
    new = put(tmp_path / "new", changed(findings_0_id="pairing.unclosed-interval"))
    assert compare(old, new)[0] == 0
