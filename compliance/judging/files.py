"""The check of each file, in this process or in several."""

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
"""Bytes below which starting a second process costs more time than it saves."""


LEAST_SECONDS = 120.0
BYTES_PER_SECOND = 1 << 18
"""The time limit of a file: these seconds, and one more for this number of bytes, because logs
compress well."""


class Task(msgspec.Struct, frozen=True):
    """One file to check, as it is passed to a process; `submission` is its submission's folder.

    A link that `leads_out` of the submission, or of the boundary, is not followed. `with_trace`:
    its facts include a trace. `house` are the rules of its podium.toml.
    """

    path: str
    display_path: str
    # Names, not the rules: a task is pickled for another process, which has its own rules
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
    """The verdict on one file, small enough to be sent between processes.

    `verified`: its round has an official verifier. `taken` is the result of the caller's function
    for the log, None without such a function.
    """

    path: str
    display_path: str
    kind: Literal["log", "system"]
    round: str
    verdict: LogVerdict
    verified: bool
    taken: Any = None


Take = Callable[[Task, Log], Any]
"""A caller's function for each log, called in the process that reads the log. It must be a function
of a module, so that another process can import it. Its result is sent between processes and must be
small."""


class LogCollector(NamedTuple):
    """The data that a caller wants from each log in addition to its verdict.

    `take` is called in the process that reads the log. `receive` is called in this process with the
    result, in order of the tasks; the result is not kept.
    """

    take: Take
    receive: Callable[[FileVerdict], None]


def task_for(
    target: Target, choice: Choice, profile: Profile, *, with_facts: bool, with_trace: bool = False
) -> Task:
    """The task for one file; the facts of a log in a package are always gathered."""
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
        # The verdict of the official program does not include such rules
        configured_rules(target.folder) if profile is Profile.POLICY else (),
    )


def judge_files(
    tasks: Sequence[Task], engine: Engine | None, take: Take | None = None
) -> Iterator[list[FileVerdict]]:
    """The verdicts on files, in the order of the tasks, in batches; never raises.

    Without an engine, this process checks them one after the other.
    """
    if engine is not None and tasks:
        from podium.compliance.judging.workers.processes import TaskPolicy

        policy = TaskPolicy(_time_limit, _lost, _path, _prepare)
        yield from engine.spread(partial(_judge_some, take), list(tasks), policy)
        return
    for task in tasks:
        yield [_judge(task, take)]


def engine_for(tasks: Sequence[Task], options: Options) -> Engine | None:
    """The engine in the options, processes if they are worth their start, otherwise None."""
    if options.engine is not None:
        return options.engine
    jobs = worth_spreading(tasks, options.jobs)
    if jobs == 1:
        return None
    from podium.compliance.judging.workers.engine import Processes

    return Processes(jobs)


def worth_spreading(tasks: Sequence[Task], jobs: int) -> int:
    """The number of processes to use: `jobs`, or 1 if more are not worth their start."""
    size = 0
    # With one process or one file, sizes are not needed
    for task in tasks if jobs > 1 < len(tasks) else ():
        try:
            size += os.stat(task.path).st_size
        # The check of the file reports this
        except OSError:
            continue
        if size > FEW_BYTES:
            return jobs
    return 1


def _path(task: Task) -> str:
    return task.path


def _prepare(tasks: list[Task]) -> None:
    """Import the code for the tasks, so that processes forked later have it."""
    for usage, name in {(task.usage, task.round) for task in tasks}:
        find_round(usage, name)
    if any(task.with_facts for task in tasks):
        load_facts(tasks[0].profile)


def _time_limit(task: Task) -> float:
    """Seconds that a file may take: about a hundred times the usual time for its size."""
    try:
        return LEAST_SECONDS + os.stat(task.path).st_size / BYTES_PER_SECOND
    # The check reports a file that was removed in the meantime
    except OSError:
        return LEAST_SECONDS


def _lost(task: Task, cause: str) -> FileVerdict:
    """The verdict on a file that kills or blocks every process that checks it."""
    finding = PROCESS_LOST.found(task.profile, task.display_path, how=cause)
    return as_judged(task, LogVerdict([finding]), find_round(task.usage, task.round))


def _judge_some(take: Take | None, tasks: list[Task]) -> list[FileVerdict]:
    return [_judge(task, take) for task in tasks]


def _judge(task: Task, take: Take | None) -> FileVerdict:
    rules = find_round(task.usage, task.round)
    data = None
    try:
        if task.kind == "system":
            verdict = _judge_system(task, rules)
        else:
            if task.leads_out:
                boundary = "submission" if task.submission else "served folder"
                log = unread_log(f"symbolic link points outside the {boundary}; not followed")
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
            data = None if take is None else take(task, log)
    # An internal error for one file must not hide the findings of others
    except Exception as error:
        verdict = LogVerdict([internal_fault(task.display_path, error)])
    return as_judged(task, verdict, rules, data)


def _check_of(rule: HouseRule) -> Check:
    from podium.compliance.judging.inputs.house_rules import as_check

    return as_check(rule)


def as_judged(task: Task, verdict: LogVerdict, rules: Round, data: Any = None) -> FileVerdict:
    """A file's verdict with the data of its task."""
    return FileVerdict(
        path=task.path,
        display_path=task.display_path,
        kind=task.kind,
        round=f"{task.usage} {task.round}",
        verdict=verdict,
        verified=rules.verified,
        taken=data,
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
    """The finding about an internal error for a file or a submission.

    Raises KeyboardInterrupt if it was an interrupt, not an error.
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
