"""Check the same logs with podium's tables and an installed official checker, round by round."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.workers.processes import TaskPolicy, spread
from podium.compliance.rulebook.tables.log_kinds import LogKind, cases, effective
from podium.compliance.tools.drift.installed import About, CheckerVerdict, Installed, KeyRule
from podium.compliance.tools.drift.text import (
    NAMES,
    Comparison,
    DecidingFile,
    Disagreement,
    Example,
    Verdict,
    merged,
    place_of,
    row_at,
    row_text,
)
from podium.compliance.tools.drift.trials import Trial, batches, trials
from podium.compliance.tools.drift.whole_round import compare_round
from podium.logging_spec.reader.read import parse_log
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.finding import Profile, Severity
from podium.rules.model.round import Round, version_of

_KEYLESS = ""
"""The key of a violation without a key: a missed target, or a record missing for two keys."""


class Task(msgspec.Struct, frozen=True):
    """One kind of log in our tables, with the official round `ruleset`, and the keys to change."""

    which: LogKind
    ruleset: str
    keys: tuple[str, ...]
    files: Mapping[str, Mapping[str, KeyRule]]
    python: str


class ComparedLogs(msgspec.Struct, frozen=True):
    """The result of one task."""

    logs: int
    rows: tuple[Disagreement, ...]


class DriftScope(msgspec.Struct, frozen=True):
    """The scope of a comparison; an empty field means all."""

    usage: str = ""
    round: str = ""
    benchmark: str = ""


LONGEST_S = 900.0
"""Time limit of a process for one benchmark: the official checker is slow."""


def _lost(task: Task, reason: str) -> ComparedLogs:
    raise UsageFault(f"{task.which} could not be compared: a process {reason}")


def compare(scope: DriftScope, python: str | None, jobs: int) -> Comparison:
    """Compare the tables with an installed release; raises UsageFault if this is impossible.

    A round that only the release has is compared with our newest earlier round.
    """
    name = python or sys.executable
    release = Installed.about(name)
    pairs = [*_pairs(scope, release)]
    tasks = [
        task for rules, ruleset in pairs for task in _tasks(rules, ruleset, scope, release, name)
    ]
    if not tasks:
        raise UsageFault("nothing to compare: no such round and benchmark in podium or the release")
    # The longest first, so that no process starts a long task at the end
    tasks.sort(key=lambda task: -len(task.keys))
    if jobs == 1:
        batches: Iterator[list[ComparedLogs]] = iter([_work(tasks)])
    else:
        batches = spread(_work, tasks, jobs, TaskPolicy(lambda _: LONGEST_S, _lost))
    results = [result for batch in batches for result in batch]
    tables = (
        row
        for rules, ruleset in pairs
        if rules.name == ruleset
        for row in compare_round(rules, release, scope.benchmark)
    )
    of_logs = (row for result in results for row in result.rows)
    rows = merged([*_whole_rounds(scope, release), *tables, *of_logs])
    return Comparison(
        release,
        name,
        tuple(dict.fromkeys(f"{rules.usage} {ruleset}" for rules, ruleset in pairs)),
        tuple(rules.title for rules in _ours(scope) if not release.files(rules.usage, rules.name)),
        sum(result.logs for result in results),
        tuple(sorted(rows, key=_order)),
    )


def _order(row: Disagreement) -> tuple[object, ...]:
    return (row.usage != "training", version_of(row.round), row.benchmark, row.division, row.key)


# --- scope ---


def _ours(scope: DriftScope) -> Iterator[Round]:
    for usage in USAGES:
        for name, rules in rounds_of(usage).items():
            # Without a public verifier, a release has no rules for the round
            if rules.verified and scope.usage in ("", usage) and scope.round in ("", name):
                yield rules


def _pairs(scope: DriftScope, release: About) -> Iterator[tuple[Round, str]]:
    """Our rounds, each with the name of the official round to compare with."""
    for rules in _ours(scope):
        if release.files(rules.usage, rules.name):
            yield rules, rules.name
    for usage, name in _unknown(release):
        # The rows of an unknown round are compared only if the user names the round
        if scope.round == name and scope.usage in ("", usage):
            before = [
                candidate
                for candidate in rounds_of(usage).values()
                if candidate.version < version_of(name)
            ]
            if before:
                yield before[-1], name


def _unknown(release: About) -> list[tuple[str, str]]:
    """Rounds that only the release has."""
    pairs = (title.split(" ") for title in release.rules)
    return [(usage, name) for usage, name in pairs if name not in rounds_of(usage)]


def _whole_rounds(scope: DriftScope, release: About) -> Iterator[Disagreement]:
    for usage, name in _unknown(release):
        if scope.usage in ("", usage) and scope.round in ("", name) and not scope.benchmark:
            official_text = f"{len(release.files(usage, name))} rule files"
            yield Disagreement(usage, name, "", "", "", "", "no such round", official_text)


def _tasks(
    rules: Round, ruleset: str, scope: DriftScope, release: About, python: str
) -> Iterator[Task]:
    files = release.files(rules.usage, ruleset)
    compared: set[tuple[str, str, str]] = set()
    for log_kind in cases():
        if log_kind[:2] != (rules.usage, rules.name) or scope.benchmark not in (
            "",
            log_kind.benchmark,
        ):
            continue
        keys = []
        official_keys = {key for name in _files_of(log_kind, files) for key in files[name]}
        for key in dict.fromkeys((*effective(log_kind), *sorted(official_keys))):
            deciding_file = place_of(log_kind, key, files)
            # Rows that apply to all benchmarks are tried with the logs of one benchmark only
            about_row = (deciding_file.division, deciding_file.benchmark or "", key)
            if deciding_file.benchmark or about_row not in compared:
                compared.add(about_row)
                keys.append(key)
        yield Task(log_kind, ruleset, tuple(keys), files, python)


def _files_of(log_kind: LogKind, files: Mapping[str, object]) -> list[str]:
    """The rule files that may apply to a kind of log, outermost first."""
    if not log_kind.rules.divided:
        names = ["common", log_kind.benchmark]
        # In the first round with rule files, a benchmark may have its own rule set
        return [name for name in names if name in files]
    base_name = f"{log_kind.division}_{log_kind.benchmark}"
    chosen = [f"{base_name}_{str(value).lower()}" for _, value in log_kind.choices]
    names = ["common", f"{log_kind.division}_common", base_name, *chosen]
    return [name for name in names if name in files]


# --- checking with both ---


def _work(tasks: list[Task]) -> list[ComparedLogs]:
    with Installed(tasks[0].python) as installed:
        return [_compared(task, installed) for task in tasks]


def _compared(task: Task, installed: Installed) -> ComparedLogs:
    official_rules: dict[str, KeyRule] = {}
    for name in _files_of(task.which, task.files):
        official_rules |= task.files[name]
    asking = _Asking(task, official_rules, installed)
    for batch in batches(task.which, trials(task.which, task.keys, official_rules), official_rules):
        if len(batch.trials) == 1:
            asking.ask(batch.trials[0])
        else:
            doubtful = asking.doubtful(batch.whole)
            for trial in batch.trials:
                if doubtful is None or trial.key in doubtful:
                    asking.ask(trial)
        # If it cannot check the valid log, it has no rules for this kind of log
        if asking.hopeless:
            break
    return ComparedLogs(asking.count, merged(asking.found))


class _Asking:
    """Both checkers on one kind of log; `known` are the differences for the valid log."""

    def __init__(
        self, task: Task, official_rules: Mapping[str, KeyRule], installed: Installed
    ) -> None:
        self.task, self.theirs, self.installed = task, official_rules, installed
        self.known: frozenset[str] = frozenset()
        self.found: list[Disagreement] = []
        self.count = 0
        self.hopeless = False

    def _both(self, trial: Trial) -> tuple[CheckerVerdict, CheckerVerdict]:
        self.count += 1
        log_kind = self.task.which
        data = trial.log(log_kind)
        return _ours_on(log_kind, data), self.installed.judge(
            log_kind.usage, self.task.ruleset, data
        )

    def doubtful(self, trial: Trial) -> frozenset[str] | None:
        """The keys with different verdicts in a log with several changes; None if unknown."""
        our_verdict, official_verdict = self._both(trial)
        different = (our_verdict.keys ^ official_verdict.keys) - self.known
        # After a violation without a key, or without a verdict, each change is checked separately
        if official_verdict.crash or (
            not different and our_verdict.passes != official_verdict.passes
        ):
            return None if _KEYLESS not in self.known else frozenset()
        return different

    def ask(self, trial: Trial) -> None:
        """Add the disagreements on a log with one change, or on the valid log."""
        our_verdict, official_verdict = self._both(trial)
        different = _difference(our_verdict, official_verdict, trial.key)
        if trial.key:
            different -= self.known
        else:
            self.known, self.hopeless = different, bool(official_verdict.crash)
            different = frozenset({NAMES}) if official_verdict.crash else different
        self.found += [
            _row(self.task, trial, key, our_verdict, official_verdict, self.theirs)
            for key in sorted(different)
        ]


def _ours_on(log_kind: LogKind, data: bytes) -> CheckerVerdict:
    rules = log_kind.rules
    log = parse_log(data, rules.generation)
    findings = judge_log(log, rules, Profile.VERIFIER, "result_0.txt").findings
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    return CheckerVerdict(not errors, frozenset(finding.key for finding in errors if finding.key))


def _difference(
    our_verdict: CheckerVerdict, official_verdict: CheckerVerdict, key: str
) -> frozenset[str]:
    """The keys with different verdicts; the changed key if it is one of them."""
    if official_verdict.crash:
        # A crash reports no keys: podium must only reject the log
        return frozenset({key}) if our_verdict.passes else frozenset()
    if key in our_verdict.keys & official_verdict.keys:
        # Both reject the change itself: the effect on other rows does not matter
        return frozenset()
    keys = our_verdict.keys ^ official_verdict.keys
    if key in keys:
        return frozenset({key})
    if keys or our_verdict.passes == official_verdict.passes:
        return keys
    return frozenset({_KEYLESS})


def _row(
    task: Task,
    trial: Trial,
    key: str,
    our_verdict: CheckerVerdict,
    official_verdict: CheckerVerdict,
    official_rules: Mapping[str, KeyRule],
) -> Disagreement:
    log_kind = task.which
    key = key if key != _KEYLESS else trial.key or _with_a_target(official_rules)
    deciding_file = place_of(log_kind, key, task.files)
    if not trial.key and key == NAMES:
        # In the release, the valid log is not the log of a benchmark
        deciding_file = DecidingFile(deciding_file.division, "", deciding_file.file)
    logged = trial.change if key == trial.key else f"{trial.key}: {trial.change}"
    if not trial.key:
        values = [record.value for record in trial.records if record.key == key]
        logged = f"value {values[0]!r}" if values else trial.change
    example = Example(logged, _verdict(our_verdict, key), _verdict(official_verdict, key))
    rule = official_rules.get(key)
    return Disagreement(
        log_kind.usage,
        task.ruleset,
        deciding_file.division,
        deciding_file.benchmark,
        key,
        deciding_file.file,
        row_text(
            row_at(log_kind.rules, DecidingFile(log_kind.division, log_kind.benchmark, ""), key)
        ),
        official_verdict.crash or (rule.text if rule else ""),
        (example,),
    )


def _with_a_target(official_rules: Mapping[str, KeyRule]) -> str:
    return next((key for key, rule in official_rules.items() if rule.some), "eval_accuracy")


def _verdict(verdict: CheckerVerdict, key: str) -> Verdict:
    if verdict.crash or key in verdict.keys:
        return "rejects"
    # A missed target has no key: then the verdict is about the full log
    return "accepts" if verdict.passes or verdict.keys else "rejects"
