"""Checks across results: copied runs, overlapping runs, and throughput with time-to-train."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import msgspec
import pytest

from podium.compliance import check, score
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.tree_scan import scan
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.submission.copies import copies
from podium.compliance.judging.submission.together import judge_together
from podium.compliance.reporting.models import FindingEntry
from podium.rules.finding import Finding, Profile, Severity
from tests.builders import Line, LogBuilder, build
from tests.compliance.trees import Submission, as_run, throughput, usual

WAIVED = """[[waiver]]
rule = "result.copied-run"
place = "*"
reason = "the two hand in one system together"
who = "the results chair"
until = 2099-01-01
"""


def together(tree: Submission, profile: Profile = Profile.POLICY) -> dict[str, list[Finding]]:
    """The findings of the checks across results, by rule."""
    found: dict[str, list[Finding]] = {}
    shape = scan(Package(tree.root, ""), tree.rules)
    for finding in judge_together(
        shape, tree.judged(profile.value), JudgingContext(tree.rules, profile)
    ):
        found.setdefault(finding.id, []).append(finding)
    return found


# --- G-PC15: copied runs ---


def test_a_copy_with_another_seed_is_found(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    copy = as_run(tree.which, 0).set("seed", 9999)
    copy.write(tree.root / tree.folder() / "result_2.txt")
    [finding] = together(tree)["result.copied-run"]
    assert finding.path.endswith("result_2.txt")
    assert "result_0.txt" in finding.message
    assert finding.severity == Severity.ERROR


def test_a_copy_at_another_time_is_found(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    copy = as_run(tree.which, 1).shift_all(600).set("seed", 9999)
    copy.write(tree.root / tree.folder() / "result_2.txt")
    [finding] = together(tree)["result.copied-run"]
    assert "at another time" in finding.message


def learned(log: LogBuilder, seed: float, jitter: float = 0.0, pace: float = 1.0) -> LogBuilder:
    """A run with losses that depend on the seed, and a clock with jitter and another pace."""
    losses = [7.0 + seed / 7 - number * 0.123456789 for number in range(6)]
    for loss in losses:
        log = log.add("train_loss", loss, {"samples_count": 1}, before="run_stop")
    began = log.first("run_start").time_ms

    def moved(line: Line) -> Line:
        if line.record is None:
            return line
        late = (line.record.time_ms - began) * pace + jitter * (len(line.record.key) % 3)
        record = msgspec.structs.replace(line.record, time_ms=round(began + late))
        return dataclasses.replace(line, record=record)

    return dataclasses.replace(log, lines=tuple(map(moved, log.lines)))


def test_runs_with_different_losses_are_not_copies(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number in range(3):
        learned(as_run(tree.which, number), number).write(
            tree.root / tree.folder() / f"result_{number}.txt"
        )
    assert "result.copied-run" not in together(tree)


def test_a_copy_with_another_clock_is_found_by_its_losses(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number, (seed, jitter, pace) in enumerate([(0, 0, 1), (0, 400, 1), (0, 0, 0.97)]):
        copy = learned(as_run(tree.which, number), seed, jitter, pace).set("seed", 50 + number)
        copy.write(tree.root / tree.folder() / f"result_{number}.txt")
    found = together(tree)["result.copied-run"]
    assert [finding.path[-12:] for finding in found] == ["result_1.txt", "result_2.txt"]
    # Runs with different seeds never produce the same digits
    assert {finding.severity for finding in found} == {Severity.ERROR}
    assert (
        "exactly the losses and outcomes of results/ex_n8/llama31_405b/result_0.txt, at other"
        in found[1].message
    )
    assert "result.copied-run" not in together(tree, Profile.VERIFIER)


def test_equal_losses_with_the_same_seed_are_only_a_warning(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number in range(3):
        log = learned(as_run(tree.which, number), 0, 400 * number).set("seed", 50)
        log.write(tree.root / tree.folder() / f"result_{number}.txt")
    found = together(tree)["result.copied-run"]
    # Two runs with one seed on a deterministic system have the same effect
    assert {finding.severity for finding in found} == {Severity.WARNING}


@pytest.mark.parametrize(("original", "copy"), [("Acme", "Bold"), ("Bold", "Acme")])
def test_the_copy_is_the_run_of_the_later_submitter(
    tmp_path: Path, original: str, copy: str
) -> None:
    for name in (original, copy):
        tree = Submission(tmp_path, usual(tmp_path / "spare").which, name).system().code()
        late, pace = (0, 1.0) if name == original else (1440, 0.97)
        for number in range(3):
            run = learned(as_run(tree.which, number), number, pace=pace).shift_all(late)
            seed = 900 + number + (7 if late else 0)
            run.set("seed", seed).write(tree.root / tree.folder() / f"result_{number}.txt")
    shutil.rmtree(tmp_path / "spare")
    report = check(tmp_path, usage="training", round="5.1")
    found = [each for each in report.findings if each.id == "result.copied-run"]
    assert {(each.path.partition("/")[0], each.severity) for each in found} == {(copy, "error")}
    assert len(found) == 3
    assert all(f"{original}/" in each.message for each in found)
    verdicts = {each.submitter: each.verdict for each in report.submissions}
    assert verdicts == {original: "accepted", copy: "rejected"}
    assert {each.submitter: each.verdict for each in report.results} == verdicts


def test_the_earliest_of_several_equal_runs_is_the_original(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number, late in enumerate((600, 300, 0)):
        run = learned(as_run(tree.which, 0), 0, 100 * number).shift_all(late)
        run.set("seed", 50 + number).write(tree.root / tree.folder() / f"result_{number}.txt")
    found = together(tree)["result.copied-run"]
    assert sorted(each.path[-12:] for each in found) == ["result_0.txt", "result_1.txt"]


def test_runs_shared_with_a_power_result_are_only_a_note(tmp_path: Path) -> None:
    tree = usual(tmp_path).system("second").result("second")
    (tree.root / tree.folder("second") / "power").mkdir()
    found = together(tree)["result.copied-run"]
    assert {finding.severity for finding in found} == {Severity.NOTE}


def test_copies_of_another_submitter_are_found_by_their_losses(tmp_path: Path) -> None:
    for name, pace in (("Acme", 1.0), ("Bold", 0.97)):
        tree = Submission(tmp_path, usual(tmp_path / "spare").which, name).system().code()
        for number in range(3):
            run = learned(as_run(tree.which, number), number, pace=pace)
            run.write(tree.root / tree.folder() / f"result_{number}.txt")
    shutil.rmtree(tmp_path / "spare")
    report = check(tmp_path, usage="training", round="5.1")
    found = [each for each in report.findings if each.id == "result.copied-run"]
    # Both runs begin at the same time
    assert [each.path.rpartition("/")[2] for each in found] == 2 * [
        f"result_{n}.txt" for n in range(3)
    ]
    assert all("Acme/" in each.message for each in found if each.path.startswith("Bold/"))


def test_few_or_round_losses_do_not_identify_a_copy(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number in range(3):
        run = as_run(tree.which, number)
        for loss in (7.25, 7.0, 6.5, 6.123456, 6.0):
            run = run.add("train_loss", loss, {"samples_count": 1}, before="run_stop")
        run.write(tree.root / tree.folder() / f"result_{number}.txt")
    assert "result.copied-run" not in together(tree)


def test_a_copy_on_another_system_is_found(tmp_path: Path) -> None:
    tree = usual(tmp_path).system("second").result("second")
    found = together(tree)["result.copied-run"]
    assert [finding.severity for finding in found] == [Severity.WARNING] * 3


def copied(place: Path, profile: str = "policy") -> list[FindingEntry]:
    found = check(place, round="5.1", profile=profile).findings  # type: ignore[arg-type]
    return [finding for finding in found if finding.id == "result.copied-run"]


def test_a_copy_by_another_submitter_is_found(tmp_path: Path) -> None:
    first = usual(tmp_path)
    other = Submission(tmp_path, first.which, "Bmce").system().code().result(start=40)
    assert copied(tmp_path) == []
    other.log(2)
    # Both began at the same time: either may be the copy
    first_one, second_one = copied(tmp_path)
    assert {first_one.severity, second_one.severity} == {"warning"}
    paths = [f"{name}/{other.folder()}/result_2.txt" for name in ("Acme", "Bmce")]
    assert [first_one.path, second_one.path] == paths
    assert (
        f"times and evaluations of {paths[1]}; it is not clear which of the two"
        in first_one.message
    )
    assert (
        f"times and evaluations of {paths[0]}; it is not clear which of the two"
        in second_one.message
    )
    assert copied(tmp_path, "verifier") == []


def test_waivers_of_a_submission_cover_only_its_own_copies(tmp_path: Path) -> None:
    other = Submission(tmp_path, usual(tmp_path).which, "Bmce").system().code().result()

    def waived() -> dict[str, set[bool]]:
        found: dict[str, set[bool]] = {}
        for finding in copied(tmp_path):
            found.setdefault(finding.path.partition("/")[0], set()).add(finding.waived)
        return found

    assert waived() == {"Acme": {False}, "Bmce": {False}}
    other.write("waivers.toml", WAIVED)
    assert waived() == {"Acme": {False}, "Bmce": {True}}


def test_runs_of_another_round_are_not_copies(tmp_path: Path) -> None:
    usual(tmp_path / "training_results_v5.1")
    usual(tmp_path / "training_results_v5.0")
    places = [tmp_path / "training_results_v5.1", tmp_path / "training_results_v5.0"]
    report = check_paths(places, Options())
    assert len(report.submissions) == 2
    assert "result.copied-run" not in {finding.id for finding in report.findings}


def test_runs_of_equal_duration_are_not_copies(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    place = tree.root / tree.folder() / "result_2.txt"
    log = as_run(tree.which, 0).set("seed", 9999)
    log.write(place)
    assert len(together(tree)["result.copied-run"]) == 1
    for other in (
        log.set("eval_accuracy", 5.96, only=0),
        log.shift("eval_accuracy", 0.001, only=0),
        log.set("eval_accuracy", 5.96, only=0).shift("init_start", -1),
    ):
        other.write(place)
        assert "result.copied-run" not in together(tree)


def test_independent_runs_are_not_copies(tmp_path: Path) -> None:
    tree = usual(tmp_path).system("second").result("second", start=40)
    assert "result.copied-run" not in together(tree)
    assert "result.copied-run" not in together(usual(tmp_path / "b"), Profile.VERIFIER)


def test_copies_are_found_across_submitters(tmp_path: Path) -> None:
    runs = []
    for name in ("Acme", "Bolt"):
        tree = usual(tmp_path / name)
        runs += [
            (f"{name}/{run.display_path}", run.facts)
            for v in tree.judged()
            for run in v.result.runs
        ]
    found = list(copies(runs, JudgingContext(tree.rules, Profile.POLICY)))
    assert [finding.path.partition("/")[0] for finding in found] == ["Bolt"] * 3


# --- equal scores ---


def second(tree: Submission, minutes: float = 0) -> Submission:
    """Add a result of a second system, whose runs take this many minutes longer."""
    tree.system("second")
    return tree.result("second", start=40, change=lambda log: log.shift("run_stop", minutes))


def test_equal_scores_are_a_note(tmp_path: Path) -> None:
    found = check(second(usual(tmp_path)).root, round="5.1").findings
    [finding] = [each for each in found if each.id == "result.same-score"]
    assert finding.severity == "note"
    assert finding.path == "results/second/llama31_405b"
    assert "results/ex_n8/llama31_405b" in finding.message
    others = check(second(usual(tmp_path / "b"), 0.001).root, round="5.1").findings
    assert "result.same-score" not in {each.id for each in others}


def test_equal_scores_of_two_submitters_are_reported(tmp_path: Path) -> None:
    first = usual(tmp_path)
    Submission(tmp_path, first.which, "Bmce").system().code().result(start=40)
    found = check(tmp_path, round="5.1").findings
    reported = [finding for finding in found if finding.id == "result.same-score"]
    assert [finding.path for finding in reported] == ["Bmce/results/ex_n8/llama31_405b"]


def test_copies_are_not_also_reported_as_equal_scores(tmp_path: Path) -> None:
    tree = usual(tmp_path).system("second").result("second")
    found = {finding.id for finding in check(tree.root, round="5.1").findings}
    assert "result.copied-run" in found
    assert "result.same-score" not in found


# --- overlapping runs ---


def test_runs_that_overlap_on_one_system_are_a_note(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(1, lambda log: log.shift("run_start", -60))
    [finding] = together(tree)["result.overlapping-runs"]
    assert (finding.path, finding.severity) == ("results/ex_n8", Severity.NOTE)
    assert finding.message.startswith("1 of 3 runs began during another run")


def test_consecutive_runs_are_not_reported_as_overlapping(tmp_path: Path) -> None:
    assert "result.overlapping-runs" not in together(usual(tmp_path))


def test_runs_on_two_systems_may_overlap(tmp_path: Path) -> None:
    tree = usual(tmp_path).system("second").result("second")
    assert "result.overlapping-runs" not in together(tree)


# --- HPC: throughput ---


def test_good_throughput_has_no_finding(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    assert together(tree) == {}
    assert [finding for verdict in tree.judged() for finding in verdict.findings] == []


def test_the_throughput_time_spans_all_instances(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    (entry,) = [each for each in tree.check().results if each.scaling == "weak"]
    (scored,) = [
        each
        for each in score(tree.root, usage="hpc", round="3.0").results
        if each.scaling == "weak"
    ]
    assert entry.minutes == entry.score == scored.time_to_train_all
    # The instances start one after another, so any mean of them is shorter
    assert entry.minutes is not None
    assert entry.minutes > 60


def test_throughput_without_a_strong_result_is_an_error(tmp_path: Path) -> None:
    tree = Submission(tmp_path, build("hpc", "3.0", "open", "deepcam"))
    tree.system("wide", number_of_nodes="16").result("wide", scaling="weak")
    [finding] = together(tree)["throughput.no-strong-result"]
    assert finding.severity == Severity.ERROR
    assert finding.path == "results/wide/weak/deepcam"
    assert tree.found("throughput.no-strong-result", "verifier") == []


def test_more_instances_than_needed_are_accepted(tmp_path: Path) -> None:
    tree = throughput(tmp_path).log(5, system="wide", scaling="weak", start=20)
    assert tree.reported("result.too-many-runs") == []
    assert tree.reported("result.too-many-runs", "verifier") == []


def test_fewer_instances_than_needed_are_reported(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    (tree.root / tree.folder("wide", "weak") / "result_4.txt").unlink()
    [finding] = tree.reported("result.too-few-runs")
    assert finding.message == "the result has 4 runs; expected at least 5"


def test_instances_that_did_not_converge_must_be_pruned(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    tree.log(
        4,
        lambda log: log.meta("run_stop", status="aborted"),
        "wide",
        scaling="weak",
        start=20,
    )
    [finding] = tree.reported("throughput.not-converged")
    assert finding.path == "results/wide/weak/deepcam/result_4.txt"
    assert tree.reported("throughput.not-converged", "verifier") == []
    assert tree.reported("result.not-converged") == []


def test_pruned_logs_must_satisfy_all_rules_except_the_target(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    where = {"system": "wide", "scaling": "weak", "folder": "pruned_results", "start": 20}
    tree.log(7, lambda log: log.meta("run_stop", status="aborted"), **where)  # type: ignore[arg-type]
    assert tree.reported("throughput.broken-pruned-log") == []
    tree.log(8, lambda log: log.drop("run_start"), **where)  # type: ignore[arg-type]
    [finding] = tree.reported("throughput.broken-pruned-log")
    assert finding.path.endswith("pruned_results/result_8.txt")
    assert tree.reported("throughput.broken-pruned-log", "verifier") == []


def test_instances_must_have_the_same_scale(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    tree.log(4, lambda log: log.set("number_of_nodes", 4), "wide", scaling="weak", start=20)
    [finding] = tree.reported("throughput.mixed-scale")
    assert "32 in result_4.txt, 64 in" in finding.message
    assert tree.reported("throughput.mixed-scale", "verifier") == []


def test_all_instances_together_must_fill_the_system(tmp_path: Path) -> None:
    def small(log: LogBuilder) -> LogBuilder:
        return log.set("number_of_nodes", 2)

    tree = throughput(tmp_path).result("wide", scaling="weak", start=20, change=small)
    [finding] = tree.reported("throughput.total-scale")  # 5 instances of 16 in a system of 128
    assert "including pruned ones" in finding.message
    for number in range(5, 8):
        tree.log(number, small, "wide", scaling="weak", start=20, folder="pruned_results")
    assert tree.reported("throughput.total-scale") == []


def test_an_instance_larger_than_the_system_is_reported(tmp_path: Path) -> None:
    tree = throughput(tmp_path).result(
        "wide", scaling="weak", start=20, change=lambda log: log.set("number_of_nodes", 32)
    )
    [finding] = tree.reported("throughput.total-scale")
    assert "the whole system has 128; expected at least the 256 of an instance" in finding.message


# --- G-HP1 ---


def test_an_unknown_scaling_folder_is_an_error_and_the_rest_is_judged(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    (tree.root / "results/ex_n8/medium/deepcam").mkdir(parents=True)
    for profile in ("policy", "verifier"):
        report = tree.check(profile)
        [finding] = [f for f in report.findings if f.id == "tree.misplaced"]
        assert finding.severity == Severity.ERROR
        assert len(report.results) == 2
        assert report.submissions[0].verdict == "rejected"


def test_generated_runs_do_not_overlap() -> None:
    """Generated runs are at separate hours; otherwise the tests above would check nothing."""
    log = build("training", "5.1", "closed", "llama31_405b")
    first, second = as_run(log, 0), as_run(log, 1)
    assert second.first("run_start").time_ms - first.first("run_stop").time_ms > 0
    assert msgspec.to_builtins(first.first("seed"))["value"] == 100
