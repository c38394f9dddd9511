"""G-PC18: `podium check --earlier TREE` with the first submission of the same round."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.reporting.data import Outcome
from podium.rules.finding import Finding
from tests.builders import LogBuilder, build
from tests.compliance.trees import Change, Submission, compared, usual

RATE, DECAY, BATCH = "opt_base_learning_rate", "opt_adamw_weight_decay", "global_batch_size"
SYSTEM = "systems/ex_n8.json"


def setting(**values: float) -> Change:
    """Return a change that sets hyperparameters."""

    def change(log: LogBuilder) -> LogBuilder:
        for key, value in values.items():
            log = log.set(key, value)
        return log

    return change


def result(place: Path, change: Change, name: str = "Acme", round_: str = "5.1") -> Submission:
    """A submission of one result with unique runs."""
    log = build("training", round_, "closed", "llama2_70b_lora")
    tree = Submission(place / f"training_results_v{round_}", log, name)
    start = sum(map(ord, f"{name} {place.name}"))
    return tree.system().code().result(change=change, start=start)


def checked(tree: Submission, first: Submission) -> Outcome:
    return compared(tree.root, first.place)


def reported(tree: Submission, first: Submission) -> dict[str, Finding]:
    """Return the findings that the comparison adds to those of the tree alone."""
    before = {finding.id for finding in check_paths([tree.root], Options()).findings}
    findings = checked(tree, first).findings
    return {finding.id: finding for finding in findings if finding.id not in before}


@pytest.fixture
def first(tmp_path: Path) -> Submission:
    """Acme's submission before the review."""
    return result(tmp_path / "first", setting(**{RATE: 4e-4, DECAY: 1e-4}))


def later(tmp_path: Path, **values: float) -> Submission:
    """Acme's submission during the review."""
    return result(tmp_path / "now", setting(**{RATE: 4e-4, DECAY: 1e-4} | values))


def test_the_same_settings_are_not_reported(tmp_path: Path, first: Submission) -> None:
    assert reported(later(tmp_path), first) == {}


def test_unchanged_logs_are_not_reported_as_resubmitted(first: Submission) -> None:
    assert reported(first, first) == {}


def test_batch_sizes_may_change(tmp_path: Path, first: Submission) -> None:
    assert reported(later(tmp_path, **{BATCH: 16}), first) == {}


def test_settings_that_no_other_submitter_has_are_a_warning(
    tmp_path: Path, first: Submission
) -> None:
    found = reported(later(tmp_path, **{RATE: 5e-4}), first)
    assert set(found) == {"borrowing.not-a-group"}
    finding = found["borrowing.not-a-group"]
    assert (finding.severity, finding.path) == ("warning", first.folder())
    assert finding.message.startswith(f"{RATE} changed since the first submission")
    assert "no other submitter" in finding.message


def test_settings_borrowed_as_a_group_are_a_note(tmp_path: Path, first: Submission) -> None:
    result(tmp_path / "first", setting(**{RATE: 5e-4, DECAY: 2e-4, BATCH: 16}), "Bmce")
    found = reported(later(tmp_path, **{RATE: 5e-4, DECAY: 2e-4}), first)
    assert set(found) == {"borrowing.group"}
    assert found["borrowing.group"].severity == "note"
    assert "training_results_v5.1/Bmce/results" in found["borrowing.group"].message


def test_settings_borrowed_only_in_part_are_reported(tmp_path: Path, first: Submission) -> None:
    result(tmp_path / "first", setting(**{RATE: 5e-4, DECAY: 2e-4}), "Bmce")
    result(tmp_path / "first", setting(**{RATE: 6e-4, DECAY: 3e-4}), "Cmce")
    finding = reported(later(tmp_path, **{RATE: 5e-4}), first)["borrowing.not-a-group"]
    assert f"Bmce/{first.folder()} differs in {DECAY}" in finding.message


def test_a_submitter_cannot_borrow_from_itself(tmp_path: Path, first: Submission) -> None:
    log = build("training", "5.1", "closed", "llama2_70b_lora")
    other = Submission(first.place, log).system("ex_n16", number_of_nodes="16")
    other.result("ex_n16", change=setting(**{RATE: 5e-4, DECAY: 1e-4}), start=900)
    assert "borrowing.not-a-group" in reported(later(tmp_path, **{RATE: 5e-4}), first)


def test_borrowing_for_405b_is_not_allowed(tmp_path: Path) -> None:
    first = usual(tmp_path / "first" / "training_results_v5.1")
    tree = usual(tmp_path / "now" / "training_results_v5.1")
    found = reported(tree.result(change=setting(**{RATE: 5e-5}), start=40), first)
    assert found["borrowing.not-allowed"].severity == "warning"
    assert "borrowing.not-a-group" not in found


def test_borrowing_for_a_changed_system_is_a_warning(tmp_path: Path, first: Submission) -> None:
    tree = later(tmp_path, **{RATE: 5e-4}).system(hw_notes="cooled with water")
    assert "borrowing.system-changed" not in reported(tree, first)
    finding = reported(tree.system(framework="Another 2.0"), first)["borrowing.system-changed"]
    assert (finding.severity, finding.path) == ("warning", SYSTEM)
    assert finding.message.startswith("framework changed since")
    # Without new settings, a changed description is a correction and not a case of borrowing.
    assert reported(later(tmp_path).system(framework="Another 2.0"), first) == {}


def test_a_changed_framework_is_accepted_until_5_0(tmp_path: Path) -> None:
    first = result(tmp_path / "first", setting(**{RATE: 4e-4}), round_="5.0")
    tree = result(tmp_path / "now", setting(**{RATE: 5e-4}), round_="5.0")
    assert "borrowing.system-changed" not in reported(tree.system(framework="Another 2.0"), first)
    assert "borrowing.system-changed" in reported(tree.system(number_of_nodes="8 "), first)


def test_settings_of_another_round_are_not_compared(tmp_path: Path) -> None:
    before = result(tmp_path / "first", setting(**{RATE: 4e-4}), round_="5.0")
    found = reported(later(tmp_path, **{RATE: 5e-4}), before)
    assert not [rule for rule in found if rule.startswith("borrowing.")]


def test_a_result_missing_in_the_first_submission_is_not_compared(
    tmp_path: Path, first: Submission
) -> None:
    tree = later(tmp_path, **{RATE: 5e-4})
    (tree.root / "results/ex_n8").rename(tree.root / "results/new_n8")
    (tree.root / SYSTEM).rename(tree.root / "systems/new_n8.json")
    found = reported(tree, first)
    assert not [rule for rule in found if rule.startswith("borrowing.")]
