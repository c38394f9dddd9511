"""Compare two JSON reports, or two folders of them, except for renamed ids and words.

    python benchmarks/compare_reports.py OLD NEW [--renames FILE] [--allow-new-citations]

Prints every difference and exits with status 1 if there are any. Findings are compared as a set,
since a renamed id may sort differently; all other lists are compared in order. Numbers are equal if
they are written the same way: 10 and 10.0 differ.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RENAMES = Path(__file__).with_name("renames.toml")

UNORDERED = {"findings"}
"""Members that are compared as sets."""

VERBATIM = {"path", "file", "actual", "submitter", "system"}
"""Members with strings of the user, which are never renamed."""

IDENTITY = ("id", "path", "line", "key", "actual")
"""Findings with equal values here are one finding with changed words, not two."""


@dataclass(frozen=True)
class Renames:
    """Equivalences: old to new ids and member names, and patterns of texts."""

    ids: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    texts: tuple[tuple[re.Pattern[str], str], ...] = ()

    def apply(self, value: Any, name: str = "") -> Any:
        """A JSON value with all renames applied."""
        if isinstance(value, dict):
            return {self.fields.get(k, k): self.apply(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.apply(entry, name) for entry in value]
        if not isinstance(value, str) or name in VERBATIM:
            return value
        return self._text(self.ids.get(value, value))

    def _text(self, text: str) -> str:
        for pattern, after in self.texts:
            text = pattern.sub(after, text)
        return text


def read_renames(path: Path) -> Renames:
    """The tables of a TOML file; raises ValueError for invalid TOML or a bad pattern."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        texts = tuple((re.compile(t["before"]), t["after"]) for t in tables.get("texts", ()))
    except re.error as error:
        raise ValueError(f"{path}: {error}: {error.pattern!r}") from error
    return Renames(tables.get("ids", {}), tables.get("fields", {}), texts)


def differences(old: Any, new: Any, renames: Renames, *, citations: bool = False) -> Iterator[str]:
    """Every difference as `PLACE: OLD -> NEW`; `citations`: an empty citation may be filled."""
    yield from _between(renames.apply(old), renames.apply(new), "", citations)


def _between(old: Any, new: Any, place: str, citations: bool) -> Iterator[str]:
    name = place.rpartition(".")[2]
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            inner = f"{place}.{key}" if place else key
            if key not in new:
                yield f"{inner}: only before: {_text(old[key])}"
            elif key not in old:
                yield f"{inner}: only after: {_text(new[key])}"
            else:
                yield from _between(old[key], new[key], inner, citations)
    elif isinstance(old, list) and isinstance(new, list) and name in UNORDERED:
        yield from _between_sets(old, new, place, citations)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _between(before, after, f"{place}[{index}]", citations)
    elif _text(old) != _text(new) and not (citations and name == "cites" and old == ""):
        yield f"{place}: {_text(old)} -> {_text(new)}"


def _between_sets(old: list[Any], new: list[Any], place: str, citations: bool) -> Iterator[str]:
    """Entries of one side only; for two entries about the same, their differences."""
    before, after = Counter(map(_text, old)), Counter(map(_text, new))
    gone, come = _by_identity(before - after), _by_identity(after - before)
    for identity in dict.fromkeys((*gone, *come)):
        left, right = gone.get(identity, []), come.get(identity, [])
        for one, other in zip(left, right, strict=False):
            yield from _between(one, other, f"{place}{identity}", citations)
        for entry in left[len(right) :]:
            yield f"{place}: only before: {_text(entry)}"
        for entry in right[len(left) :]:
            yield f"{place}: only after: {_text(entry)}"


def _by_identity(entries: Counter[str]) -> dict[str, list[Any]]:
    grouped = defaultdict(list)
    for text in sorted(entries.elements()):
        entry = json.loads(text)
        known = entry if isinstance(entry, dict) else {}
        grouped[_text([known.get(name) for name in IDENTITY])].append(entry)
    return grouped


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def pairs(old: Path, new: Path) -> Iterator[tuple[str, Path, Path]]:
    """The reports of each side by name: two files, or all `*.json` below two folders."""
    if not old.is_dir():
        yield new.name, old, new
        return
    found = {
        path.relative_to(side).as_posix() for side in (old, new) for path in side.rglob("*.json")
    }
    yield from ((name, old / name, new / name) for name in sorted(found))


def compare_files(old: Path, new: Path, renames: Renames, *, citations: bool) -> Iterator[str]:
    """The differences of two files; a file that is missing or invalid JSON is a difference."""
    if not old.is_file() or not new.is_file():
        yield "only after" if new.is_file() else "only before"
        return
    before, after = old.read_bytes(), new.read_bytes()
    if before == after:
        return
    try:
        values = json.loads(before), json.loads(after)
    except ValueError as error:
        yield f"not valid JSON on one side: {error}"
        return
    yield from differences(*values, renames, citations=citations)


def main() -> int:
    """Compare, print, and report the number of differing reports."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", type=Path, help="a report, or a folder of reports")
    parser.add_argument("new", type=Path, help="a later report, or folder of reports")
    parser.add_argument("--renames", type=Path, default=RENAMES, help="a TOML file")
    parser.add_argument(
        "--allow-new-citations", action="store_true", help="ignore `cites` that was empty"
    )
    asked = parser.parse_args()
    for path in (asked.old, asked.new):
        if not path.exists():
            parser.error(f"{path}: no such file or folder")
    if asked.old.is_dir() != asked.new.is_dir():
        parser.error("OLD and NEW must be two files or two folders")
    try:
        renames = read_renames(asked.renames)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    compared = differing = 0
    for name, old, new in pairs(asked.old, asked.new):
        found = list(compare_files(old, new, renames, citations=asked.allow_new_citations))
        compared, differing = compared + 1, differing + bool(found)
        for difference in found:
            print(f"{name}: {difference}")
    print(f"{compared} reports compared, {differing} differ")
    return 1 if differing or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
