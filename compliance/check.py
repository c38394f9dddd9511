"""`check`: every file below the paths judged, by one process or several, into one Report."""

from __future__ import annotations

import fnmatch
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from compliance.choose import Choice, Wish
from compliance.find import Kind, Target, targets
from compliance.judge import RULE_CRASHED, LogVerdict, judge_log
from logging_spec.read import read_log
from rules.catalogue import find_round
from rules.finding import Finding, Profile, Severity

if TYPE_CHECKING:
    from compliance.report import FileEntry, Report

FEW_BYTES = 1 << 22
"""Below this much to read, starting a second process costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge: what the shared options of the command line say."""

    usage: str | None = None
    round: str | None = None
    profile: Profile = Profile.POLICY
    jobs: int = 1
    strict: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def wants(self, rule: str) -> bool:
        """Whether findings of a rule are to be reported."""
        if self.select and not _matches(rule, self.select):
            return False
        return not _matches(rule, self.ignore)


def _matches(rule: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(rule, glob) for glob in globs)


@dataclass(frozen=True, slots=True)
class _Task:
    path: str
    shown: str
    usage: str
    round: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class Judged:
    """One file judged, small enough to travel between processes."""

    shown: str
    round: str
    verdict: LogVerdict


def check(
    path: Path | str,
    *,
    round: str | None = None,  # noqa: A002 - the contract's name
    usage: str | None = None,
    profile: Literal["policy", "verifier"] | Profile = Profile.POLICY,
    jobs: int = 1,
    strict: bool = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Report:
    """Judge a log, a folder of logs, a submission or a round; returns the whole report.

    Raises ComplianceError (UsageFault, NothingToJudge) for arguments that cannot be followed;
    anything wrong with the content is a finding of the report.
    """
    options = Options(usage, round, Profile(profile), jobs, strict, tuple(select), tuple(ignore))
    return check_paths([Path(path)], options)


def check_paths(
    paths: list[Path], options: Options, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Judge several paths at once; `progress` is told (files done, files in all)."""
    from compliance.report import Rules, make_report

    found = targets(paths)
    wish = Wish(options.usage, options.round)
    choices = [wish.choose(target.folder) for target in found]
    tasks = [_task(t, c, options) for t, c in zip(found, choices, strict=True)]
    several = len({(c.rules.usage, c.rules.name) for c in choices}) > 1
    entries, findings = [], []
    for judged in _judge_all(tasks, options.jobs, progress):
        kept = [f for f in judged.verdict.findings if options.wants(f.id)]
        entries.append(_file_entry(judged, kept, several=several, strict=options.strict))
        findings += kept
    first = choices[0]
    rules = Rules(
        usage=first.rules.usage if not several else "several",
        round=first.rules.name if not several else "several",
        profile=options.profile.value,
        chosen_by=first.chosen_by,
    )
    return make_report(rules, entries, findings, strict=options.strict)


def _task(target: Target, choice: Choice, options: Options) -> _Task:
    rules = choice.rules
    return _Task(target.path, target.shown, rules.usage, rules.name, options.profile)


def _file_entry(judged: Judged, kept: list[Finding], *, several: bool, strict: bool) -> FileEntry:
    from compliance.report import FileEntry

    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    failed = any(finding.severity in failing for finding in kept)
    verdict = judged.verdict
    return FileEntry(
        path=judged.shown,
        kind="log",
        verdict="fail" if failed else "pass",
        benchmark=verdict.benchmark,
        division=verdict.division,
        minutes=verdict.minutes,
        converged=verdict.converged,
        round=judged.round if several else None,
    )


def _judge_all(
    tasks: list[_Task], jobs: int, progress: Callable[[int, int], None] | None
) -> Iterator[Judged]:
    done = 0
    for batch in _batches(tasks, jobs):
        yield from batch
        done += len(batch)
        if progress is not None:
            progress(done, len(tasks))


def _batches(tasks: list[_Task], jobs: int) -> Iterator[list[Judged]]:
    if jobs > 1 and len(tasks) > 1 and _enough(tasks):
        from compliance.pool import spread

        yield from spread(_judge_some, tasks, jobs)
        return
    for task in tasks:
        yield [_judge(task)]


def _enough(tasks: list[_Task]) -> bool:
    size = 0
    for task in tasks:
        try:
            size += os.stat(task.path).st_size
        except OSError:
            continue
        if size > FEW_BYTES:
            return True
    return False


def _judge_some(tasks: list[_Task]) -> list[Judged]:
    return [_judge(task) for task in tasks]


def _judge(task: _Task) -> Judged:
    rules = find_round(task.usage, task.round)
    try:
        if task.path.endswith(".json"):
            verdict = LogVerdict()
        else:
            verdict = judge_log(read_log(task.path), rules, task.profile, task.shown)
    except Exception as error:
        verdict = LogVerdict([_internal(task.shown, error)])
    return Judged(task.shown, f"{task.usage} {task.round}", verdict)


def _internal(shown: str, error: Exception) -> Finding:
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return Finding(
        RULE_CRASHED,
        Severity.ERROR,
        shown,
        None,
        None,
        f"podium itself failed on this file: {type(error).__name__}: {error} ({where})",
        hint="please report this, with the file if you may share it",
    )


def is_internal(report: Report) -> bool:
    """Whether the report tells of a fault of podium itself."""
    return any(finding.id == RULE_CRASHED for finding in report.findings)


__all__ = ["Judged", "Kind", "Options", "check", "check_paths", "is_internal", "replace"]
