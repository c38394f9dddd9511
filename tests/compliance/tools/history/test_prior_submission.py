"""G-PC18: `podium check --earlier TREE` with resubmitted logs and their systems."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.data import Outcome
from podium.rules.finding import Finding, Profile
from tests.compliance.trees import Submission, as_run, compared, usual

SYSTEM = "systems/ex_n8.json"


def new(tmp_path: Path, round_: str = "training_results_v5.1") -> Submission:
    return usual(tmp_path / round_)


def before(tree: Submission, name: str = "Acme", round_: str = "training_results_v5.0") -> Path:
    """Copy the tree into an earlier round and return the folder of that round."""
    place = tree.place.parent / round_
    shutil.copytree(tree.root, place / name)
    return place


def checked(tree: Submission, earlier: Path) -> Outcome:
    return compared(tree.root, earlier)


def reported(report: Outcome) -> dict[str, Finding]:
    return {finding.id: finding for finding in report.findings}


def test_new_runs_are_not_reported(tmp_path: Path) -> None:
    tree = new(tmp_path)
    earlier = before(tree)
    assert reported(checked(tree.result(start=40), earlier)) == {}


def test_resubmitted_logs_are_a_note(tmp_path: Path) -> None:
    tree = new(tmp_path)
    found = reported(checked(tree, before(tree)))
    assert set(found) == {"earlier.resubmitted"}
    finding = found["earlier.resubmitted"]
    assert (finding.path, finding.severity) == (tree.folder(), "note")
    assert finding.message.startswith("3 of 3 runs were submitted before")
    assert "training_results_v5.0/Acme/results/ex_n8" in finding.message
    assert "(training 5.0)" in finding.message


def test_resubmitted_logs_of_a_result_are_counted(tmp_path: Path) -> None:
    tree = new(tmp_path)
    earlier = before(tree)
    report = checked(tree.log(0, start=40).log(1, start=40), earlier)
    assert reported(report)["earlier.resubmitted"].message.startswith("1 of 3 runs")


def test_resubmitted_logs_are_a_warning_before_5_1(tmp_path: Path) -> None:
    tree = new(tmp_path, "training_results_v5.0")
    earlier = before(tree, round_="training_results_v4.1")
    finding = reported(checked(tree, earlier))["earlier.resubmitted"]
    assert finding.severity == "warning"
    assert "training 5.0 does not accept logs of earlier rounds" in finding.message


def test_a_changed_description_is_an_error(tmp_path: Path) -> None:
    tree = new(tmp_path)
    earlier = before(tree)
    text = (tree.root / SYSTEM).read_text()
    tree.write(SYSTEM, json.dumps(json.loads(text)))
    assert "earlier.system-changed" not in reported(checked(tree, earlier))
    tree.system(framework="Another 2.0")
    finding = reported(checked(tree, earlier))["earlier.system-changed"]
    assert (finding.path, finding.severity) == (SYSTEM, "error")
    assert finding.message.startswith("framework changed since ")


@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_an_unusable_earlier_description_is_reported_as_changed(text: str, tmp_path: Path) -> None:
    tree = new(tmp_path)
    earlier = before(tree)
    (earlier / "Acme" / SYSTEM).write_text(text)
    assert "earlier.system-changed" in reported(checked(tree, earlier))


def test_an_earlier_tree_without_descriptions_is_a_note(tmp_path: Path) -> None:
    tree = new(tmp_path)
    earlier = before(tree)
    (earlier / "Acme" / SYSTEM).unlink()
    assert reported(checked(tree, earlier))["earlier.system-unknown"].severity == "note"


def test_runs_of_another_submitter_are_reported(tmp_path: Path) -> None:
    tree = new(tmp_path)
    finding = reported(checked(tree, before(tree, "Bmce")))["earlier.other-submitter"]
    assert finding.severity == "warning"
    assert "Acme submits runs of Bmce" in finding.message


def test_an_old_log_with_shifted_times_is_reported(tmp_path: Path) -> None:
    tree = new(tmp_path)
    earlier = before(tree)

    tree.result(start=40)
    as_run(tree.which, 1).shift_all(600).write(tree.root / tree.folder() / "result_1.txt")
    found = reported(checked(tree, earlier))
    assert set(found) == {"earlier.shifted-log"}
    assert found["earlier.shifted-log"].path == f"{tree.folder()}/result_1.txt"


def test_a_waiver_in_the_tree_covers_the_comparison(tmp_path: Path) -> None:
    tree = new(tmp_path)
    earlier = before(tree, "Bmce")
    tree.write(
        "waivers.toml",
        '[[waiver]]\nrule = "earlier.*"\nplace = "*"\nreason = "Bmce is Acme now"\n'
        'who = "the results chair"\nuntil = 2099-01-01\n',
    )
    assert reported(checked(tree, earlier))["earlier.other-submitter"].waived


def test_an_invalid_comparison_is_refused(tmp_path: Path) -> None:
    tree = new(tmp_path)
    with pytest.raises(UsageFault, match="profile policy"):
        compared(tree.root, before(tree), profile=Profile.VERIFIER)
    with pytest.raises(NothingToJudge):
        checked(tree, tmp_path / "nowhere")


def test_the_command_accepts_an_earlier_tree_and_changes_no_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = new(tmp_path)
    earlier = before(tree)
    files = sorted(path.stat().st_mtime_ns for path in tmp_path.rglob("*"))
    assert run(["check", str(tree.root), "--earlier", str(earlier)]) == Exit.CLEAN
    assert "earlier.resubmitted" in capsys.readouterr().out
    assert run(["check", str(tree.root), "--earlier", str(tmp_path / "none")]) == Exit.USAGE
    inside = str(earlier / "report.txt")
    said = ["check", str(tree.root), "--earlier", str(earlier), "--output", inside]
    assert run(said) == Exit.USAGE
    assert files == sorted(path.stat().st_mtime_ns for path in tmp_path.rglob("*"))
