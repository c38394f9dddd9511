"""The guard reports what `podium check` reports, as early as possible, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.tools.live.guard import Guard
from podium.compliance.tools.live.live_rules import CONFLICTING_DECLARATION, NOT_YET_LOGGED
from podium.compliance.tools.live.partial.certain import TARGET
from podium.logging_spec.reader.log import Log
from podium.logging_spec.reader.read import parse_log, read_log
from podium.logging_spec.reader.record import Record
from podium.rules.finding import Finding, Profile, Severity
from tests.builders import LogBuilder, LogKind, build, build_log, cases
from tests.damage import damages

NEWEST = [which for which in cases() if (which.usage, which.round) == ("training", "6.1")]

OFF_SCHEDULE = "evaluation.off-schedule"

WEIGHT = {Severity.NOTE: 1, Severity.WARNING: 2, Severity.ERROR: 3}


def good(benchmark: str = "llama31_8b") -> LogBuilder:
    return build("training", "6.1", "closed", benchmark)


def guard(log: LogBuilder) -> Guard:
    which = log.which
    return Guard(which.round, which.division, which.benchmark, advises=False)


def severities(findings: list[Finding]) -> dict[str, Severity]:
    """Return the highest severity of each rule."""
    found: dict[str, Severity] = {}
    for each in findings:
        found[each.id] = max(
            each.severity, found.get(each.id, each.severity), key=WEIGHT.__getitem__
        )
    return found


@dataclass
class Reports:
    """The record at which a guard first reported each rule, and all findings of the guard."""

    at: dict[str, int]
    findings: list[Finding]


def reports_on(log: Log, guard_: Guard) -> Reports:
    at: dict[str, int] = {}
    for index, record in enumerate(log.records):
        for found in guard_(record):
            at.setdefault(found.id, index)
    for found in guard_.finish(log):
        at.setdefault(found.id, len(log.records))
    return Reports(at, guard_.findings)


def reports_of(builder: LogBuilder) -> Reports:
    return reports_on(parse_log(builder.bytes()), guard(builder))


def moment(builder: LogBuilder, rule: str) -> str:
    """Return the key of the record at which a rule is reported; `end` is the end of the log."""
    at = reports_of(builder).at[rule]
    records = parse_log(builder.bytes()).records
    return records[at].key if at < len(records) else "end"


# --- comparison with check ---


@pytest.mark.parametrize("which", NEWEST, ids=str)
def test_a_valid_log_has_no_findings(which: LogKind) -> None:
    assert reports_of(build_log(which)).findings == []


@pytest.mark.parametrize("which", NEWEST, ids=str)
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_a_finding_of_check_is_reported_at_the_first_certain_record(
    which: LogKind, named: bool
) -> None:
    for kind, log in bent(which, 12):
        names = (which.division, which.benchmark) if named and honest(log, which) else ()
        judged = Guard(which.rules, *names, advises=False)
        judged.run.line_of = log.line
        found = reports_on(log, judged)
        checked = judge_log(log, which.rules, Profile.POLICY, "").findings
        assert severities(found.findings) == severities(checked), kind
        if not names:
            assert_at_once(found, log, which)


def bent(which: LogKind, count: int) -> Iterator[tuple[str, Log]]:
    """Yield damaged logs without records after run_stop; a guard would judge those too late."""
    many = damages(build_log(which).bytes(), random.Random(f"guard {which}"))
    while count:
        kind, data = next(many)
        log = parse_log(data)
        stops = [i for i, record in enumerate(log.records) if record.key == "run_stop"]
        if not log.faults and not log.lenient and stops in ([len(log.records) - 1], []):
            count -= 1
            yield kind, log


def honest(log: Log, which: LogKind) -> bool:
    """Whether the log declares the expected division and benchmark."""
    values = {record.key: record.value for record in reversed(log.records)}
    names = (values.get("submission_division"), values.get("submission_benchmark"))
    return names == (which.division, which.benchmark)


def assert_at_once(found: Reports, log: Log, which: LogKind) -> None:
    """Assert that each rule is reported by the record from which on every prefix violates it."""
    count = len(log.records)
    at_end = {check.id for check in which.rules.checks if not check.watches}
    known = [present(log, end, which) for end in range(1, count + 1)]
    for rule, at in found.at.items():
        if rule in at_end or rule.endswith(TARGET) or (rule == OFF_SCHEDULE and overlap(log)):
            continue
        first = count
        while first and rule in known[first - 1]:
            first -= 1
        assert at <= first, (rule, at, first)
        if at < first:
            assert log.records[at].key == "run_stop", "only a missing key is reported earlier"


def overlap(log: Log) -> bool:
    """Whether evaluations overlap or have outcomes in another order than their starts."""
    at: dict[str, list[object]] = {"eval_start": [], "eval_accuracy": []}
    for record in log.records:
        if record.key in at and isinstance(record.metadata, dict):
            at[record.key].append(record.metadata.get("samples_count"))
    return at["eval_start"] != at["eval_accuracy"]


def present(log: Log, end: int, which: LogKind) -> set[str]:
    """Return the rules that records in a prefix of the log violate, without missing records."""
    part = Log(log.generation, log.records[:end], places=[*range(end)], lines=[*range(1, end + 1)])
    found = judge_log(part, which.rules, Profile.POLICY, "").findings
    return {each.id for each in found if each.line is not None or each.id == "log.verifier-crash"}


@pytest.mark.parametrize("profile", [*Profile])
def test_published_logs_have_the_findings_of_check(corpus: Path, profile: Profile) -> None:
    paths = sorted(corpus.glob("**/result_*.txt"))
    for path in random.Random("guard").sample(paths, 60):
        log, rules = read_log(path), RoundRequest().choose(path.parent).rules
        readable = log.generation == rules.generation
        found = Guard(rules, profile=profile, advises=False)
        found.run.line_of = log.line
        for record in log.records if readable else ():
            found(record)
        found.finish(log)
        checked = judge_log(log, rules, profile, "").findings
        assert severities(found.findings) == severities(checked), path


# --- kinds of rules ---


def test_a_violated_bound_is_reported_at_its_record() -> None:
    log = good().set("opt_adamw_beta_2", 0.9)
    assert moment(log, "closed.llama31_8b.opt_adamw_beta_2") == "opt_adamw_beta_2"
    found = guard(log).__class__("6.1", "closed", "llama31_8b")(
        Record("opt_adamw_beta_2", 0, 0.9, {})
    )
    assert found[0].severity is Severity.ERROR
    assert found[0].message == "opt_adamw_beta_2 is 0.9; must be 0.95"


def test_a_formula_is_an_error_once_all_its_keys_are_logged() -> None:
    key, needs = "opt_learning_rate_decay_steps", "opt_learning_rate_warmup_steps"
    log = good().set(key, 7).move(needs, before="init_stop").move(key, before=needs)
    judged, severity = guard(log), {}
    for record in parse_log(log.bytes()).records:
        for found in judged(record):
            severity[record.key] = found.severity
    # The official checker uses only earlier records: its verdict is certain before the policy's.
    assert severity == {key: Severity.WARNING, needs: Severity.ERROR}


def test_the_wrong_order_is_reported_at_both_records() -> None:
    log = good().move("init_start", after="init_stop")
    assert moment(log, "common.init_stop") == "init_stop"
    assert moment(log, "common.init_start") == "init_start"


def test_a_repeated_value_is_a_note_and_a_different_value_is_an_error() -> None:
    rule = "closed.llama31_8b.max_steps"
    same, other = good().repeat("max_steps"), good().repeat("max_steps", 9)
    assert severities(reports_of(same).findings)[rule] is Severity.NOTE
    assert severities(reports_of(other).findings)[rule] is Severity.ERROR
    assert moment(other, rule) == "max_steps"


def test_an_exceeded_limit_is_reported_at_init_stop_and_run_start() -> None:
    log = good().shift("init_stop", 40).shift("run_start", 40)
    assert moment(log, "common.init_stop") == "init_stop"
    assert moment(log, "run.late-start") == "run_start"


def test_a_missing_key_is_reported_at_run_stop() -> None:
    assert moment(good().drop("max_steps"), "closed.llama31_8b.max_steps") == "run_stop"


def test_a_missing_key_that_may_follow_run_stop_is_reported_at_the_end() -> None:
    for key in ("submission_org", "submission_platform", "train_samples"):
        log = good().drop(key)
        assert moment(log, f"common.{key}") == "end"


def test_a_missed_target_is_reported_at_run_stop() -> None:
    log = good().set("eval_accuracy", 4.0)
    assert moment(log, "closed.llama31_8b.target") == "run_stop"


def test_an_evaluation_off_the_schedule_is_reported_at_its_record() -> None:
    log = good().meta("eval_accuracy", samples_count=20_000, only=1)
    log = log.meta("eval_start", samples_count=20_000, only=1)
    assert moment(log, "evaluation.off-schedule") == "eval_accuracy"


def test_an_evaluation_logged_late_is_not_off_the_schedule() -> None:
    log = good().drop("eval_accuracy", only=0)
    later = good().first("eval_accuracy")
    log = log.add("eval_accuracy", later.value, later.metadata, before="run_stop")
    assert OFF_SCHEDULE not in reports_of(log).at


def test_a_requirement_of_the_policy_alone_is_a_warning() -> None:
    found = reports_of(good().set("train_samples", 1000)).findings
    assert [(f.id.rpartition(".")[2], f.severity) for f in found] == [
        ("train_samples", Severity.WARNING)
    ]


# --- declared names ---


def test_a_guard_without_names_judges_once_the_log_declares_them() -> None:
    log = good().set("opt_adamw_beta_2", 0.9)
    log = log.move("submission_benchmark", before="run_start")
    found = reports_on(parse_log(log.bytes()), Guard("6.1", advises=False))
    assert log.lines[found.at["closed.llama31_8b.opt_adamw_beta_2"]].record.key == (  # type: ignore[union-attr]
        "submission_benchmark"
    )


def test_a_log_of_another_benchmark_than_declared_is_an_error() -> None:
    found = Guard("6.1", "closed", "flux1")(Record("submission_benchmark", 0, "llama31_8b", {}))
    assert [(f.id, f.severity) for f in found] == [(CONFLICTING_DECLARATION.id, Severity.ERROR)]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("9.9", None, None), "9.9"),
        (("6.1", "shut", None), "closed or open"),
        (("6.1", "closed", "llama31_8"), "llama31_8b"),
    ],
)
def test_unknown_names_are_refused(names: tuple[str, str, str], said: str) -> None:
    with pytest.raises(UsageFault, match=said):
        Guard(*names)


def test_a_note_at_run_start_lists_the_missing_keys() -> None:
    judged = Guard("6.1", "closed", "llama31_8b")
    notes = [
        found
        for record in parse_log(good().drop("max_steps").bytes()).records
        if record.key != "run_stop"
        for found in judged(record)
    ]
    assert [(note.id, note.severity) for note in notes] == [(NOT_YET_LOGGED.id, Severity.NOTE)]
    assert "max_steps" in notes[0].message


def test_a_guard_without_a_file_has_no_findings_about_the_file() -> None:
    log = good()
    watching = guard(log)
    for record in parse_log(log.bytes()).records:
        watching(record)
    assert watching.finish() == ()
