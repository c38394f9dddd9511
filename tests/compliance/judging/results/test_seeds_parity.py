"""Seeds compared with the official checker: it accepts the same published results."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import warnings
from pathlib import Path

import pytest

from podium.compliance.judging.logs.seeds import seeded_run
from podium.compliance.judging.results.seeds import check_seeds
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile, Severity
from podium.rules.model.round import Round
from tests.locations import CORPUS
from tests.oracle import usage_and_round


def published() -> list[tuple[Path, str]]:
    """Every published result with a description: (folder, division)."""
    found = []
    for submission in sorted(CORPUS.glob("*_results_v*/*")):
        folders = {log.parent for log in submission.glob("results/**/result_*.txt")}
        for folder in sorted(folders):
            system = folder.relative_to(submission).parts[1]
            with contextlib.suppress(OSError, KeyError, ValueError):
                described = json.loads((submission / "systems" / f"{system}.json").read_text())
                found.append((folder, str(described["division"])))
    return found


def judged(folder: Path, division: str, rules: Round) -> bool:
    """Whether the seeds of a folder are accepted in the verifier profile."""
    logs = sorted(folder.glob("result_*.txt"))
    runs = [seeded_run(read_log(path), path.name) for path in logs]
    found = check_seeds(runs, rules, division, Profile.VERIFIER)
    return not any(finding.severity is Severity.ERROR for finding in found)


def incumbent(folder: Path, rules: Round, division: str) -> bool:
    """The answer of the official checker if its package check did not reach this folder."""
    if division != "closed" or rules.name < "1.0":
        return True
    checker = importlib.import_module("mlperf_logging.package_checker.seed_checker").SeedChecker
    logs = [str(path) for path in sorted(folder.glob("result_*.txt"))]
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of several seeds in one run
            return bool(checker(f"{rules.name}.0").check_seeds(logs, False))
    finally:
        logging.disable(disabled)


@pytest.mark.long
@pytest.mark.corpus
def test_the_official_checker_rejects_the_same_published_results() -> None:
    verdicts = json.loads((CORPUS / "package-verdicts.json").read_text())
    wrong, failed = [], 0
    for folder, division in published():
        usage, name = usage_and_round(folder)
        rules = find_round(usage, name)
        submission = "/".join(folder.relative_to(CORPUS).parts[:2])
        inside = str(folder.relative_to(CORPUS / submission))
        known = verdicts.get(submission, {"folders": {}})["folders"].get(inside)
        if known is not None:
            expected = not any(text.startswith("Seed checker failed") for text in known["errors"])
        elif rules.verified:
            expected = incumbent(folder, rules, division)
        else:
            expected = True
        failed += not expected
        if judged(folder, division, rules) != expected:
            wrong.append((str(folder.relative_to(CORPUS)), expected))
    assert wrong == []
    assert failed > 15
