"""The values for the check of a group of files, and its entries in a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from podium.compliance.judging.files import FileVerdict
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.waivers.suppressions import NOTHING_LEFT_OUT, Suppressions
from podium.compliance.reporting.data import FileEntry, ResultEntry, SubmissionEntry
from podium.rules.finding import Finding

if TYPE_CHECKING:
    from podium.compliance.judging.repository.contents import Memory
    from podium.compliance.judging.submission.together import Comparator


class FileGroup(msgspec.Struct, frozen=True):
    """The verdicts on the files of one package, by path; on loose files if it is None."""

    package: Package | None
    files: Mapping[str, FileVerdict]


class Judgement(msgspec.Struct, frozen=True):
    """The entries and findings of one group.

    `described` maps the path of each result to the path of its system's description. `unjudged` are
    folders with logs that belong to no benchmark. `suppressions` are the waivers that apply to the
    submission.
    """

    group: FileGroup
    files: Sequence[FileEntry] = ()
    findings: Sequence[Finding] = ()
    submission: SubmissionEntry | None = None
    results: Sequence[ResultEntry] = ()
    unjudged: Sequence[str] = ()
    described: Mapping[str, str] = {}
    suppressions: Suppressions = NOTHING_LEFT_OUT


class Surroundings(msgspec.Struct, frozen=True):
    """The inputs of a submission's check in addition to its files.

    `plugins` are the findings of plug-ins in each log, by the path that a report shows.
    `name_rounds`: files have different rounds, and name them. `comparators` compare each submission
    with something outside the paths. `disks` are the listings of submissions, by root. `contents`
    returns the contents of a submission's files from an earlier check, by its root.
    """

    plugins: Mapping[str, Sequence[Finding]] = {}
    name_rounds: bool = False
    comparators: Sequence[Comparator] = ()
    disks: Mapping[Path, Disk] = {}
    contents: Callable[[Path], Memory | None] | None = None
