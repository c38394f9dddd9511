"""A parser of faulty system descriptions that continues after each error."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from podium.compliance.judging.systems.document import Document, TextFault, syntax_fault
from podium.compliance.judging.systems.system_rules import DUPLICATE_FIELD, NOT_JSON
from podium.logging_spec.limits import (
    TOO_DEEP,
    TOO_LONG,
    BeyondLimitError,
    read_json,
    shallow,
    syntax_problem,
    too_deep,
    too_long,
    value_end,
)

# A text that is not JSON at all would give an error on each of its lines
MOST_FAULTS = 20

FLAT = "give each field one short value"
QUOTE = "put names and strings in double quotes"

_BLANK = re.compile(r"[ \t\n\r]*")
# Only at the start of a line: inside a broken string anything may look like a field
_NEXT_FIELD = re.compile(r'\n[ \t\r]*(?="(?:[^"\\\n]|\\.)*"\s*:)')
_COMMENT = re.compile(r"(?://|#)[^\n]*|/\*.*?\*/", re.DOTALL)


class _Stop(Exception):
    """Nothing more can be read."""


class Parser:
    """Reads the top object field by field: each gets its line, and an error ends only one field."""

    def __init__(self, text: str, document: Document) -> None:
        self.text, self.document = text, document
        self.at = 0
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.constant = ""
        self.deep = False
        self.strict = json.JSONDecoder(parse_constant=self._constant)
        # A raw newline inside a string must not hide the fields after it
        self.loose = json.JSONDecoder(parse_constant=self._constant, strict=False)

    def parse(self) -> None:
        try:
            self.top()
        except _Stop:
            self.document.cut = True

    def top(self) -> None:
        self.blank()
        if self.at == len(self.text):
            self.fault(0, "the file is empty", "`podium system schema` prints the required fields")
            return
        if self.text[self.at] != "{":
            self.other_top()
            return
        self.document.is_object = True
        self.at += 1
        self.fields()
        self.blank()
        if self.at < len(self.text):
            self.fault(self.at, "text after the end of the object", "keep one object in the file")

    def other_top(self) -> None:
        names: dict[type, str] = {list: "a list", str: "a string"}
        try:
            value = read_json(self.text[self.at :], self.strict.raw_decode)[0]
        except json.JSONDecodeError as error:
            self.fault(self.at + error.pos, syntax_problem(error), "begin with { and end with }")
        except BeyondLimitError as error:
            self.fault(self.at, str(error), FLAT)
        else:
            kind = names.get(type(value), "a single value")
            problem = f"the file contains {kind}; expected an object with fields"
            self.fault(self.at, problem, "begin with { and end with }")

    def fields(self) -> None:
        separated = True
        while True:
            self.blank()
            char = self.text[self.at : self.at + 1]
            if char == "}":
                self.at += 1
                return
            if char == "":
                problem = "the text ends before the end of the object"
                self.fault(len(self.text.rstrip()), problem, "close the object with }")
                raise _Stop
            if char == ",":
                self.fault(self.at, "a comma without a field before it", "remove the comma")
                self.at += 1
            elif char == '"':
                if not separated:
                    self.fault(self.at, "no comma before this field", "put a comma between fields")
                separated = self.one()
            else:
                self.fault(self.at, "expected a field's name in double quotes", QUOTE)
                self.resume()

    def one(self) -> bool:
        """Read one field. Return whether a comma follows."""
        start = self.at
        try:
            key, self.at = self.loose.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            problem = f"the field's name cannot be read: {syntax_problem(error)}"
            self.fault(error.pos, problem, QUOTE)
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
        """Read a field's value. Return False if it cannot be read."""
        document = self.document
        if key in document.lines:
            details = {"field": key, "first": document.lines[key]}
            # Python's json uses the last of two equal names, so the verifier notices nothing
            self.add(TextFault(DUPLICATE_FIELD, line, details, official=False, key=key))
        # Noted before the value is read: a field with an unreadable value is not missing
        document.lines[key] = line
        self.constant = ""
        try:
            document.fields[key], self.at = self.decoded()
        except json.JSONDecodeError as error:
            problem = f"the value of `{key}` cannot be read: {syntax_problem(error)}"
            self.fault(error.pos, problem, QUOTE, key)
            return False
        except BeyondLimitError as error:
            self.fault(self.at, f"the value of `{key}` cannot be read: {error}", FLAT, key)
            return False
        if self.deep:
            # The official verifier reads up to the limit of Python's parser
            problem = f"`{key}`: {TOO_DEEP}"
            details = {"where": "", "problem": problem, "fix": FLAT}
            self.add(TextFault(NOT_JSON, line, details, official=False, key=key))
        if self.constant:
            # The official verifier reads with Python's parser, which accepts NaN and Infinity.
            problem = f"`{key}` is {self.constant}, which JSON does not allow"
            details = {"where": "", "problem": problem, "fix": "write a number"}
            self.add(TextFault(NOT_JSON, line, details, official=False, key=key))
        return True

    def decoded(self) -> tuple[Any, int]:
        """The value that begins here, truncated if it is too deep, and its end."""
        text = self.text[self.at : value_end(self.text, self.at)]
        if too_long(text):
            raise BeyondLimitError(TOO_LONG)
        self.deep = too_deep(text)
        if not self.deep:
            return self.at_once()
        try:
            value, end = self.at_once()
        except RecursionError:
            raise BeyondLimitError(TOO_DEEP) from None
        return shallow(value), end

    def at_once(self) -> tuple[Any, int]:
        try:
            return self.strict.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                raise
            decoded = self.loose.raw_decode(self.text, self.at)
            hint = r"write newlines as \n, tabs as \t"
            self.fault(error.pos, "a newline or control character inside a string", hint)
            return decoded

    def _constant(self, name: str) -> float:
        self.constant = name
        return float(name)

    # --- positions ---

    def blank(self) -> None:
        """Skip blanks and comments; each comment is an error."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if not self.text.startswith(("/", "#"), self.at):
                return
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return
            self.fault(self.at, "a comment, which JSON does not allow", "use hw_notes or sw_notes")
            self.at = comment.end()

    def resume(self) -> None:
        """Continue at the next line that begins with a field."""
        match = _NEXT_FIELD.search(self.text, self.at)
        if match is None:
            raise _Stop
        self.at = match.end()

    def line(self, position: int) -> int:
        return bisect_right(self.starts, position)

    def fault(self, position: int, problem: str, fix: str, key: str | None = None) -> None:
        line = self.line(position)
        location = f", line {line} column {position - self.starts[line - 1] + 1}"
        self.add(syntax_fault(line, problem, fix, where=location, key=key))

    def add(self, fault: TextFault) -> None:
        self.document.faults.append(fault)
        if len(self.document.faults) >= MOST_FAULTS:
            raise _Stop
