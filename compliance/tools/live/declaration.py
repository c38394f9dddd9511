"""Declared hyperparameters: a JSON, TOML or YAML mapping, or a dry log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.files.given import read_given
from podium.logging_spec import keys as k
from podium.logging_spec.limits import (
    DEEPEST,
    TOO_DEEP,
    TOO_LONG,
    BeyondLimitError,
    read_json,
    read_toml,
    refuse_deep,
    too_long,
)
from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record

LARGEST = 64 << 20
"""Maximum bytes; a dry log may be as long as a complete log."""

_TOKENS = (b":::MLLOG", b":::MLL ", b":::MLPv")


@dataclass(slots=True)
class Declaration:
    """The declared keys with their values, in order, and the names that are not keys.

    `records` and `lines` are those of a dry log; a mapping has none: its order is arbitrary.
    """

    values: dict[str, Any] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    @property
    def misspelt(self) -> dict[str, str]:
        """Names that look like a key, with that key."""
        nearest_keys = {name: k.nearest(name) for name in self.others}
        return {name: key.name for name, key in nearest_keys.items() if key is not None}


def read_declaration(path: Path) -> Declaration:
    """Read a file; raises ComplianceError if it is neither a mapping nor a log."""
    try:
        data = read_given(path, LARGEST + 1)
    except OSError as error:
        raise NothingToJudge(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise UsageFault(f"{path} is larger than {LARGEST >> 20} MiB")
    # By content, because logs may have any name
    if any(token in data for token in _TOKENS):
        return _of_log(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageFault(f"{path} is not UTF-8 text") from None
    declaration = Declaration()
    for name, value in _leaves(_mapping(path, text)):
        if k.known(name) is None:
            declaration.others.append(name)
        else:
            declaration.values[name] = value
    return declaration


def _of_log(data: bytes) -> Declaration:
    log = parse_log(data)
    declaration = Declaration(records=log.records)
    declaration.lines = [log.line(index) for index in range(len(log.records))]
    for record in log.records:
        # The first value represents a key; repeats are judged as records
        declaration.values.setdefault(record.key, record.value)
    declaration.others = [name for name in declaration.values if k.known(name) is None]
    return declaration


def _leaves(members: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values at any depth; a group with the name of a key is its value."""
    for name, value in members.items():
        if isinstance(value, dict) and k.known(name) is None:
            yield from _leaves(value)
        else:
            yield name, value


def _mapping(path: Path, text: str) -> dict[str, Any]:
    suffix = path.suffix.lower()
    try:
        if suffix == ".json" or (suffix not in (".toml", ".yaml", ".yml") and text[:1] == "{"):
            document = read_json(text)
        elif suffix == ".toml":
            document = read_toml(text)
        else:
            if too_long(text):
                raise BeyondLimitError(TOO_LONG)
            document = parse_yaml(text)
            refuse_deep(document)
    except ValueError as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise UsageFault(f"{path} is not a mapping of keys to values")
    return document


# --- the subset of YAML that is read ---

_ENTRY = re.compile(r"""^(\s*)(?:"([^"]+)"|'([^']+)'|([^\s"'#\-\[{][^:]*?))\s*:(?:\s+(.*))?$""")
_ITEM = re.compile(r"^(\s*)-\s+(.*)$")
# 1e-4 is a number here, as in learning rates; in YAML 1.1 it is a string
_NUMBER = re.compile(r"^[+-]?(\d[\d_]*)?(\.\d[\d_]*|\d\.)?([eE][+-]?\d+)?$")
# yes, no, on and off are strings, as in YAML 1.2
_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}


def parse_yaml(text: str) -> dict[str, Any]:
    """Mappings by indentation, lists of plain values, and values on one line.

    Raises ValueError for other features: anchors, tags, text blocks, lists of mappings.
    """
    root: dict[str, Any] = {}
    open_: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    last: tuple[int, dict[str, Any], str] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw)
        if not line.strip() or line.strip() == "---":
            continue
        if item := _ITEM.match(line):
            _append(last, item, number)
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            raise ValueError(f"line {number} is not `key: value`")
        indent, name = len(entry[1]), entry[2] or entry[3] or entry[4]
        while indent <= open_[-1][0]:
            open_.pop()
        if last is not None and last[0] < indent and last[1][last[2]] is None:
            inner: dict[str, Any] = {}
            last[1][last[2]] = inner
            open_.append((last[0], inner))
        members = open_[-1][1]
        members[name] = _scalar(entry[5] or "", number)
        last = (indent, members, name)
    return root


def _append(last: tuple[int, dict[str, Any], str] | None, item: re.Match[str], number: int) -> None:
    if last is None or not (last[1][last[2]] is None or isinstance(last[1][last[2]], list)):
        raise ValueError(f"line {number} is an item outside a list")
    if _ENTRY.match(item[2]):
        raise ValueError(f"line {number} is a mapping in a list, which is not supported")
    items = last[1][last[2]] or []
    last[1][last[2]] = [*items, _scalar(item[2], number)]


def _without_comment(line: str) -> str:
    quoted = ""
    for index, char in enumerate(line):
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "\"'":
            quoted = char
        elif char == "#" and (index == 0 or line[index - 1] in " \t"):
            return line[:index].rstrip()
    return line.rstrip()


def _scalar(text: str, number: int, levels: int = DEEPEST) -> Any:
    if not levels:
        raise BeyondLimitError(TOO_DEEP)
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "|>&*!%@`":
        raise ValueError(f"line {number} starts a value with {text[0]}, which is not supported")
    if text[0] == text[-1] and text[0] in "\"'" and len(text) > 1:
        return read_json(text) if text[0] == '"' else text[1:-1].replace("''", "'")
    if text[0] == "[" and text[-1] == "]":
        inner = text[1:-1].strip()
        return [_scalar(part, number, levels - 1) for part in inner.split(",")] if inner else []
    if any(char.isdigit() for char in text) and _NUMBER.match(text):
        plain = text.replace("_", "")
        return int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    return text
