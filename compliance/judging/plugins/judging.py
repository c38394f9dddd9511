"""A plug-in's checks on one log, or on their examples, in the plug-in's process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from podium.compliance.judging.logs.broken_rule import text_of
from podium.compliance.judging.logs.judge import few
from podium.compliance.judging.logs.policy import policy_run
from podium.compliance.judging.plugins.loading import LONGEST, Misbehaviour
from podium.compliance.judging.plugins.messages import Job, PluginFinding
from podium.compliance.reporting.json_text import json_text
from podium.logging_spec.reader.read import parse_log, read_log
from podium.rules.catalogue import find_round
from podium.rules.checks import Check, Context
from podium.rules.model.round import Round
from podium.rules.run import Run
from podium.rules.table import Violation

MOST_VIOLATIONS = 1000
"""Violations of one rule in one log; a rule with more violations is faulty."""


def judge(checks: dict[str, Check], job: Job) -> tuple[PluginFinding, ...]:
    """The findings of the checks in one log; raises Misbehaviour for an invalid violation."""
    rules = find_round(job.usage, job.round)
    run = policy_run(read_log(job.path, rules.generation), rules)
    if not run.records:
        return ()
    context = _context(run, rules)
    snapshot = _pictured(run)
    findings = [
        finding
        for check in checks.values()
        if check.applies(context)
        for finding in _plugin_findings(
            check, run, violations(check, run, context, job.display_path)
        )
    ]
    if _pictured(run) != snapshot:
        raise Misbehaviour(f"changes the records of the checked log ({job.display_path})")
    return tuple(findings)


def example(check: Check, text: str, rules: Round) -> list[Violation]:
    """The violations of a check in one of its examples, which is the whole log."""
    log = parse_log(text.encode())
    if not log.records or log.faults:
        raise Misbehaviour(f"has an example of {check.id} that is not a log")
    run = Run(log.records)
    run.ordered = run.exact = False
    return violations(check, run, _context(run, rules), "its example")


def _context(run: Run, rules: Round) -> Context:
    division = text_of(run.value("submission_division"))
    name = text_of(rules.named_by(run))
    known_name = name if name in rules.benchmarks else rules.aliases.get(name, name)
    return rules.context(division, known_name)


def _pictured(run: Run) -> str:
    """A representation of a check's input that shows any change; NaN equals itself."""
    return f"{run.records!r}{run.where!r}"


def violations(check: Check, run: Run, context: Context, path: str) -> list[Violation]:
    """The validated violations of a check; raises Misbehaviour, also for the check's exceptions."""
    try:
        results = [*islice(check.find(run, context), MOST_VIOLATIONS + 1)]
    except Exception as error:
        raise Misbehaviour(f"fails in {check.id} on {path}: {error_text(error)}") from error
    if len(results) > MOST_VIOLATIONS:
        raise Misbehaviour(f"finds more than {MOST_VIOLATIONS} violations of {check.id} in {path}")
    for violation in results:
        if problem := _problem(violation, run):
            raise Misbehaviour(f"returns {problem} from {check.id} in {path}")
    return results


def _problem(violation: Any, run: Run) -> str:
    """The error in a violation; empty for a valid violation."""
    if not isinstance(violation, Violation):
        return f"an object that is not a violation ({type(violation).__name__})"
    position = violation.position
    if position is not None and (type(position) is not int or not 0 <= position < len(run.records)):
        return "a violation whose position is not a record of the log"
    texts = (violation.message, violation.expected, violation.hint)
    if not violation.message or not all(isinstance(text, str) for text in texts):
        return "a violation whose texts are not strings"
    if max(map(len, texts)) > LONGEST or len(json_text(violation.actual)) > LONGEST:
        return f"a violation with a text longer than {LONGEST} characters"
    return ""


def _plugin_findings(check: Check, run: Run, results: list[Violation]) -> Iterator[PluginFinding]:
    for violation, suffix in few(results):
        line = None if violation.position is None else run.line(violation.position)
        yield PluginFinding(
            check.id,
            line,
            violation.message + suffix,
            violation.expected,
            _plain(violation.actual),
            violation.hint,
        )


def _plain(value: Any) -> Any:
    """A value that any report can contain."""
    return value if isinstance(value, bool | int | float | str | None) else json_text(value).strip()


def error_text(error: BaseException) -> str:
    """A short description of an exception, with its line; also if its own text fails."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "an exception without a text"
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    location = (
        f" ({traceback.tb_frame.f_code.co_filename.rpartition('/')[2]}:{traceback.tb_lineno})"
        if traceback
        else ""
    )
    return f"{type(error).__name__}{': ' if text else ''}{text[:200]}{location}"
