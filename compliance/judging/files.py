"""Each file judged by itself, in this process or in several, grouped by submission."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from podium.compliance.errors import interrupted
from podium.compliance.judging.inputs.discover import PathKind, Target
from podium.compliance.judging.inputs.round_selection import Choice, configured_rules
from podium.compliance.judging.logs.judge import LogVerdict, judge_log, load_facts
from podium.compliance.judging.logs.log_rules import CRASHED, PROCESS_LOST
from podium.logging_spec.reader.read import Log, read_log, unread_log
from podium.rules.catalogue import find_round
from podium.rules.finding import Finding, Profile
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.judging.inputs.house_rules import HouseRule
    from podium.compliance.judging.options import Options
    from podium.compliance.judging.workers.engine import Engine
    from podium.rules.checks import Check

FEW_BYTES = 1 << 22
"""Below this much to read, starting a second process costs more than it saves."""


LEAST_SECONDS = 120.0
BYTES_PER_SECOND = 1 << 18
"""A file may take so many seconds, and one more for each so many bytes: logs compress well."""


class Task(msgspec.Struct, frozen=True):
    """One file to judge, as it is passed to a process; `submission` is the folder of its package.

    A link that `leads_out` of that is not followed. `with_trace`: its facts come with a trace.
    `house` are the rules of its podium.toml.
    """

    path: str
    display_path: str
    # Names, not the rules themselves: a task is pickled for another process, which has its own
    usage: str
    round: str
    profile: Profile
    kind: Literal["log", "system"]
    with_facts: bool
    submission: str
    leads_out: bool
    with_trace: bool = False
    house: tuple[HouseRule, ...] = ()


class FileVerdict(msgspec.Struct, frozen=True):
    """One file judged, small enough to travel between processes.

    `verified`: its round has an official verifier. `taken` is what a caller's own function made of
    the log, None where there is no such function.
    """

    path: str
    display_path: str
    kind: Literal["log", "system"]
    round: str
    verdict: LogVerdict
    verified: bool
    taken: Any = None


Take = Callable[[Task, Log], Any]
"""What a caller makes of each log while it is at hand, in whichever process reads it: a function of
a module, which another process can import. What it returns must be small enough to travel."""


class LogCollector(NamedTuple):
    """What a caller wants of each log in addition to its verdict.

    `take` is called where the log is read; `receive` in this process, in order of the tasks, with
    what it made, which is not kept.
    """

    take: Take
    receive: Callable[[FileVerdict], None]


def task_for(
    target: Target, choice: Choice, profile: Profile, *, with_facts: bool, with_trace: bool = False
) -> Task:
    """What there is to do for one file; a log of a package always gives its facts."""
    rules = choice.rules
    return Task(
        target.path,
        target.display_path,
        rules.usage,
        rules.name,
        profile,
        "system" if target.kind is PathKind.SYSTEM else "log",
        with_facts or bool(target.submission),
        target.submission,
        target.leads_out,
        with_trace,
        # The official program has no such rules, and its verdict is what is asked for
        configured_rules(target.folder) if profile is Profile.POLICY else (),
    )


def judge_files(
    tasks: Sequence[Task], engine: Engine | None, take: Take | None = None
) -> Iterator[list[FileVerdict]]:
    """The files judged, in the order of the tasks, some at a time; nothing raises.

    Without an engine this process judges them, one after the other.
    """
    if engine is not None and tasks:
        from podium.compliance.judging.workers.processes import TaskPolicy

        care = TaskPolicy(_time_limit, _lost, _path, _prepare)
        yield from engine.spread(partial(_judge_some, take), list(tasks), care)
        return
    for task in tasks:
        yield [_judge(task, take)]


def engine_for(tasks: Sequence[Task], options: Options) -> Engine | None:
    """Who judges these files: the engine asked for, processes where they pay, else None."""
    if options.engine is not None:
        return options.engine
    jobs = worth_spreading(tasks, options.jobs)
    if jobs == 1:
        return None
    from podium.compliance.judging.workers.engine import Processes

    return Processes(jobs)


def worth_spreading(tasks: Sequence[Task], jobs: int) -> int:
    """How many of so many processes are worth their start: all, or this one alone."""
    size = 0
    # With one process or one file there is no choice, and no file is asked for its size
    for task in tasks if jobs > 1 < len(tasks) else ():
        try:
            size += os.stat(task.path).st_size
        # Whoever judges it reports that
        except OSError:
            continue
        if size > FEW_BYTES:
            return jobs
    return 1


def _path(task: Task) -> str:
    return task.path


def _prepare(tasks: list[Task]) -> None:
    """Load what judges the tasks, so that each process that is forked then has it already."""
    for usage, name in {(task.usage, task.round) for task in tasks}:
        find_round(usage, name)
    if any(task.with_facts for task in tasks):
        load_facts(tasks[0].profile)


def _time_limit(task: Task) -> float:
    """Seconds that a file may take: some hundred times what one of its size does."""
    try:
        return LEAST_SECONDS + os.stat(task.path).st_size / BYTES_PER_SECOND
    # A file that has gone meanwhile is reported by whoever judges it
    except OSError:
        return LEAST_SECONDS


def _lost(task: Task, how: str) -> FileVerdict:
    """What is known of a file that ends or holds up every process that judges it."""
    finding = PROCESS_LOST.found(task.profile, task.display_path, how=how)
    return as_judged(task, LogVerdict([finding]), find_round(task.usage, task.round))


def _judge_some(take: Take | None, tasks: list[Task]) -> list[FileVerdict]:
    return [_judge(task, take) for task in tasks]


def _judge(task: Task, take: Take | None) -> FileVerdict:
    rules = find_round(task.usage, task.round)
    taken = None
    try:
        if task.kind == "system":
            verdict = _judge_system(task, rules)
        else:
            if task.leads_out:
                log = unread_log("a link out of the submission, which is not followed")
            else:
                log = read_log(task.path, rules.generation)
            verdict = judge_log(
                log,
                rules,
                task.profile,
                task.display_path,
                with_facts=task.with_facts,
                with_trace=task.with_trace,
                extra_checks=tuple(map(_check_of, task.house)),
            )
            taken = None if take is None else take(task, log)
    # One file that podium fails on must not hide what is wrong with the others
    except Exception as error:
        verdict = LogVerdict([internal_fault(task.display_path, error)])
    return as_judged(task, verdict, rules, taken)


def _check_of(rule: HouseRule) -> Check:
    from podium.compliance.judging.inputs.house_rules import as_check

    return as_check(rule)


def as_judged(task: Task, verdict: LogVerdict, rules: Round, taken: Any = None) -> FileVerdict:
    """A file's verdict, with what its task says of it."""
    return FileVerdict(
        path=task.path,
        display_path=task.display_path,
        kind=task.kind,
        round=f"{task.usage} {task.round}",
        verdict=verdict,
        verified=rules.verified,
        taken=taken,
    )


def _judge_system(task: Task, rules: Round) -> LogVerdict:
    from podium.compliance.judging.systems.check import check_system

    def judge(profile: Profile) -> LogVerdict:
        return LogVerdict(check_system(Path(task.path), task.display_path, rules, profile).findings)

    verdict = judge(task.profile)
    if task.profile is Profile.POLICY and rules.verified:
        verdict.official = judge(Profile.VERIFIER)
    return verdict


def internal_fault(display_path: str, error: Exception) -> Finding:
    """The finding that podium itself failed on a file or a submission.

    Raises KeyboardInterrupt where it did not fail, but was interrupted.
    """
    if interrupted(error):
        raise KeyboardInterrupt from None
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return CRASHED.found(
        Profile.POLICY,
        display_path,
        error=f"{type(error).__name__}: {error}",
        where=f"{Path(frame.filename).name}:{frame.lineno}",
    )
