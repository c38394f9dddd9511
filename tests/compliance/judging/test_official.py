"""The official verdict of a policy check: it equals the verdict of the verifier profile."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podium.compliance import check
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.reporting.data import Outcome
from podium.rules.finding import Profile
from tests.builders import LogBuilder
from tests.compliance.trees import Submission, usual
from tests.package_damage import damage_package

Damage = Callable[[LogBuilder], LogBuilder]


def aborted(log: LogBuilder) -> LogBuilder:
    return log.set("eval_accuracy", 6.0).meta("run_stop", status="aborted")


def rejecting(tree: Submission) -> list[tuple[str, str]]:
    return [(f.id, f.severity) for f in tree.check().findings if f.official]


# --- the two verdicts ---


def test_both_accept_a_good_submission(tmp_path: Path) -> None:
    report = usual(tmp_path).check()
    assert (report.verdict, report.official_verdict) == ("accepted", "accepted")
    assert report.rejected_by == []
    [submission], [result] = report.submissions, report.results
    assert (submission.official_verdict, result.official_verdict) == ("accepted", "accepted")
    assert {entry.official_verdict for entry in report.files} == {"pass"}


def test_only_the_official_verifier_rejects_a_surplus_run(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(3)
    report = tree.check()
    assert (report.verdict, report.official_verdict) == ("accepted", "rejected")
    assert report.rejected_by == ["verifier"]
    assert report.submissions[0].official_verdict == "rejected"
    assert report.results[0].official_verdict == "rejected"
    assert rejecting(tree) == [("result.too-many-runs", "warning")]


def test_only_the_policy_rejects_a_dropped_run_with_an_error(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, lambda log: log.set("opt_adamw_beta_1", 0.5))
    report = tree.check()
    assert (report.verdict, report.official_verdict) == ("rejected", "accepted")
    assert report.rejected_by == ["policy"]
    # The verifier fails the file, but accepts the result without it
    failing = [entry.path for entry in report.files if entry.official_verdict == "fail"]
    assert failing == [f"{tree.folder()}/result_2.txt"]
    assert rejecting(tree) == []


def test_neither_rejects_a_run_that_only_missed_its_target(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, aborted)
    report = tree.check()
    assert (report.verdict, report.official_verdict) == ("accepted", "accepted")
    excused = {found.waived_by for found in report.findings if found.waived}
    assert excused == {"dropped run"}


def test_a_single_log_has_both_verdicts(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, lambda log: log.set("opt_adamw_beta_2", 0.95 + 1e-15))
    log = tree.root / tree.folder() / "result_2.txt"
    [entry] = check(log, round="5.1").files
    assert (entry.verdict, entry.official_verdict) == ("pass", "fail")


def test_a_round_without_a_verifier_has_no_official_verdict(tmp_path: Path) -> None:
    from tests.compliance.trees import good

    report = good(tmp_path, "training", "0.5", "ncf").check()
    assert report.official_verdict is None
    assert {entry.official_verdict for entry in (*report.files, *report.results)} == {None}


def test_a_waiver_does_not_change_the_official_verdict(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(2, lambda log: log.drop("seed"))
    tree.log(1, lambda log: log.drop("seed"))
    assert tree.check().rejected_by == ["policy", "verifier"]
    tree.write(
        "waivers.toml",
        "".join(
            f'[[waiver]]\nrule = "{rule}"\nplace = "results/ex_n8/llama31_405b/*"\n'
            'reason = "granted"\nwho = "WG"\nuntil = 2999-01-01\n'
            for rule in sorted({f.id for f in tree.check().findings})
        ),
    )
    report = tree.check()
    assert (report.official_verdict, report.rejected_by) == ("rejected", [])
    assert {f.waived_by for f in report.findings if f.waived} == {"waivers.toml"}


# --- equality with the verifier profile ---


def agree(place: Path, **options: Any) -> list[Any]:
    """Differences between the official verdict of a policy check and the verifier profile."""
    beside = check_paths([place], Options(**options))
    alone = check_paths([place], Options(**options, profile=Profile.VERIFIER))

    def verdicts(report: Outcome, name: str) -> dict[tuple[str, str], Any]:
        entries = [*report.files, *report.results, *report.submissions]
        judged = [entry for entry in entries if entry.official_verdict is not None]
        found = {(type(e).__name__, e.path): getattr(e, name) for e in judged}
        whole = report.official_verdict and getattr(report, name)
        return {**found, ("Outcome", ""): whole}

    ours, theirs = verdicts(beside, "official_verdict"), verdicts(alone, "verdict")
    # Findings that reject are marked at the same places
    marks = [sorted((f.path, f.id) for f in r.findings if f.official) for r in (beside, alone)]
    return [*(ours.items() ^ theirs.items()), *([marks] if marks[0] != marks[1] else [])]


def test_published_rounds_get_the_verdicts_of_the_verifier_profile(corpus: Path) -> None:
    rounds = sorted(corpus.glob("*_results_*"))
    assert len(rounds) > 10
    assert [(place.name, wrong) for place in rounds if (wrong := agree(place))] == []


def test_damaged_submissions_get_the_verdicts_of_the_verifier_profile(tmp_path: Path) -> None:
    usual(tmp_path / "good")
    wrong, rejected = [], 0
    for seed in range(60):
        root = tmp_path / str(seed)
        shutil.copytree(tmp_path / "good", root)
        [result] = root.rglob("results/*/llama31_405b")
        submission = result.parents[2]
        done = damage_package(submission, result, random.Random(f"official {seed}"))
        wrong += [(seed, done, each) for each in agree(submission, round="5.1")]
        rejected += check(submission, round="5.1").official_verdict == "rejected"
    assert wrong == []
    assert 10 < rejected < 55  # otherwise the comparison shows little
