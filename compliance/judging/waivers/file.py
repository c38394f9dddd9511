"""`waivers.toml`: each waiver has a rule, a place, a reason, who granted it and its last day."""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.house_table import heads_of
from podium.compliance.judging.waivers.waiver_rules import INVALID
from podium.compliance.judging.waivers.waivers import Waivers, plain_file
from podium.logging_spec.limits import BeyondLimitError, read_toml
from podium.rules.finding import Finding, Profile, matches

NEVER_WAIVED = ("internal.", "waivers.")
"""Rules whose findings no waiver covers: errors of podium, and of the waivers themselves."""

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Waiver(BaseModel):
    """One exception. `place` is a path in the report, or a folder that contains it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: Text = Field(description="rule id or glob, such as power.* or seeds.repeated")
    place: Text = Field(
        description="path as the report shows it, or a glob; a folder covers everything in it"
    )
    reason: Text = Field(description="why it was granted")
    who: Text = Field(description="who granted it")
    until: date = Field(description="last day on which it applies")

    def covers(self, finding: Finding) -> bool:
        """Whether the finding has this rule and is at this place."""
        if finding.id.startswith(NEVER_WAIVED) or not matches(finding.id, [self.rule]):
            return False
        # A report shows the tree itself as a dot, but no path in it begins with a dot
        pattern = "*" if self.place == "." else self.place.rstrip("/")
        return any(fnmatch.fnmatchcase(finding.path, glob) for glob in (pattern, f"{pattern}/*"))


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    waiver: list[Waiver] = Field(default=[], description="the exceptions, one by one")


def waivers_schema() -> dict[str, Any]:
    """The JSON Schema of waivers.toml."""
    return _File.model_json_schema()


def read_waivers(path: Path, display_path: str = "") -> Waivers:
    """The waivers of a file that the user named; raises UsageFault if it is invalid."""
    # A link is followed, because the user named it.
    waivers, faults = _read(Path(os.path.realpath(path)), display_path or str(path))
    if faults:
        problems = (f"{'' if f.line is None else f'line {f.line}: '}{f.message}" for f in faults)
        raise UsageFault(f"{waivers.path}: {'; '.join(problems)}")
    return waivers


def waivers_in_tree(path: Path, display_path: str) -> tuple[Waivers, list[Finding]]:
    """The waivers of a file in a submission, and its errors; with errors, no waiver applies."""
    return _read(path, display_path)


def _read(path: Path, display_path: str) -> tuple[Waivers, list[Finding]]:
    def fault(message: str, line: int | None = None, key: str | None = None) -> Finding:
        return INVALID.found(Profile.POLICY, display_path, line=line, key=key, problem=message)

    try:
        # Some editors begin a file with a byte order mark, which TOML does not allow
        text = plain_file(path).decode("utf-8-sig")
        loaded = read_toml(text)
    except OSError as error:
        return Waivers(display_path), [fault(f"cannot be read: {error.strerror or error}")]
    except UnicodeDecodeError:
        return Waivers(display_path), [fault("cannot be read: not valid UTF-8")]
    except BeyondLimitError as error:
        return Waivers(display_path), [fault(f"cannot be read: {error}")]
    except ValueError as error:
        # tomllib has the line only in its message
        match = re.search(r"line (\d+)", str(error))
        return Waivers(display_path), [
            fault(f"not valid TOML: {error}", int(match[1]) if match else None)
        ]
    lines = heads_of(text, "waiver", loaded.get("waiver"))
    try:
        file = _File.model_validate(loaded)
    except ValidationError as error:
        return Waivers(display_path), [fault(*_explained(item, lines)) for item in error.errors()]
    return Waivers(display_path, tuple(file.waiver), lines), []


def _explained(error: Any, lines: tuple[int | None, ...]) -> tuple[str, int | None, str | None]:
    """(message, line, key) of one pydantic error."""
    location = error["loc"]
    index = location[1] if len(location) > 1 else None
    line = lines[index] if isinstance(index, int) and index < len(lines) else None
    key = str(location[-1])
    if error["type"] == "extra_forbidden":
        names = list(Waiver.model_fields) if len(location) > 1 else ["waiver"]
        similar = difflib.get_close_matches(key, names, 1, 0.5)
        advice = f"did you mean {similar[0]}?" if similar else f"expected one of {', '.join(names)}"
        return f"unknown field {key}; {advice}", line, key
    if error["type"] == "missing":
        return f"{key} is missing", line, key
    message = str(error["msg"])
    return f"{'.'.join(map(str, location))}: {message[:1].lower()}{message[1:]}", line, key
