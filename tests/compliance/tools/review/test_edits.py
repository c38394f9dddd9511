"""Changed logs in `--against`: edited text, edited records and exchanged runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from tests.builders import LogBuilder
from tests.compliance.tools.review.rounds import NAME, own, submission
from tests.compliance.trees import Change


def against(place: Path, change: Change, *numbers: int) -> dict[str, Any] | None:
    """Return the changes of the result when some of its logs change."""
    tree = submission(place)
    words = ["review", str(place / NAME), "--no-curves", "-q"]
    assert cli.run([*words, "--output", str(place / "one")]) in (Exit.CLEAN, Exit.FOUND)
    for number in numbers:
        tree.log(number, lambda log, n=number: change(own(log, n)))
    more = ["--against", str(place / "one"), "--output", str(place / "two")]
    assert cli.run([*words, *more]) in (Exit.CLEAN, Exit.FOUND)
    made = json.loads((place / "two" / "review.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = made["against"]["results"]
    return found[0] if found else None


def test_an_edited_organization_is_not_an_exchanged_run(tmp_path: Path) -> None:
    found = against(tmp_path, lambda log: log.set("submission_org", "MiTAC"), 0, 1, 2)
    assert found is not None
    (one,) = found["edits"]
    assert one.startswith("text edited: submission_org Acme -> MiTAC in 3 logs (result_0.txt, ")
    assert found["allowed"] == ""
    page = (tmp_path / "two" / "index.html").read_text(encoding="utf-8")
    assert "submission_org Acme -&gt; MiTAC" in page


def test_logs_that_swap_their_numbers_are_not_new_runs(tmp_path: Path) -> None:
    tree = submission(tmp_path)
    words = ["review", str(tmp_path / NAME), "--no-curves", "-q"]
    cli.run([*words, "--output", str(tmp_path / "one")])
    first, second = sorted(tree.root.rglob("result_*.txt"))[:2]
    text = first.read_text()
    first.write_text(second.read_text())
    second.write_text(text)
    cli.run([*words, "--against", str(tmp_path / "one"), "--output", str(tmp_path / "two")])
    made = json.loads((tmp_path / "two" / "review.json").read_text(encoding="utf-8"))
    (found,) = made["against"]["results"]
    assert found["edits"] == [
        "run of another log of the result in 2 logs (result_0.txt, result_1.txt)"
    ]


def test_an_exchanged_run_is_reported(tmp_path: Path) -> None:
    def other(log: LogBuilder) -> LogBuilder:
        return own(log.shift_all(3000), 77)

    found = against(tmp_path, other, 1)
    assert found is not None
    assert found["edits"] == ["run exchanged (new start and new seed) in result_1.txt"]
    assert "ask why" in found["allowed"]


@pytest.mark.parametrize(
    ("change", "edit"),
    [
        (
            lambda log: log.set("eval_accuracy", 5.5, only=2),
            "records edited: eval_accuracy (values)",
        ),
        (lambda log: log.shift("eval_accuracy", 0.01, only=2), "eval_accuracy (times)"),
        (lambda log: log.set("seed", 4711), "records edited: seed"),
        (lambda log: log.drop("eval_accuracy", only=2), "eval_accuracy (9 -> 8 records)"),
    ],
)
def test_edited_records_are_reported(tmp_path: Path, change: Change, edit: str) -> None:
    found = against(tmp_path, change, 1)
    assert found is not None
    (one,) = found["edits"]
    assert edit in one
    assert one.endswith(" in result_1.txt")


def test_a_setting_edited_in_the_same_runs_is_not_borrowing(tmp_path: Path) -> None:
    found = against(tmp_path, lambda log: log.set("opt_end_learning_rate", 1e-9), 0, 1, 2)
    assert found is not None
    assert found["settings"].keys() == {"opt_end_learning_rate"}
    assert found["allowed"].endswith("the runs are the same as before: ask for their raw output")


def test_equal_logs_have_no_edits(tmp_path: Path) -> None:
    assert against(tmp_path, lambda log: log, 1) is None
