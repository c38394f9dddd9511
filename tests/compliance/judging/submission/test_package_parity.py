"""The verifier profile compared with the official checker on published and damaged packages."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import random
import re
import shutil
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli.compat.package_checker import Flags, compat_package
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.reporting.data import Outcome
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile, Severity
from tests.builders import build
from tests.compliance.trees import Submission
from tests.oracle import usage_and_round
from tests.package_damage import damage_package
from tests.published import own_copy
from tests.thorough import usually

LARGEST = 6_000_000
"""The most bytes of logs in a damaged result: larger results are slow and show nothing more."""


def podium(root: Path, usage: str, name: str, profile: Profile = Profile.VERIFIER) -> Outcome:
    return check_paths([root], Options(usage=usage, round=name, profile=profile))


# --- published packages ---


def test_published_packages_get_the_verdicts_of_the_official_checker(corpus: Path) -> None:
    known: dict[str, dict[str, Any]] = json.loads((corpus / "package-verdicts.json").read_text())
    wrong = []
    for name, theirs in known.items():
        found = podium(corpus / name, *usage_and_round(Path(name)))
        (entry,) = found.submissions
        # A traceback is not a verdict: podium rejects such a package.
        if (entry.verdict == "accepted") != (theirs["accepted"] and theirs["crash"] is None):
            wrong.append((name, entry.verdict, theirs))
        ours = {result.path: result.verdict == "rejected" for result in found.results}
        if theirs["crash"] is None:
            folders = theirs["folders"].items()
            wrong += [(name, p, f) for p, f in folders if ours.get(p, False) != bool(f["errors"])]
    assert len(known) > 30
    assert wrong == []


# --- regressions found with damaged packages ---


def first_round(place: Path) -> Submission:
    """A package of 0.7, whose package checker does not check descriptions."""
    log = build("training", "0.7", "open", "bert")
    return Submission(place, log).system(division="open").result()


def test_a_description_needs_only_its_division_before_1_0(tmp_path: Path) -> None:
    tree = first_round(tmp_path)
    description = tree.root / "systems" / "ex_n8.json"
    fields = json.loads(description.read_text())
    for lacking, accepted in (("framework", True), ("division", None)):
        left = {name: value for name, value in fields.items() if name != lacking}
        description.write_text(json.dumps(left))
        found = podium(tree.root, "training", "0.7")
        assert (found.submissions[0].verdict == "accepted") is bool(accepted)
        reported = [f for f in found.findings if (f.id, f.key) == ("system.missing-field", lacking)]
        assert [f.severity for f in reported] == [Severity.WARNING if accepted else Severity.ERROR]
        assert incumbent(tree.root, "training", "0.7") is accepted


def test_values_of_any_type_do_not_cause_an_internal_error(tmp_path: Path) -> None:
    tree = first_round(tmp_path)
    for key in ("submission_benchmark", "global_batch_size", "eval_accuracy", "run_stop", "seed"):
        log = tree.root / tree.folder() / "result_0.txt"
        before = log.read_bytes()
        for value in (b"[1]", b"{}", b"null", b'"x"', b"1e999"):
            pattern = rb'("key": "%s", "value": )[^,]+' % key.encode()
            log.write_bytes(re.sub(pattern, rb"\g<1>" + value, before))
            for profile in Profile:
                found = podium(tree.root, "training", "0.7", profile)
                assert not [f for f in found.findings if f.id.startswith("internal.")]
        log.write_bytes(before)


@pytest.mark.parametrize("spoilt", [False, True])
@pytest.mark.parametrize("what", ["results", "system", "result", "log", "systems"])
def test_links_within_a_package_are_followed_as_by_the_official_checker(
    what: str, spoilt: bool, tmp_path: Path
) -> None:
    tree = first_round(tmp_path)
    name = {
        "result": tree.folder(),
        "system": str(Path(tree.folder()).parent),
        "log": f"{tree.folder()}/result_0.txt",
    }.get(what, what)
    if spoilt:
        tree.log(0, lambda log: log.drop("run_stop"))
        tree.log(1, lambda log: log.drop("run_stop"))
    elsewhere = tree.root / "documentation" / "moved"
    elsewhere.parent.mkdir(exist_ok=True)
    (tree.root / name).rename(elsewhere)
    (tree.root / name).symlink_to(elsewhere)
    for profile in Profile:
        (entry,) = podium(tree.root, "training", "0.7", profile).submissions
        assert (entry.verdict == "accepted") is not spoilt
    assert incumbent(tree.root, "training", "0.7") is not spoilt


# --- damaged packages ---


class _Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def _listening() -> Iterator[_Said]:
    root, said = logging.getLogger(), _Said()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = [said]
    root.setLevel(logging.INFO)
    try:
        yield said
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def incumbent(root: Path, usage: str, name: str) -> bool | None:
    """Whether the official checker accepts a package; None if it ends in a traceback."""
    checker = importlib.import_module("mlperf_logging.package_checker.package_checker")
    logs = importlib.import_module("mlperf_logging.compliance_checker.mlp_compliance")
    logs.enqueued_configs.clear()
    arguments = (str(root), usage, f"{name}.0", False, False, False, False, False, "")
    silence = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with _listening() as said, silence[0], silence[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of several seeds in one run
        try:
            checker.check_training_package(*arguments)
        except (Exception, SystemExit):
            return None
        finally:
            logs.enqueued_configs.clear()
    return any("FOUND NO ERRORS" in line for line in said.lines)


def results(corpus: Path) -> list[tuple[str, str, Path, Path]]:
    """(usage, round, submission, result folder) of the published results to damage."""
    found = []
    for log in sorted(corpus.glob("*_results_v*/*/results/**/result_0.txt")):
        result = log.parent
        submission = corpus.joinpath(*log.relative_to(corpus).parts[:2])
        usage, name = usage_and_round(result)
        described = submission / "systems" / f"{result.relative_to(submission).parts[1]}.json"
        size = sum(each.stat().st_size for each in result.glob("result_*.txt"))
        # The official checker has rules for only some benchmarks of 0.6.
        judged = find_round(usage, name).verified and name != "0.6"
        if judged and size <= LARGEST and described.is_file():
            found.append((usage, name, submission, result))
    return found


def lone(submission: Path, result: Path, root: Path) -> Path:
    """Copy one result of a submission with its description, and return the folder of the copy."""
    place = root / result.relative_to(submission)
    own_copy(result, place)
    (place / "scaling.json").unlink(missing_ok=True)
    system = f"{result.relative_to(submission).parts[1]}.json"
    (root / "systems").mkdir()
    shutil.copyfile(submission / "systems" / system, root / "systems" / system)
    return place


def compare(corpus: Path, seeds: range, scratch: Path) -> list[str]:
    """Differences of the verdicts on damaged packages, and internal errors of podium."""
    known, wrong, accepted = results(corpus), [], 0
    for seed in seeds:
        rng = random.Random(f"package {seed}")
        usage, name, submission, result = rng.choice(known)
        root = scratch / str(seed)
        done = damage_package(root, lone(submission, result, root), rng)
        found = podium(root, usage, name)
        both = [*found.findings, *podium(root, usage, name, Profile.POLICY).findings]
        wrong += [f"{seed} {done}: {f.message}" for f in both if f.id.startswith("internal.")]
        _, ours = compat_package(root, usage, f"{name}.0", Flags())
        # A crash is a rejection, because the official checker did not accept the package
        theirs = bool(incumbent(root, usage, name))
        accepted += theirs
        if ours != theirs:
            errors = [f.message for f in found.findings if f.severity is Severity.ERROR]
            wrong.append(f"{seed} {usage} {name} {result}: {done}; podium {ours}: {errors[:3]}")
        shutil.rmtree(root)
    assert 0.2 < accepted / len(seeds) < 0.8  # otherwise the comparison shows little
    return wrong


def test_damaged_packages_get_the_verdict_of_the_official_checker(
    corpus: Path, tmp_path: Path
) -> None:
    assert compare(corpus, range(24), tmp_path) == []


@pytest.mark.long
def test_many_damaged_packages_get_the_verdict_of_the_official_checker(
    corpus: Path, tmp_path: Path
) -> None:
    """The packages differ each day; a difference is printed with its seed."""
    first = date.today().toordinal() * 10_000
    assert compare(corpus, range(first, first + usually(200, 2_000)), tmp_path) == []
