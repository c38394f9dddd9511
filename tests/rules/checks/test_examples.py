"""The examples on the pages of checks are run."""

from __future__ import annotations

import pytest

from podium.logging_spec.reader.read import parse_log
from podium.rules.checks.catalogue import ALL, HPC, binding
from podium.rules.finding import Severity
from podium.rules.run import Run

from .conftest import BY_ID, ROUNDS, GoodLog, records

OTHER_ROUND = {
    "staging.untimed": "hpc 2.0",
    "staging.not-logged": "hpc 2.0",
    "evaluation.epoch-numbering": "training 5.0",
    "epoch.numbered-from-zero": "training 5.0",
    "evaluation.other-checkpoint": "training 6.1",
    "evaluation.counted-offline": "training 6.1",
    "run.gave-up-early": "training 4.0",
}


def faults(id_: str, text: str) -> int:
    """Return the number of violations that a check finds in an excerpt of a log."""
    log = GoodLog([], rules=OTHER_ROUND.get(id_, "training 5.1"))
    log.records = records(text.splitlines())
    log.benchmark = str(Run(log.records).value("submission_benchmark"))
    run = Run(log.records)
    run.ordered = run.exact = False
    return len(list(BY_ID[id_].find(run, log.context)))


@pytest.mark.parametrize("id_", BY_ID)
def test_the_bad_example_fails_and_the_good_one_passes(id_: str) -> None:
    assert faults(id_, BY_ID[id_].bad)
    assert not faults(id_, BY_ID[id_].good)


@pytest.mark.parametrize("id_", BY_ID)
def test_examples_consist_of_complete_records(id_: str) -> None:
    for text in (BY_ID[id_].bad, BY_ID[id_].good):
        log = parse_log(text.encode())
        assert len(log.records) == len(text.splitlines())
        assert not log.faults


@pytest.mark.parametrize("id_", BY_ID)
def test_a_check_has_a_statement_a_reason_and_a_citation(id_: str) -> None:
    each = BY_ID[id_]
    assert each.says[0].islower() or each.says.startswith(("run_", "init_", "time_"))
    assert not each.says.endswith(".")
    assert each.why.endswith(".")
    assert each.cites


@pytest.mark.parametrize("id_", BY_ID)
def test_messages_state_a_requirement_and_hints_are_lower_case(id_: str) -> None:
    log = GoodLog([], rules=OTHER_ROUND.get(id_, "training 5.1"))
    log.records = records(BY_ID[id_].bad.splitlines())
    run = Run(log.records)
    log.benchmark = str(run.value("submission_benchmark"))
    run.ordered = run.exact = False
    for violation in BY_ID[id_].find(run, log.context):
        assert "; must " in violation.message
        assert not violation.message.endswith(".")
        assert violation.hint[0].islower()


def test_ids_of_checks_are_unique() -> None:
    assert len(BY_ID) == len(HPC)


def test_every_verified_round_has_the_checks() -> None:
    for rules in ROUNDS.values():
        if rules.verified:
            assert rules.checks == (HPC if rules.usage == "hpc" else ALL)


def test_warnings_are_errors_in_rounds_without_a_verifier() -> None:
    for own, bound in zip(HPC, binding(HPC), strict=True):
        assert bound.id == own.id
        if own.severity is Severity.NOTE:
            assert bound.severity is Severity.NOTE
        else:
            assert bound.severity is Severity.ERROR


def test_a_record_of_unusual_types_does_not_stop_a_check() -> None:
    odd = [
        None,
        True,
        -1,
        1.5,
        float("nan"),
        float("inf"),
        10**400,
        1e308,
        "",
        "x",
        [],
        [1],
        {},
        {"a": 1},
    ]
    log = GoodLog([12_288, 24_576])
    plain = log.records
    for record in plain:
        for value in odd:
            for metadata in ({}, None, "", [], {"status": value, "samples_count": value}):
                changed = type(record)(record.key, record.time_ms, value, metadata)
                log.records = [changed if r is record else r for r in plain]
                log.violations()
