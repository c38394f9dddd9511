"""The discovery of files below some paths, and of the rules for each, before any check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from podium.compliance.judging.files import FileVerdict, Task, task_for
from podium.compliance.judging.inputs.changes import Changes
from podium.compliance.judging.inputs.discover import (
    Package,
    PathKind,
    SurplusFolders,
    Target,
    kinds_of,
    submissions,
    surplus_folders,
    targets,
)
from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.inputs.log_names import misnamed_beside
from podium.compliance.judging.inputs.round_selection import Choice, RoundRequest, forget
from podium.compliance.judging.options import Options
from podium.compliance.text.words import plural


class Inputs(msgspec.Struct, frozen=True):
    """Every file below some paths, as tasks, and the submissions among them.

    `tasks` are in the order of `targets`. `choices` are the rounds of the targets, then of the
    `packages`. `packages` are the submissions, or some of their results; `disks` are the listings
    of their folders, by root. `surplus` are folders that
    are not checked as submissions. `misnamed` are logs next to loose logs that are not checked.
    `unchanged` describes the files that are left out because they have not changed.
    """

    targets: Sequence[Target]
    tasks: Sequence[Task]
    packages: Sequence[Package]
    disks: Mapping[Path, Disk]
    choices: Sequence[Choice]
    surplus: SurplusFolders
    misnamed: Sequence[str] = ()
    unchanged: str = ""

    @property
    def not_judged(self) -> str:
        """The parts of a complete check that the paths leave out; may be empty."""
        parts = [self.unchanged] if self.unchanged else []
        if any(package.scope for package in self.packages):
            parts.append(
                "the rest of the submission: its tree, other results, code and documents, names "
                "and secrets"
            )
        elif not self.packages and len(self.targets) > 1:
            parts.append("results: number of runs, seeds, settings, systems and convergence")
        return "; ".join(parts)


class JudgedFiles(msgspec.Struct, frozen=True):
    """All inputs with the verdict on each file, by its path, for scores and reviews."""

    inputs: Inputs
    files: Mapping[str, FileVerdict]

    def verdicts(self) -> Iterator[tuple[Target, FileVerdict]]:
        """Each target with its verdict, in the order of the targets."""
        return ((target, self.files[target.path]) for target in self.inputs.targets)


def discover(
    paths: Sequence[Path],
    options: Options,
    *,
    with_facts: bool = False,
    with_trace: bool = False,
    changes: Changes | None = None,
) -> Inputs:
    """Find every file to check below the paths, and the rules for each.

    The facts of logs in submissions are always gathered. `with_facts` also requests the facts of
    loose logs, which scores need, and `with_trace` the data that a review compares. `changes`
    excludes inputs without changed files. Raises NothingToJudge if a path does not exist or has no
    files to check.
    """
    # A Python caller may have changed a podium.toml between two calls
    forget()
    request = RoundRequest(options.usage, options.round)
    contents = kinds_of(list(paths), request)
    packages = submissions(contents)
    disks = {package.root: Disk(package.root) for package in packages}
    files, unchanged = targets(contents, disks, empty=bool(packages)), ""
    if changes is not None:
        total = len(files)
        packages = changes.packages(packages, files)
        files = changes.targets(files, packages)
        contents = changes.near(contents)
        unchanged = f"files that have not changed since {changes.ref} "
        unchanged += f"({total - len(files)} of {plural(total, 'file')})"
    # A submission without logs also has a round, and so has an empty input
    locations = [target.folder for target in files] + [package.root for package in packages]
    choices = [request.choose(location) for location in locations or paths]
    tasks = [
        task_for(target, choice, options.profile, with_facts=with_facts, with_trace=with_trace)
        # Not strict: the choices of the packages follow
        for target, choice in zip(files, choices, strict=False)
    ]
    misnamed: Sequence[str] = ()
    if any(content.kind in (PathKind.LOOSE, PathKind.ROUND) for content in contents.values()):
        loose_files = [file for file in files if not (file.submission or file.from_stdin)]
        misnamed = misnamed_beside(loose_files)
    return Inputs(
        targets=files,
        tasks=tasks,
        packages=packages,
        disks=disks,
        choices=choices,
        surplus=surplus_folders(contents),
        misnamed=misnamed,
        unchanged=unchanged,
    )
