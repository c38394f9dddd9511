"""Lines of 0.7 and later that the fast decoder refuses, read like in the official reader."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import msgspec

from podium.logging_spec.limits import (
    TOO_DEEP,
    TOO_LONG,
    shallow,
    too_deep,
    too_long,
)
from podium.logging_spec.reader.broken_json import broken_json, legible_key, not_json
from podium.logging_spec.reader.log import Fault, LineFault, Log, decode, text_of
from podium.logging_spec.reader.record import Record

LONGEST_LINE = 1 << 28
"""A line with more bytes than this is reported and not decoded."""

_TOKEN = b":::MLLOG "

_BLANKS = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0"
"""Characters that the official reader strips: whitespace of latin-1 text."""


def take_one_by_one(payloads: list[bytes], log: Log, base: int) -> None:
    """Add the records of a block to the log, and a fault for each line without one.

    `base` is the position in the log of the first line of the block with a token.
    """
    if log.places is None:
        log.places = list(range(len(log.records)))
    for position, payload in enumerate(payloads, base):
        record = _decoded(payload) or _examine(payload, position, log)
        if record is not None:
            log.records.append(record)
            log.places.append(position)


def _decoded(payload: bytes) -> Record | None:
    """The record of a line from the fast decoder; None if it must not or cannot decode it."""
    if not too_deep(payload):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            return decode(payload)
    return None


def _examine(payload: bytes, position: int, log: Log) -> Record | None:
    """The record of one line according to the official reader; faults go to the log."""
    if len(payload) > LONGEST_LINE:
        message = f"the line is longer than {LONGEST_LINE >> 20} MiB"
        log.faults.append(LineFault(Fault.LONG, message, position))
        return None
    # The official reader splits a line at its last token and loses an earlier record on it.
    *fragments, payload = payload.split(_TOKEN)
    if fragments:
        _take_glued(fragments, position, log)
    body = payload.strip(_BLANKS)
    text = text_of(body)
    if too_long(text):
        log.faults.append(not_json(body, TOO_LONG, position))
        return None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        fault, document = broken_json(body, error, position)
        log.faults.append(fault)
        lenient = None if document is None else _from_other_fields(document)
        if lenient is not None:
            log.lenient.append((position, lenient))
        return None
    # The official reader crashes here, too: Python's parser allows some thousand levels
    except RecursionError:
        log.faults.append(not_json(body, TOO_DEEP, position))
        return None
    if too_deep(text):
        document = shallow(document)
        message = f"{TOO_DEEP}; deeper values are not checked"
        log.faults.append(LineFault(Fault.DEEP, message, position, text[:80], recovered=True))
    return _record_of(document, body, position, log)


def _record_of(document: Any, body: bytes, position: int, log: Log) -> Record | None:
    excerpt = text_of(body[:80])

    def fault(kind: Fault, message: str, recovered: bool = False) -> None:
        key = legible_key(text_of(body))
        log.faults.append(LineFault(kind, message, position, excerpt, recovered, key))

    if not isinstance(document, dict):
        # The official reader treats a bare null as a line that it cannot parse.
        kind = Fault.JSON if document is None else Fault.OBJECT
        fault(kind, f"the record is a JSON {_json_type(document)}; must be an object")
        return None
    # It converts time_ms before it reads the other fields, and accepts a number in quotes.
    time_ms: Any = document.get("time_ms")
    try:
        time_ms = float(time_ms) if "time_ms" in document else 0.0
    except ValueError:
        fault(Fault.TIME, f'time_ms is "{time_ms!s:.60}"; must be a number of milliseconds')
        return None
    except (TypeError, OverflowError):
        # Unlike an invalid string, these crash the official reader: it does not collect such errors
        problem = f"a JSON {_json_type(time_ms)}" if not isinstance(time_ms, int) else "too large"
        if isinstance(document.get("key"), str):
            log.timeless.append((position, _without_time(document)))
        fault(Fault.MISSING, f"time_ms is {problem}; must be a number of milliseconds")
        return None
    missing = [name for name in ("time_ms", "key", "value", "metadata") if name not in document]
    if missing:
        lenient = _from_other_fields(document)
        if lenient is not None:
            log.lenient.append((position, lenient))
        elif "time_ms" in missing and isinstance(document.get("key"), str):
            log.timeless.append((position, _without_time(document)))
        fault(Fault.MISSING, f"the record lacks {', '.join(missing)}", lenient is not None)
        return None
    key = document["key"]
    if not isinstance(key, str):
        fault(Fault.KEY, f"key is a JSON {_json_type(key)}; must be a string")
        return None
    event_type, namespace = document.get("event_type"), document.get("namespace")
    return Record(key, time_ms, document["value"], document["metadata"], event_type, namespace)


def _from_other_fields(document: dict[str, Any]) -> Record | None:
    """A record of the 0.7 dialect with `time_s`, or a record without value or metadata."""
    key, time_ms = document.get("key"), document.get("time_ms")
    if time_ms is None and isinstance(document.get("time_s"), int | float):
        time_ms = document["time_s"] * 1000
    if not isinstance(key, str) or isinstance(time_ms, bool):
        return None
    if not isinstance(time_ms, int | float):
        return None
    return Record(key, time_ms, document.get("value"), document.get("metadata", {}))


def _without_time(document: dict[str, Any]) -> Record:
    return Record(document["key"], math.nan, document.get("value"), document.get("metadata", {}))


def _take_glued(fragments: list[bytes], position: int, log: Log) -> None:
    message = "several records are on this line; the official reader reads only the last"
    lost = [record for part in fragments if (record := _decoded(part.strip(_BLANKS))) is not None]
    log.lenient += [(position, record) for record in lost]
    key = lost[-1].key if lost else ""
    log.faults.append(LineFault(Fault.GLUED, message, position, recovered=bool(lost), key=key))


def _json_type(value: object) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list"}
    return "null" if value is None else names.get(type(value), "object")
