"""`podium check`: discover and check files, check submissions, and make one report.

Each step maps values to values. A submission is checked as soon as all of its logs are checked.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from podium.compliance.judging.conclusion import conclude
from podium.compliance.judging.discovery import Inputs, JudgedFiles, discover
from podium.compliance.judging.files import FileVerdict, LogCollector, Task, engine_for, judge_files
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.listing import holds
from podium.compliance.judging.inputs.round_selection import several
from podium.compliance.judging.judgement import FileGroup, Surroundings
from podium.compliance.judging.options import Options, Progress
from podium.compliance.judging.plugged import judge_by_plugins
from podium.compliance.judging.submissions import judge_submissions
from podium.compliance.judging.workers.gc_tuning import fewer_collections
from podium.compliance.reporting.data import Outcome

if TYPE_CHECKING:
    from podium.compliance.judging.recall import Recall
    from podium.compliance.judging.submission.together import Comparator


class Checked(NamedTuple):
    """A report, and the verdicts on all its files."""

    report: Outcome
    files: JudgedFiles


def check_paths(
    paths: Sequence[Path], options: Options, progress: Progress | None = None
) -> Outcome:
    """Discover and check the files below several paths."""
    return check_inputs(discover(paths, options), options, progress).report


@fewer_collections()
def check_inputs(
    inputs: Inputs,
    options: Options,
    progress: Progress | None = None,
    *,
    known: Mapping[str, FileVerdict] | None = None,
    taking: LogCollector | None = None,
    comparators: Sequence[Comparator] = (),
    memory: Recall | None = None,
) -> Checked:
    """Check the discovered inputs.

    Files with a `known` verdict are not checked again. `taking` receives the data that a caller
    wants from each log. `comparators` compare each submission with something else. `memory` has the
    results of an earlier check.
    """
    if memory is not None:
        known, taking = memory.recall(inputs.tasks), memory.taking
    plugins = judge_by_plugins(inputs.tasks, options)
    surroundings = Surroundings(
        plugins=plugins.findings,
        name_rounds=several(inputs.choices),
        comparators=comparators,
        disks=inputs.disks,
        contents=None if memory is None else memory.contents,
    )
    groups = judge_logs(inputs, options, progress, known_verdicts=known or {}, taking=taking)
    judgements = judge_submissions(groups, options, surroundings)
    if memory is not None:
        memory.keep()
    report = conclude(inputs, judgements, plugins.entries, options)
    files = {path: file for judgement in judgements for path, file in judgement.group.files.items()}
    return Checked(report, JudgedFiles(inputs, files))


@fewer_collections()
def judge_paths(
    paths: Sequence[Path],
    options: Options,
    progress: Progress | None = None,
    *,
    with_trace: bool = False,
) -> JudgedFiles:
    """Check each file below some paths separately, with its facts, for callers without a report."""
    inputs = discover(paths, options, with_facts=True, with_trace=with_trace)
    groups = judge_logs(inputs, options, progress)
    return JudgedFiles(inputs, {path: file for g in groups for path, file in g.files.items()})


def judge_logs(
    inputs: Inputs,
    options: Options,
    progress: Progress | None = None,
    *,
    known_verdicts: Mapping[str, FileVerdict] = {},
    taking: LogCollector | None = None,
) -> Iterator[FileGroup]:
    """Check each file; yield the files of each package, in order, when all of them are checked.

    So a submission is checked while other processes still read the logs of the next. In a single
    process, packages are checked last, because alternating between logs and packages would evict
    code from the processor's caches. Files without a package come last.
    """
    packages_of: dict[str, list[Package]] = {}
    for part in inputs.packages:
        packages_of.setdefault(str(part.root), []).append(part)
    groups: dict[Package | None, dict[str, FileVerdict]] = {
        package: {} for package in inputs.packages
    }
    groups[None] = {}
    home = {
        task.path: _home_of(task, packages_of.get(task.submission, ())) for task in inputs.tasks
    }
    for path in known_verdicts.keys() & home.keys():
        groups[home[path]][path] = known_verdicts[path]
    tasks = [task for task in inputs.tasks if task.path not in known_verdicts]
    waiting = Counter(home[task.path] for task in tasks)
    engine = engine_for(tasks, options)
    checked_count = 0
    for batch in judge_files(tasks, engine, taking.take if taking else None):
        for file in batch:
            package = home[file.path]
            if taking is not None:
                taking.receive(file)
            groups[package][file.path] = file if file.taken is None else replace(file, taken=None)
            waiting[package] -= 1
        checked_count += len(batch)
        if progress is not None:
            progress(checked_count, len(tasks))
        while engine is not None and (package := next(iter(groups))) and not waiting[package]:
            yield FileGroup(package, groups.pop(package))
    for package, files in groups.items():
        if package is not None or files:
            yield FileGroup(package, files)


def _home_of(task: Task, packages: Sequence[Package]) -> Package | None:
    """The package that checks a file, among the parts of its submission that are checked."""
    for package in packages:
        if not package.scope or holds(package.scope, os.path.relpath(task.path, task.submission)):
            return package
    return None
