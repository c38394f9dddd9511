"""Conversion of a record to a line: checks the value, finds the call site, formats the text."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from podium.logging_spec import keys
from podium.logging_spec.emitter.values import (
    UnloggableValueError,
    encoder,
    exact_types,
    fitted,
    plain,
    quote,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from podium.logging_spec.keys import Key

_strict: Final = encoder(plain, nonfinite=False)
_with_words: Final = encoder(plain, nonfinite=True)

# Frames of these files are skipped: the call site of a record is in the logging program.
_FOLDER: Final = os.path.dirname(__file__)
_OWN_FILES: Final = frozenset(
    os.path.join(_FOLDER, name) for name in ("emit.py", "intervals.py", "lines.py")
)


_MANY: Final = 1000
"""Maximum number of cached keys or files: a program may create names without limit."""


class _Field:
    """Values computed once for each key: its standard key and its part of the line."""

    __slots__ = ("exact", "key", "text")

    def __init__(self, kind: str, name: str) -> None:
        self.key = keys.known(name)
        self.exact = exact_types(self.key)
        self.text = f', "event_type": "{kind}", "key": {quote(name)}, "value": '


def now_ms() -> int:
    """Wall clock, milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class LineOptions(TypedDict, total=False):
    """Options for the lines of a log; `Lines` has the defaults."""

    clock: Callable[[], int]
    namespace: str
    call_sites: bool
    stack_offset: int
    root_dir: str | None
    errors: Literal["raise", "note"]
    nonfinite: Literal["refuse", "words"]


class Lines:
    """Makes the lines of one log."""

    def __init__(
        self,
        *,
        clock: Callable[[], int] = now_ms,
        namespace: str = "",
        call_sites: bool = True,
        stack_offset: int = 0,
        root_dir: str | None = None,
        errors: Literal["raise", "note"] = "raise",
        nonfinite: Literal["refuse", "words"] = "refuse",
    ) -> None:
        self._clock = clock
        self._last = 0
        self._begin = f':::MLLOG {{"namespace": {quote(namespace)}, "time_ms": '
        self._call_sites = call_sites
        self._stack_offset = stack_offset
        self._root = None if root_dir is None else f"{root_dir}/"
        self._errors = errors
        self._encode = _with_words if nonfinite == "words" else _strict
        self._fields: dict[str, dict[str, _Field]] = {kind: {} for kind in keys.EVENT_TYPES}
        self._files: dict[str, str] = {}

    def line(
        self,
        kind: str,
        key: Key | str,
        value: Any,
        metadata: Mapping[str, Any] | None,
        time_ms: int | None,
    ) -> str | None:
        """The line of a record, or None if its value was reported as unloggable."""
        if time_ms is None:
            time_ms = self._clock()
            if time_ms < self._last:  # the wall clock was set back; record times must not decrease
                time_ms = self._last
            self._last = time_ms
        name = key if isinstance(key, str) else key.name
        field = self._fields[kind].get(name) or self._new_field(kind, name)
        try:
            # Exact types, because isinstance accepts True as an int
            if type(value) not in field.exact:
                value = fitted(field.key, value)
            text = "null" if value is None else self._encode(value)
            metadata_text = self._metadata(metadata)
        except Exception as error:
            texts = self._unloggable(name, value, metadata, error)
            if texts is None:
                return None
            text, metadata_text = texts
        # The order of fields and the separators are as in the official emitter
        return f'{self._begin}{time_ms}{field.text}{text}, "metadata": {metadata_text}}}\n'

    def _metadata(self, metadata: Mapping[str, Any] | None) -> str:
        if not self._call_sites:
            if not metadata:
                return "{}"
            return self._encode(metadata if type(metadata) is dict else dict(metadata))
        frame = self._caller()
        path = frame.f_code.co_filename
        file = self._files.get(path) or self._new_file(path)
        if not metadata:
            return f'{{"file": {file}, "lineno": {frame.f_lineno}}}'
        # A call site in the metadata replaces the one found, as in the official emitter
        if "file" in metadata or "lineno" in metadata:
            return self._encode(
                {"file": self._display_path(path), "lineno": frame.f_lineno, **metadata}
            )
        members = self._encode(metadata if type(metadata) is dict else dict(metadata))
        # Without the first brace of `members`: the object begins with the call site
        return f'{{"file": {file}, "lineno": {frame.f_lineno}, {members[1:]}'

    def _caller(self) -> FrameType:
        frame = sys._getframe(1)
        while frame.f_code.co_filename in _OWN_FILES and frame.f_back is not None:
            frame = frame.f_back
        for _ in range(self._stack_offset):
            frame = frame.f_back or frame
        return frame

    def _new_field(self, kind: str, name: str) -> _Field:
        look_for_misspelling(name)
        fields = self._fields[kind]
        if len(fields) > _MANY:
            fields.clear()
        field = fields[name] = _Field(kind, name)
        return field

    def _new_file(self, path: str) -> str:
        if len(self._files) > _MANY:
            self._files.clear()
        text = self._files[path] = quote(self._display_path(path))
        return text

    def _display_path(self, path: str) -> str:
        if self._root is not None and path.startswith(self._root):
            return path[len(self._root) :]
        return path

    def _unloggable(
        self, name: str, value: Any, metadata: Mapping[str, Any] | None, error: Exception
    ) -> tuple[str, str] | None:
        """Raise an error with key and call site, or note it and return the texts, if any."""
        frame = self._caller()
        reason = str(error)
        if not isinstance(error, UnloggableValueError) and _holds_nonfinite(value, metadata):
            reason = (
                "NaN or Infinity; stop the run as aborted, or allow them with nonfinite='words'"
            )
        message = f"{name}: {reason} ({frame.f_code.co_filename}:{frame.f_lineno})"
        if self._errors == "raise":
            raise UnloggableValueError(message) from error
        note(message)
        try:
            return self._encode(value), self._metadata(metadata)
        except Exception:
            return None


def _holds_nonfinite(value: Any, metadata: Any) -> bool:
    try:
        _with_words([value, metadata])
    except Exception:
        return False
    return True


def look_for_misspelling(name: str) -> None:
    """Warn about a name that is not a key but looks like a misspelled one."""
    key = keys.nearest(name)
    if key is not None:
        note(f"{name} is not a standard key; did you mean {key.name}?")


def note(message: str) -> None:
    """Warn the user through the logging setup of the program (stderr without one)."""
    import logging

    logging.getLogger("logging_spec").warning(message)
