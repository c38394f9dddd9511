"""Which files lie below some paths, and by which rules each is judged; none is judged yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from podium.compliance.judging.files import FileVerdict, Task, task_for
from podium.compliance.judging.inputs.changes import Changes
from podium.compliance.judging.inputs.discover import (
    Package,
    PathKind,
    Target,
    kinds_of,
    linked_folders,
    nearly_submissions,
    nested_submissions,
    submissions,
    targets,
)
from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.inputs.log_names import misnamed_beside
from podium.compliance.judging.inputs.round_selection import Choice, RoundRequest, forget
from podium.compliance.judging.options import Options
from podium.compliance.text.words import plural


class Inputs(msgspec.Struct, frozen=True):
    """Every file below some paths, as tasks, and the submissions among them.

    `tasks` are in the order of `targets`, `choices` first theirs and then those of `packages`.
    `packages` are the submissions, or the results of some. `undescribed` and `resultless` are
    folders that lack `systems` or `results` to be submissions; `nested` are submissions that lie
    too deep, `linked` links to folders next to submissions, `misnamed` logs next to loose ones
    that are not judged. `unchanged` says what was left out because it has not changed.
    """

    targets: Sequence[Target]
    tasks: Sequence[Task]
    packages: Sequence[Package]
    choices: Sequence[Choice]
    undescribed: Sequence[str]
    resultless: Sequence[str]
    nested: Sequence[str]
    linked: Sequence[str]
    misnamed: Sequence[str] = ()
    unchanged: str = ""

    @property
    def not_judged(self) -> str:
        """What the paths leave out of what submissions are judged by; may be empty."""
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


class JudgedFiles(msgspec.Struct, frozen=True):
    """All inputs with the verdict on each file, by its path: what scores and reviews start from."""

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
    """Find every file to judge below the paths, and by which rules.

    Logs of submissions always give their facts; `with_facts` asks for those of loose logs as well,
    which scores need, and `with_trace` for what a review compares. `changes` leave out what none of
    them belongs to. Raises NothingToJudge where a path does not exist or holds nothing.
    """
    # A Python caller may have changed a podium.toml between two calls
    forget()
    request = RoundRequest(options.usage, options.round)
    contents = kinds_of(list(paths), request)
    packages = submissions(contents)
    disks = {package.root: Disk(package.root) for package in packages}
    files, unchanged = targets(contents, disks, empty=bool(packages)), ""
    if changes is not None:
        found = len(files)
        packages = changes.packages(packages, files)
        files = changes.targets(files, packages)
        contents = changes.near(contents)
        unchanged = f"what has not changed since {changes.ref} "
        unchanged += f"({found - len(files)} of {plural(found, 'file')} to judge)"
    # A submission without any log is judged by some round as well, and so is nothing at all
    places = [target.folder for target in files] + [package.root for package in packages]
    choices = [request.choose(place) for place in places or paths]
    tasks = [
        task_for(target, choice, options.profile, with_facts=with_facts, with_trace=with_trace)
        # Not strict: the choices of the packages follow
        for target, choice in zip(files, choices, strict=False)
    ]
    folders = any(what.kind in (PathKind.LOOSE, PathKind.ROUND) for what in contents.values())
    loose = [each for each in files if not (each.submission or each.from_stdin)] if folders else []
    return Inputs(
        targets=files,
        tasks=tasks,
        packages=packages,
        choices=choices,
        undescribed=nearly_submissions(contents, "systems"),
        resultless=nearly_submissions(contents, "results"),
        nested=nested_submissions(contents),
        linked=linked_folders(contents),
        misnamed=misnamed_beside(loose),
        unchanged=unchanged,
    )
