"""A violation of a "must" of the policy is an error if the files prove it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.rules.finding import Profile, Severity
from tests.builders import LogBuilder, build
from tests.compliance.trees import Submission, later, sparse

ERROR, WARNING = Severity.ERROR, Severity.WARNING


def weight(log: LogBuilder, rule: str) -> Severity | None:
    """The severity of the finding of a rule in the policy profile."""
    return next(
        (each.severity for each in log.judge(Profile.POLICY).findings if each.id == rule), None
    )


@pytest.mark.parametrize(
    ("which", "key", "value", "severity"),
    [
        (("training", "6.0", "llama31_405b"), "opt_learning_rate_warmup_steps", 7999, ERROR),
        (("training", "5.1", "llama31_405b"), "opt_learning_rate_warmup_steps", 7999, WARNING),
        (("training", "5.0", "llama31_405b"), "global_batch_size", 9217, ERROR),
        (("training", "5.0", "llama31_405b"), "global_batch_size", 1120, None),
        (("training", "5.1", "llama31_405b"), "global_batch_size", 9217, WARNING),
        (("training", "5.1", "llama31_405b"), "global_batch_size", 1151, WARNING),
        (("training", "6.0", "llama2_70b_lora"), "max_sequence_length", 4096, WARNING),
        (("training", "6.0", "llama2_70b_lora"), "max_sequence_length", 8196, None),
        (("training", "4.1", "gpt3"), "opt_end_learning_rate", 2e-5, WARNING),
        (("hpc", "3.0", "cosmoflow"), "opt_learning_rate_decay_boundary_epochs", [-1], ERROR),
        (("hpc", "3.0", "cosmoflow"), "opt_learning_rate_decay_factor", 1.0, ERROR),
        (("hpc", "2.0", "oc20"), "opt_base_learning_rate", 0, ERROR),
        (("hpc", "2.0", "oc20"), "opt_learning_rate_warmup_factor", 1.5, ERROR),
        (("hpc", "2.0", "oc20"), "opt_learning_rate_decay_boundary_steps", [0], ERROR),
        (("hpc", "2.0", "oc20"), "opt_learning_rate_decay_factor", 1.5, ERROR),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_hyperparameter_outside_the_table_has_the_expected_severity(
    which: tuple[str, str, str], key: str, value: Any, severity: Severity | None
) -> None:
    usage, name, benchmark = which
    log = build(usage, name, "closed", benchmark).set(key, value)
    assert weight(log, f"closed.{benchmark}.{key}") == severity


def test_another_momentum_of_sgd_is_an_error() -> None:
    log = build("training", "4.0", "closed", "resnet", (("opt_name", "sgd"),))
    assert weight(log.set("sgd_opt_momentum", 0.95), "closed.resnet.sgd.sgd_opt_momentum") is ERROR


def test_the_hint_for_a_new_batch_size_asks_for_reference_runs() -> None:
    log = build("training", "5.1", "closed", "llama31_405b").set("global_batch_size", 9217)
    rule = "closed.llama31_405b.global_batch_size"
    (finding,) = [each for each in log.judge(Profile.POLICY).findings if each.id == rule]
    assert "submit reference runs at this batch size" in finding.hint


def late(log: LogBuilder) -> LogBuilder:
    """A run that stops before the evaluation that reaches its target."""
    return log.shift("run_stop", -60)


def test_a_run_that_stops_before_its_passing_evaluation_is_an_error() -> None:
    log = build("training", "5.1", "closed", "llama31_405b")
    assert weight(late(log), "evaluation.stop-before-target") is ERROR


@pytest.mark.parametrize(("name", "severity"), [("5.1", WARNING), ("6.0", ERROR)])
def test_evaluations_that_every_run_omits_are_an_error_from_6_0_on(
    name: str, severity: Severity, tmp_path: Path
) -> None:
    log = later(build("training", name, "closed", "llama31_405b"))
    tree = Submission(tmp_path, log).system().code().result(change=sparse)
    assert [each.severity for each in tree.reported("result.evaluations-left-out")] == [severity]
    assert tree.reported("result.evaluations-left-out", "verifier") == []
    tree.log(0)
    assert tree.reported("result.evaluations-left-out") == []


@pytest.mark.parametrize(("name", "severity"), [("5.1", WARNING), ("6.0", ERROR)])
def test_a_submission_without_code_is_an_error_from_6_0_on(
    name: str, severity: Severity, tmp_path: Path
) -> None:
    log = later(build("training", name, "closed", "llama31_405b"))
    tree = Submission(tmp_path, log).system().result()
    assert [each.severity for each in tree.found("code.none")] == [severity]
