"""A system description's text with something wrong in it, read on after each fault."""

from __future__ import annotations

import contextlib
import json
import re
from bisect import bisect_right
from typing import Any

from podium.compliance.systems.document import DUPLICATE, NOT_JSON, Document, TextFault

MOST_FAULTS = 20

_BLANK = re.compile(r"[ \t\n\r]*")
_NEXT_FIELD = re.compile(r'\n[ \t\r]*(?="(?:[^"\\\n]|\\.)*"\s*:)')
_COMMENT = re.compile(r"(?://|#)[^\n]*|/\*.*?\*/", re.DOTALL)


class _Stop(Exception):
    """Nothing more can be read."""


class Parser:
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
        """Read one field; whether a comma follows."""
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
            if not self.text.startswith(("/", "#"), self.at):
                return
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
