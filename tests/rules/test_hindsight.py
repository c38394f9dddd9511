"""Severities of findings in rounds that today's verifier did not check."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.finding import Profile, Severity
from tests.builders import LogBuilder, build
from tests.compliance.trees import Submission, good
from tests.rounds import training_from


def severity_of(log: LogBuilder, rule: str, profile: Profile = Profile.POLICY) -> Severity:
    """Return the severity of the only finding of a rule."""
    [finding] = [found for found in log.judge(profile).findings if found.id == rule]
    return finding.severity


def test_the_verifier_applies_from_training_4_1_on() -> None:
    in_force = {
        (usage, name)
        for usage in USAGES
        for name, rules in rounds_of(usage).items()
        if rules.verifier_in_force
    }
    assert in_force == {("training", name) for name in training_from("4.1")}


@pytest.mark.parametrize(
    ("name", "benchmark", "severity"),
    [
        ("4.0", "gpt3", Severity.NOTE),
        ("4.1", "gpt3", Severity.WARNING),
        ("5.1", "llama31_405b", Severity.WARNING),
    ],
)
def test_a_requirement_of_the_verifier_alone_is_a_note_before_4_1(
    name: str, benchmark: str, severity: Severity
) -> None:
    log = build("training", name, "open", benchmark).set("opt_name", "sgd")
    rule = f"open.{benchmark}.opt_name"
    assert severity_of(log, rule) is severity
    assert severity_of(log, rule, Profile.VERIFIER) is Severity.ERROR


@pytest.mark.parametrize("name", ["1.1", "4.0", "5.1"])
def test_a_requirement_of_policy_and_verifier_is_an_error_in_every_round(name: str) -> None:
    benchmark = "llama31_405b" if name == "5.1" else "resnet" if name == "1.1" else "gpt3"
    log = build("training", name, "closed", benchmark).drop("global_batch_size")
    assert severity_of(log, f"closed.{benchmark}.global_batch_size") is Severity.ERROR


def seedless(root: Path, name: str, benchmark: str) -> Submission:
    """A submission with one run that does not log a seed."""
    tree = good(root, "training", name, benchmark)
    tree.log(0, lambda log: log.drop("seed"))
    return tree


@pytest.mark.parametrize(
    ("name", "benchmark", "severity"),
    [("3.1", "unet3d", Severity.NOTE), ("4.1", "gpt3", Severity.ERROR)],
)
def test_a_missing_seed_is_a_note_before_seeds_were_required(
    name: str, benchmark: str, severity: Severity, tmp_path: Path
) -> None:
    tree = seedless(tmp_path, name, benchmark)
    assert [f.severity for f in tree.found("seeds.none")] == [severity]
    assert [f.severity for f in tree.found("seeds.none", "verifier")] == [Severity.ERROR]


@pytest.mark.parametrize(
    ("value", "policy", "verifier"),
    [
        ("Acme", Severity.NOTE, Severity.WARNING),
        ("Other", Severity.ERROR, Severity.ERROR),
    ],
)
def test_a_repeated_value_is_a_note_only_if_it_is_the_same(
    value: str, policy: Severity, verifier: Severity
) -> None:
    log = build("training", "5.1", "closed", "llama31_405b")
    log = log.set("submission_org", "Acme").repeat("submission_org", value)
    assert severity_of(log, "common.submission_org") is policy
    assert severity_of(log, "common.submission_org", Profile.VERIFIER) is verifier
