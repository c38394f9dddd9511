"""A round compared with its state at an earlier review: fixed, new, and changed unasked."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.text.terminal import clean
from podium.compliance.tools.history.hyperparameter_borrowing import BATCH_SIZES, differing
from podium.compliance.tools.review.edits import edits_of, same_runs
from podium.compliance.tools.review.model import (
    Against,
    Objection,
    ObjectionChange,
    ResultChange,
    ResultEntry,
    Review,
)
from podium.compliance.tools.review.records import (
    Manifest,
    Record,
    differences,
    read_records,
    with_records,
)
from podium.logging_spec.limits import read_json
from podium.rules.catalogue import find_round

REVIEW_FILE, MANIFEST_FILE = "review.json", "files.json"
LARGEST = 1 << 28

PLAIN = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]*")
"""Ids of objections: they are file names in one folder."""


class EarlierReview(msgspec.Struct, frozen=True):
    """An earlier review: its content, its files, and the current states of its objections."""

    review: Review
    files: Manifest
    records: Mapping[str, Record]
    objections: list[Objection]


def read_before(folder: Path) -> EarlierReview:
    """The folder that an earlier call of `podium review` wrote; raises UsageFault."""
    review = _read(folder / REVIEW_FILE, Review)
    if review.anonymous:
        raise UsageFault(f"{folder} is anonymous; --against needs the review with names")
    invalid_id = next(
        (objection.id for objection in review.objections if not PLAIN.fullmatch(objection.id)), None
    )
    if invalid_id is not None:
        # The id becomes a file name
        raise UsageFault(
            f"{folder / REVIEW_FILE} has the objection id {clean(invalid_id)!r}; "
            "expected a file name"
        )
    files = _read(folder / MANIFEST_FILE, dict[str, str])
    records = read_records(folder)
    return EarlierReview(review, files, records, with_records(review.objections, records))


def _read(path: Path, kind: Any) -> Any:
    try:
        with open_plain(path) as stream:
            text = stream.read(LARGEST).decode()
        return msgspec.convert(read_json(text), kind, strict=False)
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageFault(f"{path} is not a review by podium: {clean(str(error))}") from None


# --- objections -----------------------------------------------------------------------------------


def followed(
    now: Sequence[Objection], before: EarlierReview, submissions: Sequence[str]
) -> list[Objection]:
    """The objections of the new state, each with its change; resolved ones stay in the list.

    `submissions` are the paths of the submissions in the new state.
    """
    earlier = {objection.id: objection for objection in before.objections}
    current = [
        _compared(objection, earlier[objection.id]) if objection.id in earlier else _new(objection)
        for objection in now
    ]
    ids = {objection.id for objection in now}
    resolved = [
        _met(objection, is_present=objection.submission in submissions)
        for objection in before.objections
        if objection.id not in ids
    ]
    return [*current, *resolved]


def _new(objection: Objection) -> Objection:
    return replace(objection, change=ObjectionChange(kind="new"))


def _compared(now: Objection, then: Objection) -> Objection:
    old, new = ({evidence.path for evidence in objection.evidence} for objection in (then, now))
    reopened = then.state == "fixed"
    change = ObjectionChange(
        kind="reopened" if reopened else "standing",
        fixed=sorted(old - new),
        added=sorted(new - old),
    )
    return replace(
        now,
        state="open" if reopened else then.state,
        by=then.by,
        date=then.date,
        comment=then.comment,
        change=change,
    )


def _met(objection: Objection, *, is_present: bool) -> Objection:
    if not objection.rule:
        # A program cannot decide whether an objection of a reviewer is resolved
        return replace(objection, change=ObjectionChange(kind="standing"))
    paths = sorted({evidence.path for evidence in objection.evidence})
    change = ObjectionChange(kind="fixed" if is_present else "gone", fixed=paths)
    if objection.is_open:
        today = datetime.date.today().isoformat()
        return replace(objection, state="fixed", by="podium", date=today, change=change)
    return replace(objection, change=change)


# --- changes --------------------------------------------------------------------------------------


def compared(
    results: Sequence[ResultEntry],
    files: Manifest,
    objections: Sequence[Objection],
    before: EarlierReview,
    rules: tuple[str, str],
) -> Against:
    """The changes since the earlier review; `rules` are the usage and the name of the round."""
    questions = _Asked(before.objections)
    differing_files = differences(before.files, files)
    changed = [*_results(before.review.results, results, differing_files, questions, rules)]
    folders = tuple(f"{result.path}/" for result in (*before.review.results, *results))
    # Logs are reported with their results
    others: dict[str, Sequence[str]] = {
        kind: [path for path in paths if not path.startswith(folders)]
        for kind, paths in differing_files.items()
    }
    unasked = [change.path for change in changed if not change.asked]
    unasked += sorted(
        path for paths in others.values() for path in paths if not questions.about_file(path)
    )
    kinds = [objection.change.kind for objection in objections if objection.change is not None]
    counts: dict[str, int] = {kind: kinds.count(kind) for kind in sorted({*kinds})}
    return Against(counts=counts, results=changed, files=others, unasked=unasked)


class _Asked:
    """The paths that objections of the earlier review were about, except withdrawn ones."""

    def __init__(self, objections: Sequence[Objection]) -> None:
        self.paths = {
            evidence.path
            for objection in objections
            if objection.state != "withdrawn"
            for evidence in objection.evidence
        }

    def about_file(self, path: str) -> bool:
        """Whether an objection was about a file or a folder above it."""
        return path in self.paths or any(above in self.paths for above in _above(path))

    def about_result(self, path: str) -> bool:
        """Whether an objection was about a result or one of its logs."""
        return any(file == path or file.startswith(f"{path}/") for file in self.paths)


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
    yield "."


def _results(
    then: Sequence[ResultEntry],
    now: Sequence[ResultEntry],
    differing_files: Mapping[str, list[str]],
    questions: _Asked,
    rules: tuple[str, str],
) -> Iterator[ResultChange]:
    old, new = ({entry.path: entry for entry in entries} for entries in (then, now))
    for path in sorted(old.keys() | new.keys()):
        is_asked = questions.about_result(path)
        if path not in new:
            yield ResultChange(path=path, kind="removed", asked=is_asked)
        elif path not in old:
            yield ResultChange(path=path, kind="added", asked=is_asked)
        else:
            change = _result(old[path], new[path], differing_files, is_asked, then, rules)
            if change is not None:
                yield change


def _result(
    then: ResultEntry,
    now: ResultEntry,
    differing_files: Mapping[str, list[str]],
    is_asked: bool,
    others: Sequence[ResultEntry],
    rules: tuple[str, str],
) -> ResultChange | None:
    before, after = _values(then), _values(now)
    changed = {*differing(before, after)}
    settings = {
        key: (before.get(key), after.get(key))
        for key in sorted(before.keys() | after.keys())
        if key in changed or (key in BATCH_SIZES and before.get(key) != after.get(key))
    }
    logs = [
        f"{path} ({kind})"
        for kind, paths in differing_files.items()
        for path in paths
        if path.startswith(f"{now.path}/")
    ]
    minutes = (then.score, now.score) if then.score != now.score else None
    if not (settings or logs or minutes):
        return None
    edits = edits_of(then, now, differing_files)
    lender, allowed = "", ""
    if settings:
        lender = _lender(now, after, others)
        allowed = _allowed(now, lender, rules)
        # Changed settings need new runs
        if logs and same_runs(then, now):
            allowed += "; the runs are the same as before: ask for their raw output"
    elif any(edit.startswith(("run exchanged", "records edited")) for edit in edits):
        allowed = "the settings are unchanged: ask why"
    return ResultChange(
        path=now.path,
        kind="changed",
        asked=is_asked,
        settings=settings,
        logs=logs,
        edits=edits,
        minutes=minutes,
        lender=lender,
        allowed=allowed,
    )


def _values(entry: ResultEntry) -> dict[str, Any]:
    return {key: setting.value for key, setting in entry.settings.items()}


def _lender(now: ResultEntry, values: dict[str, Any], others: Sequence[ResultEntry]) -> str:
    """The first submission of another submitter's result that had all these settings."""
    return next(
        (
            other.path
            for other in others
            if other.benchmark == now.benchmark
            and other.division == now.division
            and not same_organization(other.submitter, now.submitter)
            and not differing(_values(other), values)
        ),
        "",
    )


def _allowed(now: ResultEntry, lender: str, rules: tuple[str, str]) -> str:
    try:
        round_rules = find_round(*rules)
    # A folder of several rounds has no single set of rules
    except LookupError:
        return ""
    if not round_rules.package.borrowing or not round_rules.benchmark(now.benchmark).borrowable:
        return "the rules of this round do not allow borrowed settings for this benchmark"
    if lender:
        return f"all settings except batch sizes match {lender}: borrowed as a group"
    return "no result submitted first has all these settings: the change needs evidence"
