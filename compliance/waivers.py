"""Exceptions granted in review: `waivers.toml`.

A waiver names a rule, a place, a reason, who granted it and until when; what it covers stays in
the report, marked as waived.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from compliance.errors import UsageFault
from rules.finding import Finding, Severity

WAIVERS_FILE = "waivers.toml"
LARGEST_FILE = 1 << 20
"""Bytes; files that people write by hand are far smaller."""

NEVER_WAIVED = ("internal.", "waivers.")
"""Rules whose findings no waiver covers: faults of podium, and of the waivers themselves."""

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Waiver(BaseModel):
    """One exception. `place` is a path of the report, or a folder that holds it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: Text = Field(description="rule id or glob, such as power.* or seeds.repeated")
    place: Text = Field(
        description="path as the report shows it, or a glob; a folder covers all in it"
    )
    reason: Text = Field(description="why it was granted")
    who: Text = Field(description="who granted it")
    until: date = Field(description="last day on which it holds")

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is of this rule and at this place."""
        if finding.id.startswith(NEVER_WAIVED) or not fnmatch.fnmatchcase(finding.id, self.rule):
            return False
        place = "*" if self.place == "." else self.place.rstrip("/")
        return any(fnmatch.fnmatchcase(finding.path, glob) for glob in (place, f"{place}/*"))


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    waiver: list[Waiver] = []


class Waivers(msgspec.Struct, frozen=True):
    """The waivers of one file; `path` is shown in reports, `lines` are where each begins."""

    path: str = WAIVERS_FILE
    items: tuple[Waiver, ...] = ()
    lines: tuple[int | None, ...] = ()


class Waived(msgspec.Struct, frozen=True):
    """One waiver and how many findings it covered: a line of the report's summary."""

    waiver: Waiver
    line: int | None
    count: int


def read_waivers(path: Path, shown: str = "") -> Waivers:
    """The waivers of a file that the user named; raises UsageFault."""
    # A link is followed: it is the user's own.
    waivers, faults = _read(Path(os.path.realpath(path)), shown or str(path))
    if faults:
        said = (f"{'' if f.line is None else f'line {f.line}: '}{f.message}" for f in faults)
        raise UsageFault(f"{waivers.path}: {'; '.join(said)}")
    return waivers


def waivers_in_tree(path: Path, shown: str) -> tuple[Waivers, list[Finding]]:
    """The waivers of a file found in a submission, and what is wrong with it (then none hold)."""
    return _read(path, shown)


def _read(path: Path, shown: str) -> tuple[Waivers, list[Finding]]:
    def fault(message: str, line: int | None = None, key: str | None = None) -> Finding:
        hint = "give each [[waiver]] rule, place, reason, who and until"
        return Finding("waivers.invalid", Severity.ERROR, shown, line, key, message, hint=hint)

    try:
        text = plain_file(path).decode("utf-8-sig")
        loaded = tomllib.loads(text)
    except OSError as error:
        return Waivers(shown), [fault(f"cannot be read: {error.strerror or error}")]
    except UnicodeDecodeError:
        return Waivers(shown), [fault("cannot be read: it is not UTF-8 text")]
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        where = re.search(r"line (\d+)", str(error))
        return Waivers(shown), [fault(f"no TOML: {error}", int(where[1]) if where else None)]
    lines = _lines_of(text, loaded)
    try:
        file = _File.model_validate(loaded)
    except ValidationError as error:
        return Waivers(shown), [fault(*_explained(each, lines)) for each in error.errors()]
    return Waivers(shown, tuple(file.waiver), lines), []


def _lines_of(text: str, loaded: dict[str, Any]) -> tuple[int | None, ...]:
    items = loaded.get("waiver")
    count = len(items) if isinstance(items, list) else 0
    heads = re.compile(r"\s*\[\[\s*[\"']?waiver[\"']?\s*\]\]")
    found = [number for number, line in enumerate(text.split("\n"), 1) if heads.match(line)]
    # A head inside a multi-line text would count: then better no line than a wrong one.
    return tuple(found) if len(found) == count else (None,) * count


def _explained(error: Any, lines: tuple[int | None, ...]) -> tuple[str, int | None, str | None]:
    """(message, line, key) of one pydantic error."""
    place = error["loc"]
    index = place[1] if len(place) > 1 else None
    line = lines[index] if isinstance(index, int) and index < len(lines) else None
    key = str(place[-1])
    if error["type"] == "extra_forbidden":
        names = list(Waiver.model_fields) if len(place) > 1 else ["waiver"]
        near = difflib.get_close_matches(key, names, 1, 0.5)
        mend = f"did you mean {near[0]}?" if near else f"must be one of {', '.join(names)}"
        return f"unknown field {key}; {mend}", line, key
    if error["type"] == "missing":
        return f"{key} is missing; must be given", line, key
    said = str(error["msg"])
    return f"{'.'.join(map(str, place))}: {said[:1].lower()}{said[1:]}", line, key


def plain_file(path: Path) -> bytes:
    """The bytes of a small regular file; raises OSError for links and all else."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(0, "it is a link; write the file itself")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is no regular file")
    if status.st_size > LARGEST_FILE:
        raise OSError(0, f"it is larger than {LARGEST_FILE >> 20} MiB")
    return path.read_bytes()


# --- applying ---


def apply_waivers(findings: Iterable[Finding], waivers: Waivers, today: date) -> list[Finding]:
    """The findings, those that a waiver of today covers marked, and what is told of the waivers."""
    marked = mark(findings, waivers, today)
    return [*marked, *_about(waivers, marked, today)]


def mark(findings: Iterable[Finding], waivers: Waivers, today: date) -> list[Finding]:
    """The findings, those that a waiver of today covers marked as waived."""
    held = [waiver for waiver in waivers.items if waiver.until >= today]
    if not held:
        return list(findings)
    return [
        replace(finding, waived=True) if any(w.covers(finding) for w in held) else finding
        for finding in findings
    ]


def _about(waivers: Waivers, findings: list[Finding], today: date) -> Iterator[Finding]:
    for waiver, line in zip(waivers.items, waivers.lines, strict=True):
        what = f"the waiver of {waiver.rule} at {waiver.place} (by {waiver.who})"
        if waiver.until < today:
            yield Finding(
                "waivers.expired",
                Severity.WARNING,
                waivers.path,
                line,
                "until",
                f"{what} ended on {waiver.until} and does not hold any more",
                expected=f"a day from {today} on",
                actual=str(waiver.until),
                hint="remove it, or have it granted again",
            )
        elif not any(waiver.covers(finding) for finding in findings):
            yield Finding(
                "waivers.unused",
                Severity.NOTE,
                waivers.path,
                line,
                "rule",
                f"{what} covers no finding",
                hint="remove it, or look whether rule and place are written as the report has them",
            )


def summary(findings: Iterable[Finding], waivers: Waivers, today: date) -> list[Waived]:
    """Each waiver that holds and covers findings, with their number: the first one counts."""
    held = [
        (waiver, line)
        for waiver, line in zip(waivers.items, waivers.lines, strict=True)
        if waiver.until >= today
    ]
    counts = [0] * len(held)
    for finding in findings:
        for index, (waiver, _) in enumerate(held):
            if waiver.covers(finding):
                counts[index] += 1
                break
    return [Waived(*each, count) for each, count in zip(held, counts, strict=True) if count]
