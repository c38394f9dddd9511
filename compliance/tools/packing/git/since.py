"""The changes of a branch: the folders, the file sizes, and whether the result still passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.inputs.submission_folders import is_submission
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.judging.repository.check import LARGE
from podium.compliance.reporting.models import Report, publish
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import plural
from podium.compliance.tools.packing.git.clone import Clone, PathChange
from podium.compliance.tools.packing.receipt import official
from podium.compliance.tools.packing.writing.gate import error_lines
from podium.rules.catalogue import find_round, rounds_of
from podium.rules.model.round import Round


@dataclass(slots=True)
class Changes:
    """The changes of a branch since a ref, by folder, with the reports on changed submissions."""

    branch: str
    ref: str
    folders: dict[str, list[PathChange]] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether every report accepts, without problems."""
        rejected = any(report.rejected_by for report in self.reports.values())
        return not rejected and not self.problems


def check_since(folder: Path, ref: str, request: RoundRequest, jobs: int) -> Changes:
    """Check the changes of the checked-out branch of a clone; raises UsageFault.

    The work tree is checked, so it must match the commit. If neither an option nor a folder names
    the round, the name of the branch does: SUBMITTER-ROUND.
    """
    clone = Clone(folder, read_only=True)
    clone.refuse_changed()
    changes = Changes(clone.head(), ref)
    for change in clone.changes(ref):
        top = change.path.partition("/")[0] if "/" in change.path else ""
        changes.folders.setdefault(top, []).append(change)
    # The work tree is checked: nothing may hide that the commit differs from it
    clone.refuse_differing([*filter(None, changes.folders)])
    changes.problems += _problems(changes, clone)
    for name in changes.folders:
        tree = clone.root / name
        if name and is_submission(tree):
            changes.reports[name] = _judged(tree, _rules(tree, changes.branch, request), jobs)
    return changes


def _judged(folder: Path, rules: Round, jobs: int) -> Report:
    return publish(check_paths([folder], Options(usage=rules.usage, round=rules.name, jobs=jobs)))


def _rules(folder: Path, branch: str, request: RoundRequest) -> Round:
    choice = request.choose(folder)
    usage, name = choice.rules.usage, branch.rpartition("-")[2]
    if choice.chosen_by == "default" and name in rounds_of(usage):
        return find_round(usage, name)
    return choice.rules


def _problems(changes: Changes, clone: Clone) -> Iterator[str]:
    if not changes.folders:
        yield "the branch has no changes"
    submitters = sorted(filter(None, changes.folders))
    if len(submitters) > 1:
        names = ", ".join(submitters)
        yield f"the branch changes the folders of {len(submitters)} submitters: {names}"
    for change in changes.folders.get("", ()):
        yield f"{change.path} is not in a submitter's folder"
    for name in submitters:
        folder = clone.root / name
        if folder.exists() and not is_submission(folder):
            yield f"{name} is not a submission: expected the folders results and systems"
    for path, size in clone.large_blobs(changes.ref, LARGE):
        yield f"{path} is {size / (1 << 20):.1f} MiB in a commit; the limit is 50 MiB"


def to_text(changes: Changes, width: int) -> str:
    """The changes and problems, for a terminal."""
    return "\n".join(_lines(changes, width)) + "\n"


def _lines(changes: Changes, width: int) -> Iterator[str]:
    yield f"{clean(changes.branch)} since {clean(changes.ref)}"
    for name, folder_changes in changes.folders.items():
        counts = {
            status: sum(change.how == status for change in folder_changes) for status in "AMDT"
        }
        words = {"A": "new", "M": "changed", "D": "deleted", "T": "of another type"}
        summary = ", ".join(f"{count} {words[status]}" for status, count in counts.items() if count)
        yield f"  {clean(name) or '(top)'}: {summary}"
    for problem in changes.problems:
        yield from wrap(clean(problem), width, "  ! ", "    ")
    for name, report in changes.reports.items():
        rules, counts_ = report.rules, report.counts
        yield (
            f"{clean(name)}, {rules.usage} {rules.round}: {report.verdict}; "
            f"{plural(counts_.error, 'error')}, {plural(counts_.warning, 'warning')}; "
            f"{official(report.official_verdict)}"
        )
        yield from error_lines(report, width)
