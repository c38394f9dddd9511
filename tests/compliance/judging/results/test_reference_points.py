"""The convergence test of a result, as reported by the check and by the score."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from podium.compliance import check, score
from podium.compliance.cli.compat.package_checker import Flags, compat_package

DLRM = {
    "training_results_v1.0": ("Google/results/tpu-v4-128-TF/dlrm", "Google"),
    "training_results_v2.0": ("GIGABYTE/results/G492-ID0_hugectr/dlrm", "GIGABYTE"),
}

CONVERGENCE = {"rcp.failed", "rcp.missing", "result.verifier-crash"}


@pytest.mark.parametrize("name", DLRM)
def test_a_crash_of_the_official_verifier_on_dlrm_is_only_a_note(corpus: Path, name: str) -> None:
    path, submitter = DLRM[name]
    findings = check(corpus / name / submitter).findings
    found = [one for one in findings if one.id in CONVERGENCE and "dlrm" in one.path]
    # The finding is only a note, because another version of the verifier judged the round
    assert {(one.severity, one.official) for one in found} == {("note", True)}
    assert [one.id for one in score(corpus / name / path).findings if one.id in CONVERGENCE] == []
    official = score(corpus / name / path, profile="verifier").findings
    (crash,) = [one for one in official if one.id in CONVERGENCE]
    assert (crash.id, crash.severity) == ("result.verifier-crash", "error")
    assert crash.message == "the official verifier crashes on every result of dlrm"


def test_a_bypass_flag_does_not_prevent_a_crash_of_the_official_verifier(
    corpus: Path, tmp_path: Path
) -> None:
    submission = corpus / "training_results_v1.0" / "Google"
    root = tmp_path / "Google"
    result = root / "results" / "tpu-v4-128-TF" / "dlrm"
    shutil.copytree(submission / result.relative_to(root), result)
    (root / "systems").mkdir()
    shutil.copy(submission / "systems" / "tpu-v4-128-TF.json", root / "systems")
    (result / "package_checker_params").write_text("rcp-bypass\n")
    _, accepted = compat_package(root, "training", "1.0.0", Flags())
    assert not accepted
    for report in (
        check(root, profile="verifier", round="1.0"),
        score(result, profile="verifier", round="1.0"),
    ):
        (crash,) = [one for one in report.findings if one.id in CONVERGENCE]
        assert not crash.waived
