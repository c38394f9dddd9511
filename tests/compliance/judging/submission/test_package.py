"""Trees and results of small submissions: each package rule of gaps.md passes and fails."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from podium.compliance import check
from podium.compliance.judging.results.factor import read_scaling
from podium.compliance.reporting.models import Report
from podium.rules.finding import Severity
from tests.builders import LogBuilder, build
from tests.compliance.command_line import podium
from tests.compliance.trees import Change, Submission, as_run, good, unfinished, usual

PROFILES = ("policy", "verifier")


def ids(report: Report, least: str = "note") -> set[str]:
    """The rules of findings that have at least this severity and are not waived."""
    weights = ("note", "warning", "error")
    kept = weights[weights.index(least) :]
    return {f.id for f in report.findings if f.severity.value in kept and not f.waived}


def aborted(log: LogBuilder) -> LogBuilder:
    """A run that satisfies every rule but misses its target."""
    return log.set("eval_accuracy", 6.0).meta("run_stop", status="aborted")


def broken(log: LogBuilder) -> LogBuilder:
    """A run with a hyperparameter that is not allowed."""
    return log.set("opt_adamw_beta_1", 0.5)


# --- good trees ---


@pytest.mark.parametrize("profile", PROFILES)
def test_a_good_submission_has_no_finding(profile: str, tmp_path: Path) -> None:
    report = usual(tmp_path).check(profile)
    assert report.findings == []
    assert report.verdict == "accepted"
    assert [entry.verdict for entry in report.submissions] == ["accepted"]
    [result] = report.results
    assert (result.runs, result.failed_runs, result.verdict) == (3, 0, "accepted")


@pytest.mark.parametrize(
    ("usage", "round_", "benchmark", "division"),
    [
        ("training", "0.6", "maskrcnn", "closed"),
        ("training", "0.7", "bert", "open"),
        ("training", "6.1", "llama31_8b", "open"),
        ("hpc", "0.7", "deepcam", "closed"),
        ("hpc", "3.0", "cosmoflow", "open"),
    ],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_good_submissions_of_other_rounds_pass(
    usage: str, round_: str, benchmark: str, division: str, profile: str, tmp_path: Path
) -> None:
    report = good(tmp_path, usage, round_, benchmark, division).check(profile)
    assert ids(report, "error") == set()
    assert {i for i in ids(report) if i.startswith(("tree.", "result."))} == set()


# --- G-PC3: names of benchmarks, empty submissions ---


def test_a_misspelled_benchmark_leaves_the_submission_without_results(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    (tree.root / tree.folder()).rename(tree.root / "results/ex_n8/lama31_405b")
    report = tree.check()
    [finding] = [f for f in report.findings if f.id == "tree.unknown-benchmark"]
    assert finding.path == "results/ex_n8/lama31_405b"
    assert "did you mean llama31_405b?" in finding.hint
    assert "tree.no-results" in ids(report, "error")
    assert report.submissions[0].verdict == "rejected"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("llama2", "llama2_70b_lora"),
        ("llama2-70b-lora", "llama2_70b_lora"),
        ("Llama31-405B", "llama31_405b"),
        ("llama31", "llama31_8b or llama31_405b"),
    ],
)
def test_a_submission_with_logs_of_an_unknown_benchmark_is_rejected(
    name: str, near: str, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    shutil.copytree(tree.root / tree.folder(), tree.root / f"results/ex_n8/{name}")
    (tree.root / "results/ex_n8/notes").mkdir()
    report = tree.check()
    found = {f.path: f for f in report.findings if f.id == "tree.unknown-benchmark"}
    unknown = found[f"results/ex_n8/{name}"]
    assert (unknown.severity, unknown.official) == ("error", False)
    assert f"did you mean {near}?" in unknown.hint
    assert found["results/ex_n8/notes"].severity == "warning"
    assert report.unjudged == [f"results/ex_n8/{name}"]
    assert (report.verdict, report.official_verdict) == ("rejected", "accepted")
    assert report.submissions[0].verdict == "rejected"
    done = podium("check", tree.root, "--round", "5.1")
    assert "0 results rejected, 1 accepted, 1 not checked" in " ".join(done.stdout.split())


def test_a_single_result_of_an_unknown_benchmark_is_rejected(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    folder = tree.root / tree.folder()
    folder.rename(folder.parent / "llama31")
    for path in (folder.parent, folder.parent / "llama31"):
        report = check(path, round="5.1")
        assert (report.verdict, len(report.unjudged)) == ("rejected", 1)


def test_the_verifier_ignores_a_misspelled_benchmark(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    (tree.root / tree.folder()).rename(tree.root / "results/ex_n8/lama31_405b")
    report = tree.check("verifier")
    assert report.submissions[0].verdict == "accepted"


@pytest.mark.parametrize(("profile", "verdict"), [("policy", "rejected"), ("verifier", "accepted")])
def test_an_empty_submission_is_rejected_by_the_policy(
    profile: str, verdict: str, tmp_path: Path
) -> None:
    tree = Submission(tmp_path, build("training", "5.1", "closed", "llama31_405b"))
    (tree.root / "results").mkdir(parents=True)
    (tree.root / "systems").mkdir()
    assert tree.check(profile).submissions[0].verdict == verdict


# --- G-PC5: the log and its folder ---


def test_a_log_of_another_benchmark_is_reported(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    other = build("training", "5.1", "closed", "llama31_8b")
    as_run(other, 2).write(tree.root / tree.folder() / "result_2.txt")
    [finding] = tree.found("result.other-benchmark")
    assert finding.path.endswith("llama31_405b/result_2.txt")
    assert finding.key == "submission_benchmark"


def test_a_log_of_another_division_is_reported(tmp_path: Path) -> None:
    tree = usual(tmp_path).system(division="open")
    assert len(tree.found("result.other-division")) == 3
    assert tree.check().submissions[0].verdict == "rejected"
    assert usual(tmp_path / "good").found("result.other-division") == []


@pytest.mark.parametrize(("name", "severity"), [("3.1", "warning"), ("4.0", "error")])
def test_another_division_is_a_warning_before_4_0_and_then_an_error(
    tmp_path: Path, name: str, severity: str
) -> None:
    log = build("training", name, "closed", "stable_diffusion")
    tree = Submission(tmp_path, log).system(division="open").code().result()
    for rule in ("result.other-division", "system.division-mismatch"):
        assert {found.severity for found in tree.found(rule)} == {severity}


@pytest.mark.parametrize(
    ("size", "steps", "spreads"),
    # 64 accelerators and a batch of 1152: one part on each, two on each, or four for one model
    [(18, 1, True), (9, 1, True), (72, 1, True), (9, 2, True), (12, 1, False), (6, 2, False)],
)
def test_the_batch_must_divide_evenly_over_the_accelerators(
    tmp_path: Path, size: int, steps: int, spreads: bool
) -> None:
    tree = usual(tmp_path)
    for number in range(3):
        tree.log(
            number,
            lambda log: log.set("gradient_accumulation_steps", steps).add(
                "d_batch_size", size, before="global_batch_size"
            ),
        )
    assert (tree.found("result.batch-not-spread") == []) == spreads


@pytest.mark.parametrize(
    ("seeds", "reported"),
    [((0, 1, 2), True), ((3, 1, 2), True), ((1, 2, 4), False), ((0, 1, 1), False)],
)
def test_seeds_that_are_run_indices_are_reported(
    tmp_path: Path, seeds: tuple[int, ...], reported: bool
) -> None:
    tree = usual(tmp_path)
    for number, seed in enumerate(seeds):
        tree.log(number, lambda log, seed=seed: log.set("seed", seed))  # type: ignore[misc]
    assert bool(tree.found("seeds.run-index")) == reported


# --- G-PC7: descriptions and results ---


@pytest.mark.parametrize("profile", PROFILES)
def test_results_without_a_description_are_rejected(profile: str, tmp_path: Path) -> None:
    tree = usual(tmp_path).result("other", start=9)
    report = tree.check(profile)
    [finding] = [f for f in report.findings if f.id == "tree.no-system-description"]
    assert (finding.path, finding.severity) == ("systems/other.json", Severity.ERROR)
    assert report.submissions[0].verdict == "rejected"
    assert len(report.results) == 2  # both results are still judged


def test_the_verifier_needs_no_description_of_a_system_without_results(
    tmp_path: Path,
) -> None:
    tree = usual(tmp_path)
    (tree.root / "results/other").mkdir()
    assert tree.found("tree.no-system-description", "verifier") == []
    [finding] = tree.found("tree.no-system-description")
    assert finding.severity == "warning"


def test_a_description_without_results_is_a_warning(tmp_path: Path) -> None:
    tree = usual(tmp_path).system("unused")
    [finding] = tree.found("tree.system-without-results")
    assert (finding.path, finding.severity) == ("systems/unused.json", Severity.WARNING)
    assert tree.found("tree.system-without-results", "verifier") == []


@pytest.mark.parametrize(("entry", "severity"), [(True, Severity.NOTE), (False, Severity.ERROR)])
def test_a_description_next_to_the_results_is_a_note_in_0_6(
    entry: bool, severity: Severity, tmp_path: Path
) -> None:
    tree = good(tmp_path, "training", "0.6", "maskrcnn").result("other", start=9)
    if entry:
        tree.write("results/other/entry.json", "{}")
    [finding] = tree.found("tree.no-system-description")
    assert finding.severity == severity
    assert tree.found("tree.no-system-description", "verifier") != []


@pytest.mark.parametrize(("entry", "reported"), [(True, False), (False, True)])
def test_a_description_must_be_next_to_the_results_in_0_5(
    entry: bool, reported: bool, tmp_path: Path
) -> None:
    tree = good(tmp_path, "training", "0.5", "maskrcnn").result("other", start=9)
    if entry:
        tree.write("results/other/entry.json", "{}")
    assert bool(tree.found("tree.no-system-description")) is reported


# --- G-PC8: names of logs ---


def test_a_log_name_without_a_number_is_a_warning(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    log = tree.root / tree.folder() / "result_2.txt"
    log.rename(log.with_name("result_last run.txt"))
    [finding] = tree.found("result.invalid-log-name")
    assert finding.severity == Severity.WARNING
    assert tree.check("verifier").results[0].runs == 3


def test_a_log_name_that_ends_in_a_number_is_a_note(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    log = tree.root / tree.folder() / "result_2.txt"
    log.rename(log.with_name("result_5119-240510_06.txt"))
    assert [f.severity for f in tree.found("result.invalid-log-name")] == [Severity.NOTE]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("result_7.txt", "0, 1, 7"), ("result_01.txt", "0, 1, 1"), ("result_3.txt", "0, 1, 3")],
)
def test_gaps_and_repeats_in_the_run_numbers_are_reported(
    name: str, numbers: str, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    log = tree.root / tree.folder() / "result_2.txt"
    log.rename(log.with_name(name))
    [finding] = tree.found("result.numbering")
    assert finding.message == f"runs are numbered {numbers}; expected no gaps, from 0 or from 1"


@pytest.mark.parametrize(("first", "reported"), [(1, False), (2, True)])
def test_run_numbers_may_start_at_1_but_not_at_2(
    first: int, reported: bool, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    folder = tree.root / tree.folder()
    for number in (2, 1, 0):
        (folder / f"result_{number}.txt").rename(folder / f"result_{number + first}.txt")
    assert bool(tree.found("result.numbering")) is reported


def test_run_numbers_above_9_are_not_out_of_order(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "6.1", "llama31_8b", "open")
    assert tree.found("result.numbering") == []


# --- G-PC10: the number of runs ---


@pytest.mark.parametrize("profile", PROFILES)
def test_too_few_runs_are_rejected(profile: str, tmp_path: Path) -> None:
    tree = usual(tmp_path)
    (tree.root / tree.folder() / "result_2.txt").unlink()
    [finding] = tree.found("result.too-few-runs", profile)
    assert (finding.severity, finding.expected, finding.actual) == (Severity.ERROR, "3", 2)
    assert finding.hint == "add 1 more run of llama31_405b"
    assert tree.check(profile).results[0].verdict == "rejected"


@pytest.mark.parametrize("profile", PROFILES)
def test_ignored_rules_still_reject_the_result_and_the_submission(
    profile: str, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    (tree.root / tree.folder() / "result_2.txt").unlink()
    for left_out in ({"ignore": ["result.*", "rcp.*"]}, {"select": ["seeds.*"]}):
        report = tree.check(profile, **left_out)
        [entry], [result] = report.submissions, report.results
        assert report.verdict == "not judged"
        assert (entry.verdict, result.verdict) == ("rejected", "rejected")
        assert profile in report.rejected_by
        assert (report.counts.error, report.counts.waived) == (0, 0)


def test_surplus_runs_are_an_error_only_for_the_verifier(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(3)
    [finding] = tree.found("result.too-many-runs", "verifier")
    assert finding.severity == Severity.ERROR
    [finding] = tree.found("result.too-many-runs")
    assert finding.severity == Severity.WARNING
    assert tree.check().results[0].verdict == "accepted"


def test_the_message_names_the_runs_of_the_median_window(tmp_path: Path) -> None:
    def slower(log: LogBuilder) -> LogBuilder:
        return log.shift("run_stop", 1)

    tree = usual(tmp_path).log(3, slower).log(4)
    [finding] = tree.found("result.too-many-runs")
    assert finding.message.endswith("3 windows: result_1.txt, result_2.txt, result_3.txt")


@pytest.mark.parametrize(
    ("round_", "severity"), [("1.0", Severity.ERROR), ("1.1", Severity.WARNING)]
)
def test_surplus_runs_are_an_error_of_the_policy_before_1_1(
    round_: str, severity: Severity, tmp_path: Path
) -> None:
    tree = good(tmp_path, "training", round_, "dlrm", "open").log(5)
    assert [finding.severity for finding in tree.reported("result.too-many-runs")] == [severity]


def test_the_policy_ignores_failures_outside_the_median_window(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number in (3, 4, 5, 6, 7):
        tree.log(number, aborted if number > 5 else lambda log: log)
    [finding] = tree.found("result.too-many-failed-runs")
    assert (finding.severity, finding.stated_by, finding.official) == ("warning", "verifier", True)
    assert [f.severity for f in tree.found("result.too-many-failed-runs", "verifier")] == ["error"]


# --- G-PC2: runs that may be dropped ---


@pytest.mark.parametrize("profile", PROFILES)
def test_one_run_that_did_not_converge_is_dropped(profile: str, tmp_path: Path) -> None:
    report = usual(tmp_path).log(2, aborted).check(profile)
    assert report.results[0].failed_runs == 1
    assert {f.id for f in report.findings if f.id.startswith("result.")} == set()
    log = [f for f in report.findings if f.path.endswith("result_2.txt") and f.severity == "error"]
    assert log
    assert all(finding.waived for finding in log if not finding.id.startswith("rcp."))


@pytest.mark.parametrize("profile", PROFILES)
def test_two_runs_that_did_not_converge_are_too_many(profile: str, tmp_path: Path) -> None:
    tree = usual(tmp_path).log(1, aborted).log(2, aborted)
    [finding] = tree.found("result.too-many-failed-runs", profile)
    assert (finding.severity, finding.actual) == (Severity.ERROR, 2)


def test_a_dropped_run_that_violates_rules_is_an_error(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, broken)
    [finding] = tree.found("result.broken-run-dropped")
    assert (finding.path[-12:], finding.severity) == ("result_2.txt", Severity.ERROR)
    assert tree.check().results[0].verdict == "rejected"
    assert tree.found("result.broken-run-dropped", "verifier") == []
    assert usual(tmp_path / "other").log(2, aborted).reported("result.broken-run-dropped") == []


def test_an_unfinished_run_is_dropped_as_the_slowest(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, unfinished)
    report = tree.check()
    assert (report.verdict, report.official_verdict) == ("accepted", "accepted")
    assert [finding.severity for finding in report.findings if not finding.waived] == ["note"]
    [finding] = tree.found("result.unfinished-run-dropped")
    assert finding.message == "the run ends during training at line 39; dropped as the slowest"
    assert (finding.path[-12:], finding.line) == ("result_2.txt", 39)
    rest = [each for each in report.findings if each.id != finding.id]
    assert {each.caused_by for each in rest} == {finding.id}
    assert {each.id for each in rest} == {"common.run_stop", "closed.llama31_405b.target"}


def test_the_text_report_hides_dependent_findings_of_an_unfinished_run(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, unfinished)
    done = podium("check", tree.root, "--round", "5.1", "--format", "text")
    assert done.exit_code == 0
    assert "2 dependent findings" in done.stdout
    assert "[common.run_stop]" not in done.stdout


@pytest.mark.parametrize(
    "change",
    [
        lambda log: broken(unfinished(log)),
        lambda log: unfinished(log).drop("global_batch_size"),
        lambda log: log.drop("run_stop"),
    ],
    ids=["wrong optimizer", "no batch size", "target reached"],
)
def test_an_unfinished_run_must_satisfy_all_other_rules(change: Change, tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, change)
    assert tree.found("result.unfinished-run-dropped") == []
    assert tree.found("result.broken-run-dropped") != []
    assert tree.check().verdict == "rejected"


def test_a_run_may_end_during_initialization(tmp_path: Path) -> None:
    def died(log: LogBuilder) -> LogBuilder:
        return replace(log, lines=log.lines[: log.where("init_stop")[0]])

    report = usual(tmp_path).log(2, died).check()
    assert report.verdict == "accepted"
    [finding] = [each for each in report.findings if not each.waived and each.severity == "note"]
    assert "ends during initialization" in finding.message


def test_the_last_line_of_an_unfinished_run_may_be_truncated(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, unfinished)
    path = tree.root / tree.folder() / "result_2.txt"
    path.write_text(path.read_text() + ':::MLLOG {"namespace": "", "time_')
    assert tree.check().verdict == "accepted"


def test_two_unfinished_runs_are_rejected(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(1, unfinished).log(2, unfinished)
    assert tree.found("result.unfinished-run-dropped") == []
    assert tree.check().verdict == "rejected"


@pytest.mark.parametrize(
    ("status", "reported"), [("abort", False), ("aborted", False), ("x", True)]
)
def test_an_aborted_run_of_0_6_is_not_reported_as_broken(
    status: str, reported: bool, tmp_path: Path
) -> None:
    tree = good(tmp_path, "training", "0.6", "maskrcnn")
    tree.log(2, lambda log: log.meta("run_stop", status=status))
    assert bool(tree.reported("result.broken-run-dropped")) is reported


def test_four_runs_of_unet3d_may_fail(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "4.0", "unet3d", "open")
    for number in range(4):
        tree.log(number, lambda log: log.drop("run_stop"))
    assert tree.reported("result.too-many-failed-runs") == []
    tree.log(4, lambda log: log.drop("run_stop"))
    assert [finding.actual for finding in tree.reported("result.too-many-failed-runs")] == [5]


def test_two_open_runs_without_success_are_a_warning(tmp_path: Path) -> None:
    """G-CC6: an open log with the status aborted is valid, although its run did not converge."""

    def unfinished(log: LogBuilder) -> LogBuilder:
        return log.meta("run_stop", status="aborted")

    tree = good(tmp_path, "training", "5.0", "llama31_405b", "open")
    tree.log(0, unfinished)
    assert tree.reported("result.not-converged") == []
    tree.log(1, unfinished)
    assert [finding.severity for finding in tree.reported("result.not-converged")] == ["warning"]
    assert tree.reported("result.not-converged", "verifier") == []


# --- 0.5 and 0.6 ---


def test_ncf_in_0_5_needs_fifty_runs_that_converge(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "0.5", "ncf")
    for number in range(50, 56):
        tree.log(number)
    for number in range(6):
        tree.log(number, lambda log: log.drop("run_stop"))
    [verdict] = tree.judged()
    assert {f.id for f in verdict.findings if f.severity == "error"} == set()
    tree.log(6, lambda log: log.drop("run_stop"))
    assert len(tree.reported("result.too-many-failed-runs")) == 1


def test_the_policy_judges_a_mask_folder_that_the_verifier_ignores(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "0.6", "maskrcnn")
    (tree.root / tree.folder()).rename(tree.root / "results/ex_n8/mask")
    (tree.root / "results/ex_n8/mask/result_4.txt").unlink()
    [result] = tree.check().results
    assert (result.benchmark, result.path) == ("maskrcnn", "results/ex_n8/mask")
    assert [f.severity for f in tree.reported("result.too-few-runs")] == [Severity.WARNING]
    assert tree.reported("result.too-few-runs", "verifier") == []
    assert tree.reported("result.other-benchmark") == []


def test_logs_of_0_6_may_use_the_name_mask_for_maskrcnn(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "0.6", "maskrcnn")
    (tree.root / tree.folder()).rename(tree.root / "results/ex_n8/mask")
    for number in range(5):
        log = as_run(tree.which, number).set("submission_benchmark", "mask")
        log.write(tree.root / f"results/ex_n8/mask/result_{number}.txt")
    report = tree.check()
    assert ids(report, "error") == set()
    assert {"common.submission_benchmark", "log.verifier-crash"} <= ids(report, "note")
    assert [(r.benchmark, r.verdict, r.failed_runs) for r in report.results] == [
        ("maskrcnn", "accepted", 0)
    ]
    wrong = {f.id for f in tree.check("verifier").findings if f.severity == "error"}
    assert wrong == {"common.submission_benchmark", "log.verifier-crash"}


def test_a_log_with_the_name_mask_is_judged_by_the_rules_of_maskrcnn(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "0.6", "maskrcnn")
    changed = as_run(tree.which, 0).set("submission_benchmark", "mask").drop("num_image_candidates")
    changed.write(tree.root / tree.folder() / "result_0.txt")
    [finding] = tree.found("maskrcnn.num_image_candidates")
    assert (finding.severity, finding.stated_by) == ("warning", "policy")
    assert tree.found("maskrcnn.num_image_candidates", "verifier") == []


@pytest.mark.parametrize("name", ["masc", "rnnt"])
def test_other_benchmark_names_in_a_log_of_0_6_are_an_error(name: str, tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "0.6", "maskrcnn")
    as_run(tree.which, 0).set("submission_benchmark", name).write(
        tree.root / tree.folder() / "result_0.txt"
    )
    assert {f.severity for f in tree.found("log.verifier-crash")} == {"error"}


# --- G-PC12: other files ---


@pytest.mark.parametrize("name", ["scaling.json", "package_checker_params"])
def test_known_files_in_a_result_are_accepted(name: str, tmp_path: Path) -> None:
    text = '{"scaling_factor": 1.5}' if name == "scaling.json" else ""
    tree = usual(tmp_path)
    assert tree.write(f"{tree.folder()}/{name}", text).found("tree.unknown-file") == []


def test_a_stray_file_is_reported_by_the_policy(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.write(f"{tree.folder()}/results_3.txt")
    [finding] = tree.found("tree.unknown-file")
    assert finding.path == f"{tree.folder()}/results_3.txt"
    assert tree.found("tree.unknown-file", "verifier") == []


def test_many_stray_files_are_counted(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number in range(200):
        tree.write(f"{tree.folder()}/x{number}").write(f"results/x{number}")
    inside = [f for f in tree.found("tree.unknown-file") if f.path.startswith(tree.folder())]
    outside = [f for f in tree.found("tree.unknown-file") if f not in inside]
    assert "(and 180 more like it)" in inside[-1].message or any(
        "(and 180 more like it)" in finding.message for finding in inside
    )
    assert (len(inside), len(outside)) == (20, 50)
    assert any("(and 150 more)" in finding.message for finding in outside)


# --- G-PC16: settings ---


def test_a_run_with_another_setting_is_reported_with_its_line(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, lambda log: log.set("opt_base_learning_rate", 1e-5))
    [finding] = tree.found("result.mixed-settings")
    assert finding.key == "opt_base_learning_rate"
    log = tree.root / tree.folder() / "result_2.txt"
    lines = log.read_text().splitlines()
    [line] = [n for n, text in enumerate(lines, 1) if '"opt_base_learning_rate"' in text]
    assert (finding.path, finding.line) == (f"{tree.folder()}/result_2.txt", line)
    assert f"1e-05 in result_2.txt:{line}; " in finding.message
    assert " in the 2 others; expected the same value in all" in finding.message
    assert tree.found("result.mixed-settings", "verifier") == []


def test_equal_settings_may_be_written_as_an_integer_or_a_float(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, lambda log: log.set("global_batch_size", 1152.0))
    assert tree.reported("result.mixed-settings") == []


def test_different_seeds_are_not_mixed_settings(tmp_path: Path) -> None:
    assert usual(tmp_path).reported("result.mixed-settings") == []


# --- scaling.json ---


@pytest.mark.parametrize(
    ("text", "factor", "problem"),
    [
        ('{"scaling_factor": 1.0347}', 1.0347, ""),
        ('{"scaling_factor": "1.5"}', 1.5, ""),
        ("[1]", None, "has no scaling_factor"),
        ("{}", None, "has no scaling_factor"),
        ('{"scaling_factor": null}', None, "has a scaling_factor that is not a number above 0"),
        ('{"scaling_factor": true}', None, "has a scaling_factor that is not a number above 0"),
        ('{"scaling_factor": -1}', None, "has a scaling_factor that is not a number above 0"),
        ('{"scaling_factor": NaN}', None, "has a scaling_factor that is not a number above 0"),
        ("1.05", None, "has no scaling_factor"),
        ("{", None, "is not valid JSON"),
        ("\x00" * (1 << 17), None, "is not valid JSON"),
        ("[" * 60_000, None, "cannot be read (values are nested more than 128 deep)"),
    ],
)
def test_a_scaling_factor_must_be_a_number_above_0(
    text: str, factor: float | None, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "scaling.json").write_text(text)
    assert read_scaling(tmp_path) == (factor, problem)


def test_a_missing_scaling_json_gives_no_factor(tmp_path: Path) -> None:
    assert read_scaling(tmp_path) == (None, "")
    (tmp_path / "scaling.json").mkdir()
    assert read_scaling(tmp_path)[1] == "cannot be read (it is not a regular file)"


def test_a_bad_scaling_json_is_reported_and_not_modified(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.write(f"{tree.folder()}/scaling.json", "[1]")
    [finding] = tree.found("result.bad-scaling")
    assert finding.path == f"{tree.folder()}/scaling.json"
    assert tree.found("result.bad-scaling", "verifier") == []
    assert (tree.root / finding.path).read_text() == "[1]"


def test_the_factor_of_scaling_json_multiplies_the_minutes(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.write(f"{tree.folder()}/scaling.json", json.dumps({"scaling_factor": 2}))
    [result] = tree.check().results
    assert result.minutes is not None
    assert result.score == pytest.approx(2 * result.minutes)


def test_long_settings_that_differ_only_at_their_end_are_reported(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number, end in enumerate("aab"):
        tree.log(number, lambda log, end=end: log.set("opt_name", "x" * 80 + end))
    [finding] = tree.found("result.mixed-settings")
    assert finding.key == "opt_name"
    assert len(finding.message) < 250
