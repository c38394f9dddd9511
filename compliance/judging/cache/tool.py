"""Hashes of everything except a file that a cached result depends on: code, libraries, rules."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType
from typing import Any

import msgspec

from podium.compliance.version import VERSION
from podium.rules.model.round import DIVISIONS, Round, named_by_key

_PARTS = ("compliance", "logging_spec", "rules")
_NO_CODE = frozenset({"pages", "clauses", "__pycache__"})
_LIBRARIES = ("ahocorasick_rs-", "detect_secrets-", "msgspec-", "zstandard-")
"""The prefixes of the metadata folders of libraries that affect verdicts."""


@cache
def tool_digest() -> bytes:
    """A hash of podium's code and data, of Python and of the libraries that affect verdicts.

    Modules that contain only tables are excluded: a round's hash includes their values.
    """
    hashed = hashlib.blake2b(digest_size=16)
    hashed.update(repr((VERSION, sys.version, sys.hash_info, sys.platform)).encode())
    for path in _sources():
        content = path.read_bytes()
        if not _is_table(path, content):
            hashed.update(b"%d " % len(content))
            hashed.update(content)
    for name in sorted(_libraries()):
        hashed.update(name.encode("utf-8", "surrogateescape"))
    return hashed.digest()


def _sources() -> Iterator[Path]:
    # The installed package, or the links of a checkout
    top = Path(__file__).parents[3]
    for part in _PARTS:
        for folder, folders, names in os.walk(top / part):
            folders[:] = sorted(set(folders) - _NO_CODE)
            yield from (Path(folder, n) for n in sorted(names) if n.endswith((".py", ".json")))


def _is_table(path: Path, content: bytes) -> bool:
    tabled = path.parent.name in ("training", "hpc", "benchmarks") and path.suffix == ".py"
    return tabled and b"def " not in content and b"lambda" not in content


def _libraries() -> Iterator[str]:
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        # An entry may be an archive, or be missing
        except OSError:
            continue
        yield from (name for name in names if name.startswith(_LIBRARIES))


# --- rules ----------------------------------------------------------------------------------------


class LogScope(msgspec.Struct, frozen=True, array_like=True):
    """The benchmarks and divisions in a log; `known`: nothing else determines them.

    They determine the rules that apply to the log.
    """

    benchmarks: tuple[str, ...] = ()
    divisions: tuple[str, ...] = ()
    known: bool = True


class RoundDigests:
    """Hashes of the rules for a log, from the parts of a round; each is computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], bytes] = {}

    def of(self, rules: Round, scope: LogScope) -> bytes:
        """A hash of the rules of a round that apply to a log; other rules do not change it.

        Raises TypeError if a rule contains something without a hash.
        """
        benchmarks = [rules.benchmarks.get(name) for name in scope.benchmarks]
        divisions = [division for division in DIVISIONS if division in scope.divisions]
        if not divisions or len(divisions) < len({*scope.divisions}):
            divisions = [*DIVISIONS]
        parts = [self._part(rules, "common", lambda: _common(rules))]
        parts += [
            self._part(rules, division, partial(_of, rules, division)) for division in divisions
        ]
        named_by_key_alone = scope.known and rules.named_by is named_by_key
        if named_by_key_alone and benchmarks and None not in benchmarks:
            for name, benchmark in zip(scope.benchmarks, benchmarks, strict=True):
                parts.append(self._part(rules, f"benchmark {name}", partial(_same, benchmark)))
        else:
            parts.append(self._part(rules, "all", lambda: _all(rules)))
        return b"".join(parts)

    def _part(self, rules: Round, name: str, values: Callable[[], Any]) -> bytes:
        key = (rules.usage, rules.name, name)
        if key not in self._known:
            self._known[key] = value_digest(values())
        return self._known[key]


_APART = frozenset({"benchmarks", "previous", "checks", "package", "package_only", *DIVISIONS})
_OF_CHECK = ("id", "find", "key", "severity", "stated_by", "cites", "divisions", "by_benchmark")
"""The fields of a check that affect a verdict; the others are for its page."""


def _common(rules: Round) -> Any:
    fields = [getattr(rules, name) for name in rules.__struct_fields__ if name not in _APART]
    return [fields, [*rules.benchmarks], _checks(rules, "")]


def _of(rules: Round, division: str) -> Any:
    return [getattr(rules, division), _checks(rules, division)]


def _checks(rules: Round, division: str) -> Any:
    """The checks for one division only, or the checks for any division."""
    checks = (c for c in rules.checks if (division in c.divisions if division else not c.divisions))
    return [[getattr(check, name) for name in _OF_CHECK] for check in checks]


def _all(rules: Round) -> Any:
    # A name that the round does not have is looked up in all earlier rounds
    return [[ancestor.benchmarks, ancestor.package_only] for ancestor in rules.chain()]


def _same(value: Any) -> Any:
    return value


def value_digest(value: Any) -> bytes:
    """A hash of a value in rules, the same in any process; functions are hashed by their code.

    Raises TypeError for a value without a hash: results that depend on it cannot be cached.
    """
    pieces: list[bytes] = []
    _add(value, pieces)
    return hashlib.blake2b(b"".join(pieces), digest_size=16).digest()


def _add(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, str | bytes | int | float | complex | None | EllipsisType):
        parts.append(f"{type(value).__name__} {value!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, msgspec.Struct):
        parts.append(f"<{type(value).__module__}.{type(value).__qualname__} ".encode())
        _add_each([getattr(value, name) for name in value.__struct_fields__], parts)
    elif isinstance(value, Mapping):
        _add_each([part for pair in value.items() for part in pair], parts)
    elif isinstance(value, frozenset | set):
        # Their order differs between processes
        _add_each(sorted(map(value_digest, value)), parts)
    elif isinstance(value, tuple | list):
        _add_each(value, parts)
    elif isinstance(value, slice):  # a constant of code from Python 3.14 on
        _add_each([value.start, value.stop, value.step], parts)
    elif isinstance(value, CodeType):
        _add_each([value.co_code, value.co_names, value.co_consts], parts)
    else:
        _add_callable(value, parts)


def _add_each(values: Sequence[Any], parts: list[bytes]) -> None:
    parts.append(b"%d[" % len(values))
    for value in values:
        _add(value, parts)


def _add_callable(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        identity = (value.__module__, value.__qualname__)
        _add_each([*identity, value.__defaults__, cells, value.__code__], parts)
    elif isinstance(value, partial):
        _add_each([value.func, value.args, value.keywords], parts)
    # Their code is in a module of podium, of Python or of a library
    elif isinstance(value, type | BuiltinFunctionType):
        parts.append(f"{value.__module__}.{value.__qualname__};".encode())
    elif isinstance(value, re.Pattern):
        _add_each([value.pattern, value.flags], parts)
    else:
        raise TypeError(f"{type(value).__qualname__} has no stable hash")
