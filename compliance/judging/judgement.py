"""The values that a group of judged files is judged from, and what a report says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from podium.compliance.judging.files import FileVerdict
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.waivers.suppressions import NOTHING_LEFT_OUT, Suppressions
from podium.compliance.reporting.data import FileEntry, ResultEntry, SubmissionEntry
from podium.rules.finding import Finding

if TYPE_CHECKING:
    from podium.compliance.judging.repository.contents import Memory
    from podium.compliance.judging.submission.together import Comparator


class FileGroup(msgspec.Struct, frozen=True):
    """The verdicts on the files of one package, by path; of loose files where it is None."""

    package: Package | None
    files: Mapping[str, FileVerdict]


class Judgement(msgspec.Struct, frozen=True):
    """What a report says of one group.

    `described` has the path of each result with that of its system's description; `unjudged` are
    folders with logs of no benchmark. `suppressions` are the waivers that count in the submission.
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
    """What submissions are judged with in addition to their files.

    `plugins` is what plug-ins found in each log, by the path that a report shows. `name_rounds`:
    files name their rounds, as these differ. `comparators` compare each with something outside the
    paths, `contents` knows the files of one from an earlier check, by its root.
    """

    plugins: Mapping[str, Sequence[Finding]] = {}
    name_rounds: bool = False
    comparators: Sequence[Comparator] = ()
    contents: Callable[[Path], Memory | None] | None = None
