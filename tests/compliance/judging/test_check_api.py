"""The check as a library: good logs of every kind pass, and each violation is distinguished."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from podium import compliance
from podium.compliance import check
from podium.compliance.errors import ComplianceError, NothingToJudge, UsageFault
from podium.compliance.judging.logs.judge import judge_log
from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record
from podium.rules import rounds
from podium.rules.constraints import bounds as c
from podium.rules.constraints import members, order
from podium.rules.finding import Profile, Severity
from podium.rules.run import Run
from podium.rules.table import Row
from tests.builders import LogBuilder, LogKind, all_of, build, build_log, cases, effective, scopes

ROUNDS = list(rounds)


def logs_of(usage: str, name: str) -> list[LogBuilder]:
    return [build_log(which) for which in cases() if which[:2] == (usage, name)]


def profile_of(which: LogKind) -> Profile:
    """The profile in which violations of tables are errors: the policy if no verifier exists."""
    return Profile.VERIFIER if which.rules.verified else Profile.POLICY


def errors(log: LogBuilder, profile: Profile = Profile.VERIFIER) -> set[str]:
    return {f.id for f in log.judge(profile).findings if f.severity is Severity.ERROR}


# --- good logs ---


def test_every_round_has_good_logs() -> None:
    assert {which[:2] for which in cases()} == set(ROUNDS)
    for usage, name in ROUNDS:
        made = {which.benchmark for which in cases() if which[:2] == (usage, name)}
        assert made >= set(rounds[usage, name].listed)


@pytest.mark.parametrize(("usage", "name"), ROUNDS)
def test_a_good_log_passes_the_verifier_profile(usage: str, name: str) -> None:
    for log in logs_of(usage, name):
        assert log.judge().findings == [], log.which


@pytest.mark.parametrize(("usage", "name"), ROUNDS)
def test_a_good_log_has_no_error_in_the_policy_profile(usage: str, name: str) -> None:
    for log in logs_of(usage, name):
        assert errors(log, Profile.POLICY) == set(), log.which


@pytest.mark.parametrize(("usage", "name"), ROUNDS)
def test_the_verdict_on_a_good_log_has_its_benchmark_and_minutes(usage: str, name: str) -> None:
    for log in logs_of(usage, name):
        verdict = log.judge()
        assert verdict.benchmark == log.which.benchmark
        assert verdict.converged
        assert verdict.minutes is not None
        assert verdict.minutes > 0


# --- one violation at a time, for every row of every table ---

CHOOSES_THE_RULES = {"submission_division", "submission_benchmark"}
"""Keys whose value selects the tables: with a wrong value, the log is of another kind."""

SILENTLY = {
    # The verifier evaluates the formula of another key when it reaches this key.
    "opt_learning_rate_decay_steps": ("opt_learning_rate_warmup_steps",),
    "aggregated_eval_accuracy": ("eval_accuracy",),
    "run_stop": ("eval_accuracy",),
}
"""Keys that a row depends on although its constraints do not name them."""

CRASH = "log.verifier-crash"

MADE_UP = {"aggregated_eval_accuracy"}
"""Keys that are not in any log; the engine derives their records from others."""


@dataclass(frozen=True)
class RuleViolation:
    """A log with one error, and the rules that it may violate in addition to the expected rule."""

    rule: str
    what: str
    log: LogBuilder
    also: frozenset[str] = frozenset()

    def wrong(self) -> str:
        """The deviation from the expected findings, or an empty string."""
        found = errors(self.log, profile_of(self.log.which))
        if self.rule in found and found - {self.rule} <= self.also:
            return ""
        return f"{self.log.which}: {self.what}: {sorted(found)}, not {self.rule} alone"


class Breaker:
    """All single violations in one kind of log."""

    def __init__(self, log: LogBuilder) -> None:
        self.log = log
        self.rows = effective(log.which)
        self.orders = frozenset(
            rule for rule, row in self.rows.values() if any(map(_is_about_place, all_of(row)))
        )
        self.run = Run([line.record for line in log.lines if line.record])
        self.run.ordered = False

    def all(self) -> Iterator[RuleViolation | str]:
        """Logs with one error each, and a string for each constraint without a counterexample."""
        for name, (rule, row) in self.rows.items():
            if name in CHOOSES_THE_RULES | MADE_UP:
                continue
            try:
                self.log.where(name)
            except LookupError:
                assert row.times.least == 0 or row.times.instead, (self.log.which, name)
                continue
            yield from self.counts(rule, row)
            for constraint in (*row.each, *row.first):
                yield from self.breaks(rule, row, constraint)
            yield from self.misses(rule, row)

    def depends(self, name: str) -> frozenset[str]:
        """Rules that look at a key of another row, according to their printed form."""
        found: set[str] = set()
        for rule, row in self.rows.values():
            if name in SILENTLY.get(row.name, ()) or any(name in c.text() for c in all_of(row)):
                found.add(rule)
                if row.some:  # the verifier stops if it cannot compute a target
                    found |= {f"{rule.rpartition('.')[0]}.target", CRASH}
        for scope in scopes(self.log.which):
            if any(name in end.text for end in scope.ends):
                found |= {CRASH, *(f"{scope.name}.{end.id}" for end in scope.ends)}
            for variant in scope.variants:
                if variant.chosen_by.name == name:
                    prefix = f"{scope.name}.{variant.name}."
                    found |= {prefix + row.name for row in variant.rows if isinstance(row, Row)}
                    found.add(CRASH)
        rules = self.log.which.rules
        if rules.generation == "mll":
            found |= self.orders
        if not rules.verified:
            found |= {each.id for each in rules.checks}
        return frozenset(found)

    # --- number of records ---

    def counts(self, rule: str, row: Row) -> Iterator[RuleViolation]:
        name = row.name
        if row.times.least and not row.times.instead:
            yield RuleViolation(rule, f"no {name}", self.log.drop(name), self.depends(name))
        elif row.times.least:
            # If one of several keys is enough, a later scope cannot remove the requirement.
            also = {f"common.{other}" for other in row.times.instead} | self.depends(name)
            logged = self.log.names()
            others = [other for other in row.times.instead if other in logged]
            gone = self.log.drop(name, *others)
            yield RuleViolation(rule, f"no {name} nor its like", gone, frozenset(also))
        if row.times.most == 1:
            value = self.log.first(name).value
            twice = self.log.repeat(name, "again" if value != "again" else "other")
            yield RuleViolation(rule, f"{name} twice", twice, self.depends(name))

    # --- constraints on each record ---

    def breaks(
        self, rule: str, row: Row, constraint: c.Constraint
    ) -> Iterator[RuleViolation | str]:
        name, log = row.name, self.log
        also = self.depends(name) - {rule}
        what = f"{name} not {constraint.text()}"
        if isinstance(constraint, order.after):
            yield RuleViolation(
                rule, what, log.move(name, before=constraint.key), self.orders | also
            )
        elif isinstance(constraint, order.before):
            yield RuleViolation(
                rule, what, log.move(name, after=constraint.key), self.orders | also
            )
        elif isinstance(constraint, order.init_within):
            yield RuleViolation(rule, what, log.shift(name, 100_000), also)
        elif isinstance(constraint, members.Has):
            yield RuleViolation(rule, what, log.meta(name, *constraint.names, only=0), also)
        elif isinstance(constraint, members.if_given):
            given = log.meta(name, only=0, **{constraint.name: 1})
            yield from Breaker(given).breaks(rule, row, constraint.then)
        elif isinstance(constraint, members.part) and constraint.path.startswith("metadata."):
            member = constraint.path.removeprefix("metadata.")
            bad = self.bad_value((constraint.inner,), row)
            yield RuleViolation(rule, what, log.meta(name, only=0, **{member: bad}), also)
        elif hasattr(constraint, "at"):  # about the samples_count of evaluations
            first = log.first(name).metadata["samples_count"]
            bent = log.meta(name, only=0, samples_count=first + 1)
            yield RuleViolation(rule, what, bent, also)
        elif not _is_about_place(constraint):
            yield from self.bends(rule, row, constraint)

    def bends(self, rule: str, row: Row, constraint: c.Constraint) -> Iterator[RuleViolation | str]:
        good = self.log.first(row.name).value
        bad = self.bad_value((constraint,), row, good)
        what = f"{row.name} {bad!r}, not {constraint.text()}"
        if bad is NONE:
            yield f"{self.log.which}: nothing breaks {row.name} {constraint.text()}"
            return
        # A target cannot be compared with a value of another type: the verifier stops there.
        also = self.depends(row.name) | ({CRASH} if row.some else set())
        yield RuleViolation(
            rule, what, self.log.set(row.name, bad, only=0), frozenset(also - {rule})
        )

    def bad_value(self, broken: tuple[c.Constraint, ...], row: Row, good: Any = 1) -> Any:
        """A value that violates a constraint, as close to a good value as possible."""
        self.run.position = self.log.where(row.name)[0]
        return next((v for v in bad_values(good) if not _holds(broken, v, self.run)), NONE)

    # --- constraints on at least one record ---

    def misses(self, rule: str, row: Row) -> Iterator[RuleViolation | str]:
        target = rule.rpartition(".")[0] + ".target"
        good = self.log.first(row.name).value
        for constraint in row.some:
            if type(constraint).__name__ == "reports_success":
                failed = self.log.set(row.name, {"success": False})
                yield RuleViolation(target, "a run without success", failed, self.depends(row.name))
                continue
            self.run.position = self.log.where(row.name)[-1]
            for bad in bad_values(good):
                fine = _holds(row.each, bad, self.run, self.log.first(row.name).metadata)
                if fine and not _holds((constraint,), bad, self.run):
                    what = f"every {row.name} {bad!r}, never {constraint.text()}"
                    yield RuleViolation(target, what, self.log.set(row.name, bad))
                    break
            else:
                if not _implied(constraint, row):
                    yield f"{self.log.which}: nothing misses {row.name} {constraint.text()}"


NONE: Any = object()


def bad_values(good: Any) -> Iterator[Any]:
    """Values similar to a good value, the closest first."""
    if isinstance(good, dict):
        for name, member in good.items():
            yield from (good | {name: bad} for bad in bad_values(member))
            yield {other: value for other, value in good.items() if other != name}
    elif isinstance(good, int | float) and not isinstance(good, bool):
        yield from (
            good + 0.013,
            good - 0.013,
            good + 1,
            good - 1,
            good * 3,
            good + 2.5,
            good - 100,
        )
        yield from (-1, -0.5, 0, 1e9, -1e9)
    elif isinstance(good, list):
        yield from (good[:-1], [*good, 1], [item * 1.37 for item in good], [])
    yield from ("", "other", 0, 7.13, 1e9, -1, [], {}, None, True, False)


def _holds(
    constraints: tuple[c.Constraint, ...],
    value: Any,
    run: Run,
    metadata: dict[str, Any] | None = None,
) -> bool:
    record = Record("", 0, value, metadata or {})
    try:
        return all(c.holds(record, run) for c in constraints if not _is_about_place(c))
    except Exception:  # a value of the wrong type, of any kind
        return False


def _is_about_place(constraint: c.Constraint) -> bool:
    places = (order.after, order.before, order.init_within, c.computes)
    own = type(constraint).__name__ in (
        *("in_sequence", "every_batch_from", "no_earlier_than", "of_benchmark"),
    )
    return own or isinstance(constraint, places)


def _implied(constraint: c.Constraint, row: Row) -> bool:
    """Whether each record satisfies the constraint anyway."""
    return constraint in row.each


@pytest.mark.parametrize(("usage", "name"), ROUNDS)
def test_each_violation_of_a_row_is_found_only_by_its_rule(usage: str, name: str) -> None:
    wrong: list[str] = []
    tried = 0
    for log in logs_of(usage, name):
        for broken in Breaker(log).all():
            tried += 1
            wrong.append(broken if isinstance(broken, str) else broken.wrong())
    assert "\n".join(sentence for sentence in wrong if sentence) == ""
    assert tried > 40


# --- derived records and outdated lists ---


@pytest.mark.parametrize(
    "which", [w for w in cases() if w.benchmark == "stable_diffusion"], ids=str
)
def test_the_metrics_of_one_checkpoint_are_judged_together(which: LogKind) -> None:
    log = build_log(which)
    rule = f"{which.division}.stable_diffusion"
    places = log.where("eval_accuracy")
    assert len(places) == 4
    gathered = {f"{rule}.aggregated_eval_accuracy"}
    assert errors(log.drop("eval_accuracy", only=0)) == gathered | {CRASH}
    assert errors(log.drop("eval_accuracy", only=0).drop("eval_accuracy", only=0)) == gathered
    assert errors(log.set("eval_accuracy", -1.0)) == ({f"{rule}.target"})
    only_one = log.set("eval_accuracy", -1.0, only=0).set("eval_accuracy", 9.0, only=1)
    assert errors(only_one) == set()


def test_a_name_missing_from_the_list_of_the_verifier_is_only_a_note() -> None:
    rules = rounds["training", "4.0"]
    assert "llama2_70b_lora" in rules.omitted_from_open_list
    log = build("training", "4.0", "open", "llama2_70b_lora")
    assert errors(log) == {"open.submission_benchmark"}
    found = [f for f in log.judge(Profile.POLICY).findings if f.id == "open.submission_benchmark"]
    assert [(f.severity, f.stated_by) for f in found] == [("note", "verifier")]


def test_a_retired_benchmark_with_rules_is_not_accepted() -> None:
    retired_with_rules = [
        (u, n, name) for u, n in ROUNDS for name in rounds[u, n].retired_with_rules
    ]
    assert ("training", "5.1", "bert") in retired_with_rules
    for usage, name, benchmark in retired_with_rules:
        if name != "0.6":  # MiniGo's own rules accept its name there
            assert "closed.submission_benchmark" in errors(build(usage, name, "closed", benchmark))


# --- findings ---


def test_a_finding_has_its_line_and_the_actual_and_expected_value(good: LogBuilder) -> None:
    log = good.set("opt_adamw_beta_2", 0.99)
    (finding,) = log.judge().findings
    assert finding.line == log.line_of("opt_adamw_beta_2")
    assert (finding.key, finding.actual, finding.expected) == ("opt_adamw_beta_2", 0.99, "0.95")
    assert finding.message == "opt_adamw_beta_2 is 0.99; must be 0.95"
    assert finding.hint
    assert finding.cites


def test_the_finding_of_a_missing_key_has_no_line(good: LogBuilder) -> None:
    (finding,) = good.drop("seed", "opt_name").judge().findings
    assert (finding.id, finding.line) == ("closed.llama31_8b.opt_name", None)


def test_equal_repeats_are_a_warning_and_different_ones_an_error(good: LogBuilder) -> None:
    (same,) = good.repeat("opt_name").judge().findings
    (other,) = good.repeat("opt_name", "sgd").judge().findings[:1]
    assert same.severity is Severity.WARNING
    assert other.severity is Severity.ERROR


def test_findings_of_one_rule_are_limited_and_counted(good: LogBuilder) -> None:
    log = good
    for _ in range(60):
        log = log.repeat("block_stop")
    found = log.meta("block_stop", "first_epoch_num", "samples_count").judge().findings
    assert len(found) == 20
    assert found[-1].message.endswith("(and 42 more in this log)")


def test_lines_that_cannot_be_read_are_one_finding_with_their_number(good: LogBuilder) -> None:
    broken = b':::MLLOG {"key": \n' * 50 + b":::MLLOG []\n" + b':::MLLOG {"key": \n' * 10
    log = parse_log(good.bytes() + broken)
    found = judge_log(log, good.which.rules, Profile.VERIFIER, "result_0.txt").findings
    (cut,) = [finding for finding in found if finding.id == "log.not-json"]
    first = len(good.bytes().splitlines()) + 1
    assert cut.line == first
    assert cut.message.endswith(f"(60 such lines, from line {first} to line {first + 60})")
    # Lines are truncated, not the file
    assert "log.truncated" not in {finding.id for finding in found}
    (list_,) = [finding for finding in found if finding.id == "log.not-an-object"]
    assert list_.line == len(good.bytes().splitlines()) + 51
    (crash,) = [finding for finding in found if finding.id == "log.verifier-crash"]
    assert f"line {list_.line}:" in crash.message


# --- the function check ---


def test_check_returns_a_report(good: LogBuilder, tmp_path: Path) -> None:
    path = good.write(tmp_path / "result_0.txt")
    report = check(path, round="5.1", usage="training", profile="verifier")
    assert report.verdict == "accepted"
    assert report.rules.model_dump() == {
        "usage": "training",
        "round": "5.1",
        "profile": "verifier",
        "chosen_by": "option",
    }
    (entry,) = report.files
    assert (entry.path, entry.kind, entry.verdict) == ("result_0.txt", "log", "pass")
    assert (entry.benchmark, entry.division, entry.converged) == ("llama31_8b", "closed", True)
    assert check(str(path), round="5.1").files[0].minutes == entry.minutes


@pytest.mark.parametrize("name", ["5.1", "5.1.0", "v5.1", "V5.1.0"])
def test_check_accepts_every_spelling_of_a_round(
    good: LogBuilder, tmp_path: Path, name: str
) -> None:
    assert check(good.write(tmp_path / "result_0.txt"), round=name).rules.round == "5.1"


def test_check_counts_errors_and_warnings(good: LogBuilder, tmp_path: Path) -> None:
    good.drop("opt_name").write(tmp_path / "result_0.txt")
    good.repeat("opt_name").write(tmp_path / "result_1.txt")
    report = check(tmp_path, round="5.1", profile="verifier")
    assert (report.counts.error, report.counts.warning) == (1, 1)
    assert [entry.verdict for entry in report.files] == ["fail", "pass"]
    assert check(tmp_path, round="5.1", profile="verifier", ignore=["closed.*"]).counts.error == 0
    strict = check(tmp_path, round="5.1", profile="verifier", strict=True)
    assert [entry.verdict for entry in strict.files] == ["fail", "fail"]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"round": "9.9"}, UsageFault, "9.9"),
        ({"usage": "hpc", "round": "5.1"}, UsageFault, "5.1"),
        ({"usage": "inference"}, UsageFault, "inference"),
        ({"round": ""}, None, ""),
    ],
)
def test_check_refuses_rounds_that_do_not_exist(
    good: LogBuilder,
    tmp_path: Path,
    arguments: dict[str, Any],
    error: type[ComplianceError] | None,
    says: str,
) -> None:
    path = good.write(tmp_path / "result_0.txt")
    if error is None:
        assert check(path, **arguments).rules.chosen_by == "default"
        return
    with pytest.raises(error, match=says):
        check(path, **arguments)


def test_check_refuses_a_missing_path_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(NothingToJudge, match="no such file"):
        check(tmp_path / "none.txt")
    with pytest.raises(NothingToJudge, match="nothing to check"):
        check(tmp_path)


@pytest.mark.parametrize(
    "before",
    ["", "import podium.compliance.judging.pipeline; ", "import podium.compliance.cli.entry; "],
)
def test_check_is_a_function_in_any_order_of_imports(before: str) -> None:
    code = f"{before}from podium import check; print(type(check).__name__)"
    reported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert reported.stdout.strip() == "function"


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    assert "check" in compliance.__all__
    with pytest.raises(AttributeError, match="nonsense"):
        compliance.nonsense  # noqa: B018
