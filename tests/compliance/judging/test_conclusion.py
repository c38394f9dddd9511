"""All parts of a report agree, for any damage to a tree."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.compliance.cli.compat.package_checker import Flags, compat_package
from podium.compliance.judging.discovery import discover
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_inputs
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.render import github, junit, markdown, sarif
from podium.compliance.reporting.render.json import render as as_json
from podium.compliance.reporting.render.text import render
from podium.compliance.reporting.render.words import submission_table
from podium.rules.finding import DROPPED_RUN, Profile
from tests.compliance.trees import usual

RESULT = "Acme/results/ex_n8/llama31_405b"
SYSTEM = "Acme/systems/ex_n8.json"

Damage = Callable[[Path, int], None]
"""A way to damage a round; damage to a log applies to the log with this number."""


def _log(root: Path, number: int) -> Path:
    return root / RESULT / f"result_{number}.txt"


def _edit(change: Callable[[bytes], bytes]) -> Damage:
    def damage(root: Path, number: int) -> None:
        path = _log(root, number)
        path.write_bytes(change(path.read_bytes()))

    return damage


def _linked(target: str) -> Damage:
    def damage(root: Path, number: int) -> None:
        _log(root, number).unlink()
        _log(root, number).symlink_to(target)

    return damage


def _folder(root: Path, number: int) -> None:
    _log(root, number).unlink()
    _log(root, number).mkdir()


def _renamed(name: str) -> Damage:
    return lambda root, number: os.rename(_log(root, number), root / RESULT / name)


def _moved(old: str, new: str) -> Damage:
    def damage(root: Path, _: int) -> None:
        (root / new).parent.mkdir(parents=True, exist_ok=True)
        os.rename(root / old, root / new)

    return damage


def _written(path: str, text: str) -> Damage:
    return lambda root, _: (root / path).write_text(text) and None


def _field(name: str, value: object) -> Damage:
    def damage(root: Path, _: int) -> None:
        path = root / SYSTEM
        path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))

    return damage


CRASHES: dict[str, Damage] = {
    "a batch size that is a string": _edit(
        lambda data: re.sub(rb'(global_batch_size".*?"value": )(\d+)', rb'\1"\2"', data)
    ),
    "UTF-16": _edit(lambda data: data.decode("latin-1").encode("utf-16")),
    "a line of JSON that is cut": _edit(lambda data: data[:-40]),
}
"""Damages on which the official checker crashes."""

DAMAGES: dict[str, Damage] = CRASHES | {
    "an empty log": _edit(lambda _: b""),
    "a run that is aborted": _edit(lambda data: data.replace(b'"success"', b'"aborted"')),
    "a log without an end": _edit(lambda data: b"\n".join(data.splitlines()[:-5]) + b"\n"),
    "a wrong hyperparameter": _edit(
        lambda data: re.sub(rb'(opt_adamw_beta_2".*?"value": )[\d.]+', rb"\g<1>0.5", data)
    ),
    "a dangling link": _linked("nowhere.txt"),
    "a link out of the tree": _linked("/etc/hostname"),
    "a folder for a log": _folder,
    "a log of another name": _renamed("results_9.txt"),
    "a hidden file": _written("Acme/.DS_Store", "x"),
    "a file with a blank": _written("Acme/results/a b.txt", "x"),
    "a file in no submission": _written("notes.txt", "x"),
    "a factor that is not a number": _written(f"{RESULT}/scaling.json", '{"scaling_factor": "x"}'),
    "a misspelt benchmark": _moved(RESULT, "Acme/results/ex_n8/llama31-405b"),
    "an unknown benchmark": _moved(RESULT, "Acme/results/ex_n8/unheard_of"),
    "no description": _moved(SYSTEM, "Acme/systems/other.json"),
    "another division": _field("division", "open"),
    "a field that is empty": _field("accelerator_model_name", ""),
    "a waiver of a log's rule": _written(
        "Acme/waivers.toml",
        '[[waiver]]\nrule = "closed.*"\nplace = "*"\nreason = "x"\nwho = "y"\nuntil = 2099-01-01\n',
    ),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("good") / "training_results_v5.1"
    root.mkdir()
    usual(root)
    return root


def _report(good: Path, damages: list[tuple[str, int]], options: Options) -> Outcome:
    root = good.parent / "broken" / good.name
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(good, root)
    for name, number in damages:
        try:
            DAMAGES[name](root, number)
        # Another damage has removed the file
        except OSError:
            continue
    return check_inputs(discover([root], options), options).report


OPTIONS = st.sampled_from(
    [
        Options(profile=profile, **choices)
        for profile in Profile
        for choices in (
            {},
            {"strict": True},
            {"policy_only": True},
            {"select": ("closed.*",)},
            {"select": ("system.*",), "only_selected": True},
        )
    ]
)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(DAMAGES)), st.integers(0, 2)), max_size=4), OPTIONS
)
@settings(max_examples=120, deadline=None)
def test_all_parts_of_a_report_agree(
    good: Path, damages: list[tuple[str, int]], options: Options
) -> None:
    report = _report(good, damages, options)
    says_accepted(report)
    numbers_add_up(report)
    entries_agree(report)
    only_judged_results_drop_runs(report)


def says_accepted(report: Outcome) -> None:
    accepted = report.exit_status == 0
    for quiet in (False, True):
        last = render(report, quiet=quiet).splitlines()[-1]
        assert last.startswith("ACCEPTED") is accepted
        assert accepted or "accepts" not in last
    assert (junit.render(report).count("<failure") == 0) is accepted or options_hide(report)
    assert ET.fromstring(junit.render(report)).get("name") == "podium"
    assert github.render(report).splitlines()[-1].startswith("ACCEPTED") is accepted
    assert markdown.render(report).startswith("## podium: ACCEPTED") is accepted
    assert json.loads(as_json(report))["exit_status"] == report.exit_status
    run = json.loads(sarif.render(report, "", {}))["runs"][0]
    assert run["invocations"][0]["exitCode"] == report.exit_status
    only_official = report.rejected_by == ["verifier"] and report.rules.profile == "policy"
    if only_official and report.exit_status and report.verdict != "not judged":
        last = render(report).splitlines()[-1]
        assert last == "REJECTED by the official verifier (policy: accepted)"


def options_hide(report: Outcome) -> bool:
    """Whether options hide the findings that reject."""
    return report.verdict == "not judged"


def numbers_add_up(report: Outcome) -> None:
    if not report.submissions:
        return
    heads, rows = submission_table(report)
    for head, number in (("errors", report.counts.error), ("warnings", report.counts.warning)):
        assert sum(int(row[heads.index(head)]) for row in rows) == number


def entries_agree(report: Outcome) -> None:
    if report.verdict == "not judged":
        return
    for entry in report.submissions:
        results = [each for each in report.results if each.path.startswith(entry.path)]
        if entry.verdict == "accepted":
            assert all(each.verdict == "accepted" for each in results)
        if entry.official_verdict == "accepted":
            assert all(each.official_verdict == "accepted" for each in results)
        if report.verdict == "accepted":
            assert entry.verdict == "accepted"
        if report.official_verdict == "accepted":
            assert entry.official_verdict == "accepted"


def only_judged_results_drop_runs(report: Outcome) -> None:
    accepted = {each.path for each in report.results if "accepted" in _verdicts(each.verdict)}
    for finding in report.findings:
        if finding.waived_by == DROPPED_RUN and finding.path.endswith(".txt"):
            assert finding.path.rpartition("/")[0] in accepted


def _verdicts(verdict: str) -> set[str]:
    return {verdict}


@pytest.mark.parametrize("name", sorted(CRASHES))
def test_a_log_that_crashes_the_official_checker_is_rejected(name: str, good: Path) -> None:
    """One of three runs may fail, but the official checker ends without a verdict."""
    policy = _report(good, [(name, 1)], Options())
    assert policy.official_verdict == "rejected"
    assert [entry.official_verdict for entry in policy.submissions] == ["rejected"]
    verifier = _report(good, [(name, 1)], Options(profile=Profile.VERIFIER))
    assert (verifier.verdict, verifier.exit_status) == ("rejected", 1)
    tree = good.parent / "broken" / good.name / "Acme"
    assert not compat_package(tree, "training", "5.1.0", Flags())[1]


def test_findings_of_a_log_outside_any_result_are_not_waived(good: Path) -> None:
    report = _report(good, [("a run that is aborted", 0), ("an unknown benchmark", 0)], Options())
    assert report.results == []
    assert not any(finding.waived for finding in report.findings)


def test_the_official_checker_drops_a_log_that_violates_a_rule(good: Path) -> None:
    options = Options(profile=Profile.VERIFIER)
    report = _report(good, [("a wrong hyperparameter", 1)], options)
    assert report.verdict == "accepted"
    assert [f.waived_by for f in report.findings if f.severity == "error"] == [DROPPED_RUN]
