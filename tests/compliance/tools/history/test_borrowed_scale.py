"""The scale at which borrowed settings may run, relative to the first submission of the round."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from podium.rules.finding import Finding
from tests.builders import LogBuilder, build
from tests.compliance.trees import Submission, compared, throughput

RATE, LORA = "opt_base_learning_rate", "llama2_70b_lora"
FIRST, BORROWED = 4e-4, 5e-4
CHANGED, UNPROVEN = "borrowing.scale-changed", "borrowing.unproven-scale"


def submission(
    place: Path,
    nodes: Mapping[str, int],
    rate: float,
    round_: str = "5.1",
    minutes: float = 60,
    benchmark: str = LORA,
    **fields: str,
) -> Submission:
    """Submit one benchmark on systems with the given numbers of nodes of eight accelerators."""
    log = build("training", round_, "closed", benchmark)
    tree = Submission(place / f"training_results_v{round_}", log)

    def change(log: LogBuilder) -> LogBuilder:
        return log.set(RATE, rate).lasting(minutes)

    for number, (system, count) in enumerate(nodes.items()):
        _system(tree, system, count, **fields)
        tree.result(system, change=change, start=50 * number + sum(map(ord, place.name)))
    return tree


def _system(tree: Submission, system: str, nodes: int, **fields: str) -> None:
    tree.system(system, number_of_nodes=str(nodes), system_name=f"x{nodes}", **fields)


def beside(tree: Submission, nodes: Mapping[str, int], **fields: str) -> None:
    """Add results of another benchmark on systems with the given numbers of nodes."""
    for number, (system, count) in enumerate(nodes.items()):
        _system(tree, system, count, **fields)
        other = Submission(tree.place, build("training", "5.1", "closed", "llama31_8b"))
        other.result(system, start=500 + 50 * number)


def borrowing(tree: Submission, first: Submission) -> dict[str, Finding]:
    """Return the findings on borrowing by rule; a rule has at most one finding."""
    found = compared(tree.root, first.place).findings
    ours = [finding for finding in found if finding.id in (CHANGED, UNPROVEN)]
    assert len({finding.id for finding in ours}) == len(ours)
    return {finding.id: finding for finding in ours}


def reviewed(
    tmp_path: Path, first: Mapping[str, int], now: Mapping[str, int], minutes: float = 60
) -> dict[str, Finding]:
    before = submission(tmp_path / "first", first, FIRST)
    return borrowing(submission(tmp_path / "now", now, BORROWED, minutes=minutes), before)


def test_unchanged_scales_are_accepted(tmp_path: Path) -> None:
    assert reviewed(tmp_path, {"a": 8, "b": 16}, {"a": 8, "b": 16}) == {}


def test_only_the_largest_entry_may_change_its_scale(tmp_path: Path) -> None:
    found = reviewed(tmp_path, {"a": 8, "b": 16}, {"a": 12, "b": 16})
    assert set(found) == {CHANGED}
    finding = found[CHANGED]
    assert (finding.severity, finding.path) == ("warning", f"results/a/{LORA}")
    assert finding.message.startswith(
        "the settings changed, and the scale is 96 instead of 64 in the first submission ("
    )
    assert finding.message.endswith(f"Acme/results/b/{LORA} has 128")


def test_either_of_two_largest_entries_may_change_its_scale(tmp_path: Path) -> None:
    found = reviewed(tmp_path, {"a": 8, "b": 8}, {"a": 16, "b": 8})
    assert set(found) == {UNPROVEN}


def test_a_scale_above_the_largest_proven_scale_is_reported(tmp_path: Path) -> None:
    finding = reviewed(tmp_path, {"a": 8}, {"a": 16})[UNPROVEN]
    assert (finding.severity, finding.path) == ("warning", f"results/a/{LORA}")
    assert finding.message.startswith(
        "the settings changed, and the scale is 128; expected at most 64, the largest"
    )


@pytest.mark.parametrize(("nodes", "rules"), [(16, set()), (17, {UNPROVEN})])
def test_another_benchmark_can_prove_a_scale(tmp_path: Path, nodes: int, rules: set[str]) -> None:
    before = submission(tmp_path / "first", {"a": 8}, FIRST)
    beside(before, {"c": 16})
    assert set(borrowing(submission(tmp_path / "now", {"a": nodes}, BORROWED), before)) == rules


def test_another_machine_or_submitter_does_not_prove_a_scale(tmp_path: Path) -> None:
    before = submission(tmp_path / "first", {"a": 8}, FIRST)
    beside(before, {"c": 16}, accelerator_model_name="Another 9000")
    other = submission(tmp_path / "first", {"a": 16}, BORROWED)
    other.root.rename(other.place / "Bmce")
    before = submission(tmp_path / "first", {"a": 8}, FIRST)
    beside(before, {"c": 16}, accelerator_model_name="Another 9000")
    assert set(borrowing(submission(tmp_path / "now", {"a": 16}, BORROWED), before)) == {UNPROVEN}


@pytest.mark.parametrize(("minutes", "rules"), [(61, {CHANGED}), (60, {CHANGED}), (59, set())])
def test_a_smaller_scale_must_be_faster(tmp_path: Path, minutes: float, rules: set[str]) -> None:
    found = reviewed(tmp_path, {"a": 8}, {"a": 4}, minutes)
    assert set(found) == rules
    if found:
        assert "expected a larger scale, or less than 60 min" in found[CHANGED].message


def test_a_changed_size_is_not_a_changed_system(tmp_path: Path) -> None:
    before = submission(tmp_path / "first", {"a": 8, "b": 16}, FIRST)
    tree = submission(tmp_path / "now", {"a": 8, "b": 32}, BORROWED)
    ids = {finding.id for finding in compared(tree.root, before.place).findings}
    assert "borrowing.system-changed" not in ids
    _system(tree, "b", 32, framework="Another 2.0")
    [finding] = [
        each
        for each in compared(tree.root, before.place).findings
        if each.id == "borrowing.system-changed"
    ]
    assert finding.message.startswith("framework changed since")


def test_unchanged_settings_are_not_borrowed(tmp_path: Path) -> None:
    before = submission(tmp_path / "first", {"a": 8}, FIRST)
    assert borrowing(submission(tmp_path / "now", {"a": 16}, FIRST), before) == {}


@pytest.mark.parametrize(("round_", "rules"), [("0.7", set()), ("1.0", {UNPROVEN})])
def test_the_scale_rules_apply_from_round_1_0(tmp_path: Path, round_: str, rules: set[str]) -> None:
    before = submission(tmp_path / "first", {"a": 8}, 0.001, round_, benchmark="bert")
    tree = submission(tmp_path / "now", {"a": 16}, 0.002, round_, benchmark="bert")
    assert set(borrowing(tree, before)) == rules


def test_nodes_are_counted_on_systems_without_accelerators(tmp_path: Path) -> None:
    none = {"accelerators_per_node": "0"}
    before = submission(tmp_path / "first", {"a": 8}, FIRST, **none)
    finding = borrowing(submission(tmp_path / "now", {"a": 9}, BORROWED, **none), before)[UNPROVEN]
    assert finding.message.startswith(
        "the settings changed, and the scale is 9; expected at most 8, the largest"
    )


# --- throughput ---


def instances(
    place: Path, rate: float, nodes: int, system: str = "wide", pruned: int = 0
) -> Submission:
    """HPC 3.0: five instances of 64 accelerators and `pruned` others, on `nodes` nodes of 8."""
    tree = throughput(place / "hpc_results_v3.0")
    if system != "wide":
        (tree.root / "systems/wide.json").unlink()
        (tree.root / "results/wide").rename(tree.root / "results" / system)
    tree.system(system, number_of_nodes=str(nodes), system_name=f"ex {system}")

    def change(log: LogBuilder) -> LogBuilder:
        return log.add(RATE, rate, before="init_stop")

    start = 20 + sum(map(ord, place.name))
    tree.result(system, scaling="weak", change=change, start=start)
    for number in range(pruned):
        tree.log(number, change, system, scaling="weak", start=start + 9, folder="pruned_results")
    return tree


@pytest.mark.parametrize(
    ("pruned", "nodes", "rules"),
    [(0, 40, set()), (0, 41, {UNPROVEN}), (1, 48, set()), (1, 49, {UNPROVEN})],
)
def test_all_instances_together_prove_the_scale(
    tmp_path: Path, pruned: int, nodes: int, rules: set[str]
) -> None:
    before = instances(tmp_path / "first", FIRST, 64, pruned=pruned)
    found = borrowing(instances(tmp_path / "now", BORROWED, nodes), before)
    # The scale of the result itself decreased as well
    assert set(found) == rules | {CHANGED}
    if rules:
        assert f"at most {64 * (5 + pruned)}, the largest" in found[UNPROVEN].message


@pytest.mark.parametrize(("nodes", "rules"), [(40, set()), (41, {UNPROVEN})])
def test_instances_on_a_new_system_may_use_the_proven_scale(
    tmp_path: Path, nodes: int, rules: set[str]
) -> None:
    before = instances(tmp_path / "first", FIRST, 40)
    tree = instances(tmp_path / "now", BORROWED, nodes, "beside")
    assert set(borrowing(tree, before)) == rules


def test_the_described_system_size_bounds_the_proven_scale(tmp_path: Path) -> None:
    before = instances(tmp_path / "first", FIRST, 16)
    assert set(borrowing(instances(tmp_path / "now", BORROWED, 17), before)) == {UNPROVEN}
