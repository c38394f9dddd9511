"""A system description's text read with the line of every field, going on after a fault."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import stat
from bisect import bisect_right
from pathlib import Path
from typing import Any

import msgspec

LARGEST = 8 << 20
"""A longer file is no system description, and is not read."""

MOST_FAULTS = 20

NOT_JSON, DUPLICATE, UNREADABLE = (
    "system.not-json",
    "system.duplicate-field",
    "system.unreadable",
)

_BLANK = re.compile(r"[ \t\n\r]*")
_NEXT_FIELD = re.compile(r'\n[ \t\r]*(?="(?:[^"\\\n]|\\.)*"\s*:)')
_PLAIN_FIELD = re.compile(
    r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*,[ \t\n\r]*(?=")'
)
"""A field whose name and value are texts without escapes, and the comma before the next field."""

_COMMENT = re.compile(r"(?://|#)[^\n]*|/\*.*?\*/", re.DOTALL)


class TextFault(msgspec.Struct, frozen=True):
    """Something wrong with the text itself. `official`: the official verifier fails on it."""

    id: str
    line: int | None
    message: str
    hint: str = ""
    official: bool = True
    key: str | None = None


class Document(msgspec.Struct):
    """What a file says. `lines` holds every key seen, also those whose value is unreadable."""

    fields: dict[str, Any] = msgspec.field(default_factory=dict)
    lines: dict[str, int] = msgspec.field(default_factory=dict)
    faults: list[TextFault] = msgspec.field(default_factory=list)
    is_object: bool = False

    @property
    def sound(self) -> bool:
        """Whether the official verifier can read the file."""
        return not any(fault.official for fault in self.faults)


def read_description(path: Path | str) -> Document:
    """Read a file; whatever is wrong with it is a fault of the document."""
    try:
        data = _bytes(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _only(UNREADABLE, None, f"the file cannot be read: {reason}", "check its place")
    if len(data) > LARGEST:
        said = f"the file is longer than {LARGEST >> 20} MiB: no system description"
        return _only(NOT_JSON, None, said, "keep one flat JSON object in it")
    return parse_description(data)


def _bytes(path: Path | str) -> bytes:
    """The file's first bytes; a pipe or a device is never waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        # To be asked for so much costs time, however little there is.
        return stream.read(LARGEST + 1 if status.st_size > LARGEST else -1)


def _only(rule: str, line: int | None, message: str, hint: str) -> Document:
    return Document(faults=[TextFault(rule, line, message, hint)])


def parse_description(data: bytes) -> Document:
    """Read the bytes of a description."""
    document = Document()
    text = _decode(data, document)
    _Parser(text, document).parse()
    return document


def _decode(data: bytes, document: Document) -> str:
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            said = "the file is UTF-16 text, and JSON must be UTF-8"
            document.faults.append(TextFault(NOT_JSON, 1, said, "save it as UTF-8"))
            return data.decode(name, "replace")
    if data.startswith(codecs.BOM_UTF8):
        said = "the file begins with a byte order mark, which JSON does not allow"
        document.faults.append(TextFault(NOT_JSON, 1, said, "save it as UTF-8 without a mark"))
        data = data[len(codecs.BOM_UTF8) :]
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        said = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        document.faults.append(TextFault(NOT_JSON, line, said, "save the file as UTF-8"))
        return data.decode("latin-1")


class _Stop(Exception):
    """Nothing more can be read."""


class _Parser:
    """Walks the top object field by field, so that each has a line and a fault ends only one."""

    def __init__(self, text: str, document: Document) -> None:
        self.text, self.document = text, document
        self.at = 0
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.constant = ""
        self.strict = json.JSONDecoder(parse_constant=self._constant)
        self.loose = json.JSONDecoder(parse_constant=self._constant, strict=False)

    def parse(self) -> None:
        with contextlib.suppress(_Stop):
            self.top()

    def top(self) -> None:
        self.blank()
        if self.at == len(self.text):
            self.fault(0, "the file is empty", "write one JSON object: podium system schema")
            return
        if self.text[self.at] != "{":
            self.other_top()
            return
        self.document.is_object = True
        self.at += 1
        self.fields()
        self.blank()
        if self.at < len(self.text):
            self.fault(self.at, "text follows the object's end", "keep one object in the file")

    def other_top(self) -> None:
        names: dict[type, str] = {list: "a list", str: "a string"}
        try:
            value, _ = self.strict.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.fault(error.pos, f"no JSON: {error.msg}", "write one JSON object")
        except (ValueError, RecursionError):
            self.fault(self.at, "the value is too deep or too long", "write one JSON object")
        else:
            what = names.get(type(value), "a single value")
            said = f"the file holds {what}, not an object with fields"
            self.fault(self.at, said, "write one JSON object, from { to }")

    def fields(self) -> None:
        separated = True
        while True:
            self.blank()
            char = self.text[self.at : self.at + 1]
            if char == "}":
                self.at += 1
                return
            if char == "":
                said = "the text ends before the object does"
                self.fault(len(self.text.rstrip()), said, "close the object with }")
                raise _Stop
            if char == ",":
                self.fault(self.at, "a comma without a field before it", "remove the comma")
                self.at += 1
            elif char == '"':
                if not separated:
                    self.fault(self.at, "no comma before this field", "put a comma between fields")
                separated = self.one()
            else:
                self.fault(self.at, "a field's name in double quotes must stand here")
                self.resume()

    def one(self) -> bool:
        """Read one field, and all plain ones before it; whether a comma follows."""
        self.plain()
        start = self.at
        try:
            key, self.at = self.loose.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            self.fault(error.pos, f"the field's name cannot be read: {error.msg}")
            self.resume()
            return True
        line = self.line(start)
        self.blank()
        if self.text[self.at : self.at + 1] != ":":
            self.fault(self.at, "no colon after the field's name", f"write {json.dumps(key)}: …")
            self.resume()
            return True
        self.at += 1
        self.blank()
        if not self.value(key, line):
            self.resume()
            return True
        self.blank()
        if self.text[self.at : self.at + 1] != ",":
            return False
        comma = self.at
        self.at += 1
        self.blank()
        if self.text[self.at : self.at + 1] == "}":
            self.fault(comma, "a comma after the last field", "remove the comma")
        return True

    def plain(self) -> None:
        """Read fields as long as they are plain and new: nearly all are, and have no fault."""
        lines, fields = self.document.lines, self.document.fields
        while (found := _PLAIN_FIELD.match(self.text, self.at)) and found[1] not in lines:
            lines[found[1]] = self.line(self.at)
            fields[found[1]] = found[2]
            self.at = found.end()

    def value(self, key: str, line: int) -> bool:
        """Read a field's value; False where it cannot be read."""
        document = self.document
        if key in document.lines:
            said = f"`{key}` is given again (first on line {document.lines[key]}): the last counts"
            self.add(TextFault(DUPLICATE, line, said, "keep one of them", False, key))
        document.lines[key] = line
        self.constant = ""
        try:
            document.fields[key], self.at = self.decoded()
        except json.JSONDecodeError as error:
            self.fault(error.pos, f"the value of `{key}` cannot be read: {error.msg}", key=key)
            return False
        except (ValueError, RecursionError):
            self.fault(self.at, f"the value of `{key}` is too deep or too long", key=key)
            return False
        if self.constant:
            said = f"`{key}` holds {self.constant}, which JSON does not have"
            self.add(TextFault(NOT_JSON, line, said, "write a number", False, key))
        return True

    def decoded(self) -> tuple[Any, int]:
        try:
            return self.strict.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                raise
            found = self.loose.raw_decode(self.text, self.at)
            hint = r"write line ends as \n, tabs as \t"
            self.fault(error.pos, "a line end or control character inside a string", hint)
            return found

    def _constant(self, name: str) -> float:
        self.constant = name
        return float(name)

    # --- places ---

    def blank(self) -> None:
        """Skip blanks, and comments with a fault for each."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return
            self.fault(self.at, "a comment, which JSON does not have", "use hw_notes or sw_notes")
            self.at = comment.end()

    def resume(self) -> None:
        """Go on at the next line that begins with a field."""
        match = _NEXT_FIELD.search(self.text, self.at)
        if match is None:
            raise _Stop
        self.at = match.end()

    def line(self, place: int) -> int:
        return bisect_right(self.starts, place)

    def fault(self, place: int, message: str, hint: str = "", key: str | None = None) -> None:
        line = self.line(place)
        column = place - self.starts[line - 1] + 1
        said = f"not valid JSON, line {line} column {column}: {message}"
        self.add(TextFault(NOT_JSON, line, said, hint, True, key))

    def add(self, fault: TextFault) -> None:
        self.document.faults.append(fault)
        if len(self.document.faults) >= MOST_FAULTS:
            raise _Stop
