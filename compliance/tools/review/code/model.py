"""The content of `code.json` (`podium.code-review/1`): the unread code of a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from podium.compliance.reporting.data import Tool
from podium.compliance.tools.review.model import CONFIDENTIAL

SCHEMA: Literal["podium.code-review/1"] = "podium.code-review/1"

DiffKind = Literal["changed", "moved", "new"]
ListedKind = Literal[
    "compiled code", "archive", "checkpoint", "binary", "notebook", "data", "large", "link"
]

OPAQUE: tuple[ListedKind, ...] = ("compiled code", "archive", "checkpoint")
"""Files that hide code or results from a reviewer: each is a finding."""

NAMED: tuple[ListedKind, ...] = (*OPAQUE, "large")
"""Maximum number of files that are named; the rest are counted."""


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a file that differ from its base, or all lines of a new file."""

    id: Annotated[str, msgspec.Meta(description="hash of the path and the lines")]
    subjects: Annotated[
        Sequence[str],
        msgspec.Meta(description="subjects of the lines, such as timing; environment comes last"),
    ] = ()
    base_line: int
    line: int
    lines: Annotated[
        Sequence[str],
        msgspec.Meta(description="each begins with +, - or a space, as git prints them"),
    ]
    to_read: Annotated[int, msgspec.Meta(description="lines that are added or removed")]


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a reviewer has to read, with its base if it has one."""

    path: str
    kind: DiffKind
    hash: str
    base: Annotated[str, msgspec.Meta(description="source of the base, such as NVIDIA 5.1")] = ""
    base_path: str = ""
    library: Annotated[str, msgspec.Meta(description="the vendored library, if any")] = ""
    remark: str = ""
    lines: Annotated[int, msgspec.Meta(description="lines of the file")]
    to_read: int
    seen: Annotated[int, msgspec.Meta(description="hunks that the earlier review showed")] = 0
    hunks: Sequence[Hunk] = ()


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """A vendored library, shown as one line."""

    path: str
    name: str
    version: str = ""
    files: int
    lines: int
    base: Annotated[str, msgspec.Meta(description="source of the copy compared, if any")] = ""
    patched: Sequence[str] = ()
    logging: Annotated[
        Sequence[str], msgspec.Meta(description="files of a library that write log records")
    ] = ()
    unverified: Annotated[
        int, msgspec.Meta(description="lines of unread files that no known copy has")
    ] = 0
    remark: str = ""


class ListedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is listed and not compared line by line."""

    path: str
    kind: ListedKind
    size: int
    hash: str = ""
    state: Literal["identical", "other"]
    base: str = ""


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a variable in one configuration."""

    value: str
    logged: Annotated[
        str, msgspec.Meta(description="the value in the logs, if it is different")
    ] = ""


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration file: its variables that differ from the other files of the cell."""

    path: str
    used_by: Annotated[
        Sequence[str], msgspec.Meta(description="results whose logs name it or its system")
    ] = ()
    values: Mapping[str, Variable] = {}


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """The code of one submitter for one benchmark."""

    submitter: str
    benchmark: str
    path: str
    order: Annotated[str, msgspec.Meta(description="reason for its place in the reading order")]
    base: Annotated[str, msgspec.Meta(description="source of most of its files")] = ""
    to_read: int = 0
    files: int = 0
    lines: int = 0
    identical: int = 0
    read: Annotated[int, msgspec.Meta(description="files that read.toml records")] = 0
    changed: int = 0
    new: int = 0
    vendored: int = 0
    unverified: Annotated[
        int, msgspec.Meta(description="lines of libraries that no known copy has")
    ] = 0
    listed: int = 0
    sources: Annotated[
        Mapping[str, int], msgspec.Meta(description="identical files by their first submitter")
    ] = {}
    diffs: Sequence[FileDiff] = ()
    libraries: Sequence[Library] = ()
    others: Annotated[Sequence[ListedFile], msgspec.Meta(description="files not diffed")] = ()
    removed: Annotated[
        Sequence[str], msgspec.Meta(description="removed files of its earlier round")
    ] = ()
    configurations: Sequence[Configuration] = ()

    @property
    def name(self) -> str:
        """SUBMITTER/BENCHMARK."""
        return f"{self.submitter}/{self.benchmark}"


class CodeReview(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The code of a round."""

    schema_: Literal["podium.code-review/1"] = SCHEMA
    tool: Tool = Tool()
    confidential: str = CONFIDENTIAL
    base: str = "auto"
    earlier: Sequence[str] = ()
    reference: str = ""
    shown: Annotated[
        Sequence[str], msgspec.Meta(description="hunks that earlier reviews have shown, by id")
    ] = ()
    problem: Annotated[str, msgspec.Meta(description="why no lines are compared, if so")] = ""
    cells: Annotated[Sequence[Cell], msgspec.Meta(description="most lines to read first")] = ()

    @property
    def to_read(self) -> int:
        """Unread lines."""
        return sum(cell.to_read for cell in self.cells)

    @property
    def by_cell(self) -> dict[tuple[str, str], int]:
        """Unread lines by submitter and benchmark."""
        return {(cell.submitter, cell.benchmark): cell.to_read for cell in self.cells}

    @property
    def unverified(self) -> int:
        """Lines of vendored libraries that no known copy has."""
        return sum(cell.unverified for cell in self.cells)


def code_schema() -> dict[str, Any]:
    """JSON Schema of `code.json`."""
    return msgspec.json.schema(CodeReview)
