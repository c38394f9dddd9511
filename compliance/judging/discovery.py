"""Every file below some paths: found, and judged each by itself, in one process or several."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.files import (
    Judged,
    Take,
    Task,
    engine_for,
    judge_files,
    task_for,
)
from podium.compliance.judging.inputs.changes import Changes
from podium.compliance.judging.inputs.discover import (
    Package,
    PathContents,
    Target,
    kinds_of,
    linked_folders,
    nearly_submissions,
    submissions,
    targets,
)
from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.inputs.round_selection import Choice, RoundRequest, forget
from podium.compliance.judging.options import Options, Progress
from podium.compliance.judging.workers.gc_tuning import fewer_collections
from podium.compliance.text.words import plural


class Taking(NamedTuple):
    """What a caller wants of each log beside its verdict.

    `take` is called where the log is read; `receive` here, in order of the tasks, with what it
    made, which is not kept.
    """

    take: Take
    receive: Callable[[Judged], None]


class DiscoveredInputs(msgspec.Struct, frozen=True):
    """Every file below some paths: those judged by themselves, and `tasks`, those still to judge.

    `packages` are the submissions, or the results of some; `undescribed` lack `systems` to be some
    and `resultless` lack `results`, `linked` are links to folders beside them;
    `unchanged` says what was left out as such.
    """

    targets: list[Target]
    packages: list[Package]
    choices: list[Choice]
    undescribed: list[str]
    resultless: list[str]
    linked: list[str]
    judged: dict[str, Judged]
    tasks: list[Task]
    disks: dict[Path, Disk]
    taking: Taking | None = None
    unchanged: str = ""

    @property
    def not_judged(self) -> str:
        """What is left out of the paths, and of what submissions are judged by; may be empty."""
        return "; ".join(filter(None, (self.unchanged, self._of_submissions)))

    @property
    def _of_submissions(self) -> str:
        if any(package.scope for package in self.packages):
            return (
                "the rest of the submission: its tree, other results, code and documents, names "
                "and secrets"
            )
        if not self.packages and len(self.targets) > 1:
            return "results: how many runs they have, seeds, settings, systems and convergence"
        return ""


def find(
    paths: list[Path],
    options: Options,
    *,
    for_scores: bool = False,
    traced: bool = False,
    known: Mapping[str, Judged] | None = None,
    taking: Taking | None = None,
    changes: Changes | None = None,
) -> DiscoveredInputs:
    """Find every file to judge below the paths, and by which rules; none is judged yet.

    `for_scores` is to take the facts of loose logs, too, `traced` to take what a review compares,
    `taking` whatever else; `known` are verdicts there are already, by the paths of their files.
    `changes` leave out what none of them belongs to. Raises NothingToJudge where a path does not
    exist or holds nothing.
    """
    # A Python caller may have changed a podium.toml between two calls
    forget()
    wish = RoundRequest(options.usage, options.round)
    held, packages, disks, found, unchanged = _below(paths, wish, changes)
    choices = [wish.choose(target.folder) for target in found]
    # A submission without any log is judged by some round, too, and so is nothing at all
    choices += [wish.choose(package.root) for package in packages]
    choices = choices or [wish.choose(path) for path in paths]
    judged = dict(known or {})
    # Not strict: the choices of the packages follow, which are no tasks
    left = ((t, c) for t, c in zip(found, choices, strict=False) if t.path not in judged)
    how = {"with_facts": for_scores, "traced": traced}
    tasks = [task_for(target, choice, options.profile, **how) for target, choice in left]
    return DiscoveredInputs(
        found,
        packages,
        choices,
        nearly_submissions(held, "systems"),
        nearly_submissions(held, "results"),
        linked_folders(held),
        judged,
        tasks,
        disks,
        taking,
        unchanged,
    )


class _Below(NamedTuple):
    held: Mapping[Path, PathContents]
    packages: list[Package]
    disks: dict[Path, Disk]
    found: list[Target]
    unchanged: str = ""


def _below(paths: list[Path], wish: RoundRequest, changes: Changes | None) -> _Below:
    """What there is below the paths; of that, what belongs to changes."""
    held = kinds_of(paths, wish)
    packages = submissions(held)
    disks = {package.root: Disk(package.root) for package in packages}
    found = targets(held, disks, empty=bool(packages))
    if changes is None:
        return _Below(held, packages, disks, found)
    packages = changes.packages(packages, found)
    kept = changes.targets(found, packages)
    unchanged = f"what has not changed since {changes.ref} "
    unchanged += f"({len(found) - len(kept)} of {plural(len(found), 'file')} to judge)"
    return _Below(changes.near(held), packages, disks, kept, unchanged)


@fewer_collections()
def gather(
    paths: list[Path],
    options: Options,
    progress: Progress | None = None,
    *,
    for_scores: bool = False,
    traced: bool = False,
    known: Mapping[str, Judged] | None = None,
) -> DiscoveredInputs:
    """Find and judge every file below the paths, each by itself; see `find`."""
    gathered = find(paths, options, for_scores=for_scores, traced=traced, known=known)
    for _ in judge_rest(gathered, options, progress):
        pass
    return gathered


def judge_rest(
    gathered: DiscoveredInputs, options: Options, progress: Progress | None
) -> Iterator[Package]:
    """Judge the files not judged yet; yields each submission, in order, once all of its are.

    So a submission is judged while other processes still read the logs of the next. In one process
    the code for logs and that for packages would push each other out of its caches: packages wait.
    """
    tasks, taking = gathered.tasks, gathered.taking
    engine = engine_for(tasks, options)
    waiting = Counter(task.submission for task in tasks)
    packages = deque(gathered.packages)
    done = 0
    for batch in judge_files(tasks, engine, taking.take if taking else None):
        for task, one in zip(tasks[done : done + len(batch)], batch, strict=True):
            if taking is not None:
                taking.receive(one)
            gathered.judged[one.path] = one if one.taken is None else replace(one, taken=None)
            waiting[task.submission] -= 1
        done += len(batch)
        if progress is not None:
            progress(done, len(tasks))
        while engine is not None and packages and not waiting[str(packages[0].root)]:
            yield packages.popleft()
    yield from packages
    # What was gathered is passed on, to be scored: nothing in it is judged a second time
    tasks.clear()
