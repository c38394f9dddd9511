"""Scaling factors: the values that scaling.json may have, and the factor that a score uses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from podium.compliance import check, score
from podium.compliance.judging.results.factor import choose_factor
from podium.compliance.reporting.models import FindingEntry
from podium.compliance.tools.scoring.report import ScoreEntry
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.convergence.result import Convergence
from tests.compliance.command_line import podium
from tests.compliance.trees import Submission, usual
from tests.published import own_copy

RULE = "result.unsupported-scaling"
AMD = "training_results_v5.0/AMD", "results/MI300X_EPYC_9575F_pytorch/llama2_70b_lora"
FUJITSU = "results/primergy-cdi-A100x8-pytorch-ngc23.09_gbs320/ssd"
OPENFOLD = "hpc_results_v3.0/HPE+LBNL", "results/perlmutter_224x4/strong/openfold"


def copied(corpus: Path, to: Path, submission: str, result: str) -> Path:
    """Copy a submission with only one of its results; return its folder."""
    root = to / submission
    system = result.split("/")[1]
    own_copy(corpus / submission / result, root / result)
    description = f"systems/{system}.json"
    (root / "systems").mkdir()
    shutil.copyfile(corpus / submission / description, root / description)
    return root


def scaled(folder: Path, factor: float) -> None:
    (folder / "scaling.json").write_text(json.dumps({"scaling_factor": factor}), encoding="utf-8")


def judged(root: Path, rule: str) -> tuple[list[FindingEntry], list[FindingEntry]]:
    """Return the findings of a rule by check and by score."""
    ours = (
        [f for f in report if f.id == rule]
        for report in (check(root).findings, score(root).findings)
    )
    return next(ours), next(ours)


def alike(root: Path, rule: str) -> list[tuple[str, str]]:
    """Return the severities and messages of a rule, which must be equal in check and score."""
    by_check, by_score = judged(root, rule)
    # Scores do not have the verdict of the official checker on files and results
    assert [one.model_copy(update={"official": False}) for one in by_check] == by_score
    return [(one.severity.value, one.message) for one in by_check]


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """A result for which the reference points give no factor."""
    return usual(tmp_path / "training_results_v5.1")


@pytest.mark.parametrize(
    ("factor", "severity"),
    [
        (1.0, ""),
        (0.9996, ""),
        (1.0004, ""),
        # The committee may set a factor other than that of the formula: a warning shows both
        (0.5, "warning"),
        (0.9994, "warning"),
        (1.0006, "warning"),
        (1.5, "warning"),
    ],
)
def test_check_and_score_judge_a_factor_equally(
    submission: Submission, factor: float, severity: str
) -> None:
    scaled(submission.root / submission.folder(), factor)
    formula = "the formula of the training rules (mean of the reference points / mean of the runs)"
    expected = [(severity, f"scaling.json has {factor:.6g}; {formula} gives 1")]
    assert alike(submission.root, RULE) == (expected if severity else [])
    (entry,) = score(submission.root).results
    assert (entry.factor, entry.published_factor, entry.computed_factor) == (factor, factor, 1)
    (result,) = submission.check().results
    assert (result.score, result.verdict) == (entry.score, "accepted")
    assert podium("score", submission.root).exit_code == 0
    assert [f for f in submission.check("verifier").findings if f.id == RULE] == []


@pytest.mark.parametrize(
    ("factor", "severity"),
    [
        (1.034722222222222, ""),
        (1.0347, ""),
        (1.035, ""),
        (1.03, ""),
        (1.0, "warning"),
        (1.034, "warning"),
        (1.04, "warning"),
    ],
)
def test_a_factor_is_compared_with_the_reference_points(
    corpus: Path, tmp_path: Path, factor: float, severity: str
) -> None:
    root = copied(corpus, tmp_path, *AMD)
    scaled(root / AMD[1], factor)
    assert [found for found, _ in alike(root, RULE)] == [severity] * bool(severity)
    (entry,) = score(root).results
    assert entry.computed_factor == pytest.approx(1.0347222222)
    assert (entry.factor, entry.factor_source) == (factor, "scaling.json")


@pytest.mark.parametrize(
    ("factor", "failed", "unsupported"),
    [
        (None, "error", []),
        # The mean of the reference divided by the mean of the result, 109000 samples
        (1.1004, "warning", []),
        (1.0, "error", ["warning"]),
        (1.2, "warning", ["warning"]),
    ],
)
def test_the_committee_may_accept_a_failed_result_with_a_factor(
    corpus: Path, tmp_path: Path, factor: float | None, failed: str, unsupported: list[str]
) -> None:
    root = copied(corpus, tmp_path, *OPENFOLD)
    if factor is not None:
        scaled(root / OPENFOLD[1], factor)
    ((severity, message),) = alike(root, "rcp.failed")
    assert severity == failed
    assert ("granted in review: the result was published with the factor" in message) == (
        failed == "warning"
    )
    assert [found for found, _ in alike(root, RULE)] == unsupported
    official = check(root, profile="verifier").findings
    assert [one.severity for one in official if one.id == "rcp.failed"] == ["error"]


def test_the_factors_of_published_files_are_supported(corpus: Path) -> None:
    found = {}
    for file in corpus.glob("*/*/results/**/scaling.json"):
        if not [*file.parent.glob("result_*.txt")]:
            continue  # the corpus leaves out the logs of some results
        for one in score(file.parent).findings:
            if one.id == RULE:
                found[file.parent.relative_to(corpus).as_posix()] = one.severity.value
    # The current reference points no longer give this published factor
    assert found == {"training_results_v3.0/IEI/results/nf5468m6_hugectr/dlrm_dcnv2": "warning"}


# --- the factor of a score ---


def entry_of(path: Path, **options: str) -> ScoreEntry:
    (entry,) = score(path, **options).results  # type: ignore[arg-type]
    return entry


def test_published_rounds_are_scaled_only_by_scaling_json(corpus: Path) -> None:
    path = corpus / "training_results_v3.1/Fujitsu" / FUJITSU
    usual_one, computed = entry_of(path), entry_of(path, factors="computed")
    assert (usual_one.factors, usual_one.factor, usual_one.factor_source) == (
        "published",
        1,
        "none",
    )
    assert usual_one.score == usual_one.minutes
    assert (computed.factors, computed.factor_source) == ("computed", "rcp")
    assert computed.factor == pytest.approx(37 / 36)
    for one in (usual_one, computed):
        assert (one.published_factor, one.computed_factor) == (1, pytest.approx(37 / 36))
    # The official summary uses the factor that it computes, not the published factor
    assert entry_of(path, profile="verifier").factor == pytest.approx(37 / 36)
    (result,) = [r for r in check(path.parents[2]).results if r.path.endswith(FUJITSU)]
    assert result.score == usual_one.score


def test_the_newest_round_is_scaled_by_the_reference_points(corpus: Path, tmp_path: Path) -> None:
    root = copied(corpus, tmp_path, *AMD)
    (root / AMD[1] / "scaling.json").unlink()
    ours = entry_of(root, round="6.1")
    assert (ours.factors, ours.factor_source) == ("computed", "rcp")
    assert ours.factor == ours.computed_factor > 1
    assert entry_of(root, round="6.1", factors="published").factor == 1
    assert entry_of(root, round="6.0").factor == 1


def test_the_table_shows_both_factors_and_names_the_applied_factor(corpus: Path) -> None:
    path = corpus / "training_results_v3.1/Fujitsu" / FUJITSU
    shown = podium("score", path).output
    assert "factor  computed    score" in shown
    assert "            1.0278  87.6151" in shown
    assert "Scores use the factor of scaling.json only, as in the published tables." in shown
    assert max(map(len, shown.splitlines())) <= 80
    explained = " ".join(podium("score", path, "--explain", "ssd").output.split())
    assert "--factors computed multiplies by 1.0277777777777777" in explained
    computed = podium("score", path, "--factors", "computed").output
    assert "computed" not in computed
    assert "1.0278  90.0488" in computed
    for form in ("markdown", "html"):
        written = podium("score", path, "--format", form).output
        assert "as in the published tables" in written.replace("\\", "")
    assert podium("score", path, "--factors", "both").exit_code == 2


@pytest.mark.parametrize("usage", USAGES)
def test_only_the_newest_round_may_be_unpublished(usage: str) -> None:
    rounds = list(rounds_of(usage).values())
    assert all(one.published for one in rounds[:-1])
    assert [one.name for one in rounds if not one.published] == {"training": ["6.1"], "hpc": []}[
        usage
    ]


# --- the choice of a factor ---


@pytest.mark.parametrize(
    ("verdict", "normalised", "supported"),
    [
        ("pass", True, (1.05,)),
        # Before 2.1, a score is scaled only if the committee decides so
        ("pass", False, (1.0, 1.05)),
        ("fail", True, (1.05,)),
        ("fail", False, (1.05,)),
    ],
)
def test_the_supported_factors_depend_on_verdict_and_round(
    verdict: str, normalised: bool, supported: tuple[float, ...]
) -> None:
    factor = 1.05 if verdict == "pass" else 1.0
    judged = Convergence(verdict, mean=21.0, submission=20.0, scaling_factor=factor)  # type: ignore[arg-type]
    assert choose_factor(1.0, judged, normalised=normalised).supported == supported
    assert choose_factor(None, judged, normalised=normalised).value == (
        factor if normalised else 1.0
    )
    slower = Convergence("pass", mean=21.0, submission=24.0)
    assert choose_factor(1.0, slower, normalised=normalised).supported == (1.0,)


def test_a_result_without_a_comparison_supports_only_a_factor_of_1() -> None:
    for convergence in (None, Convergence("missing"), Convergence("not_applicable")):
        assert choose_factor(0.9, convergence).unsupported
        assert not choose_factor(1.0, convergence).unsupported
        assert choose_factor(1.1, convergence).unsupported
    # A run that never converged makes the mean infinite
    endless = Convergence("pass", mean=21.0, submission=float("inf"))
    assert choose_factor(1.0, endless).supported == (1.0,)
