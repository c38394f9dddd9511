"""How a result's test of convergence is reported, by the check and by the score alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance import check, score

DLRM = {
    "training_results_v1.0": ("Google/results/tpu-v4-128-TF/dlrm", "Google"),
    "training_results_v2.0": ("GIGABYTE/results/G492-ID0_hugectr/dlrm", "GIGABYTE"),
}


@pytest.mark.parametrize("name", DLRM)
def test_a_crash_of_the_official_verifier_is_no_fault_of_a_result(corpus: Path, name: str) -> None:
    path, submitter = DLRM[name]
    findings = check(corpus / name / submitter).findings
    found = [one for one in findings if one.id.startswith("rcp.") and "dlrm" in one.path]
    # What is said of the official verifier weighs nothing: the round was judged by another
    assert {(one.severity, one.official) for one in found} == {("note", True)}
    assert [one.id for one in score(corpus / name / path).findings if "rcp" in one.id] == []
    official = score(corpus / name / path, profile="verifier").findings
    (crash,) = [one for one in official if one.id == "rcp.failed"]
    assert crash.severity == "error"
    assert crash.message == "the official verifier crashes on every result of dlrm"
