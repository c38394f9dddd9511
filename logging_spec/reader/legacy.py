"""Reader from lines with a token, of the formats before 0.7, to records and faults."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from podium.logging_spec.limits import TOO_DEEP, any_too_deep, too_deep
from podium.logging_spec.reader import dialects
from podium.logging_spec.reader.log import Fault, Generation, LineFault, Log, text_of
from podium.logging_spec.reader.record import Record

_TOKENS = {"mll": b":::MLL", "mlpv": b":::MLPv", "alibaba": b"MLPerf: "}


def take_older(payloads: list[bytes], generation: Generation, log: Log, base: int) -> None:
    """Add records of 0.5 and 0.6: seconds become milliseconds, the 0.5 benchmark the namespace."""
    if generation == "mll" and _take_json_of_06(payloads, log):
        return
    if log.places is None:
        log.places = list(range(len(log.records)))
    parsers: dict[str, Callable[[str], dialects.Payload | None]] = {
        "mll": dialects.parse_v06,
        "mlpv": dialects.parse_v05,
        "alibaba": dialects.parse_alibaba,
    }
    parse = parsers[generation]
    for position, payload in enumerate(payloads, base):
        # The official reader uses the last of several tokens on a line.
        text = text_of(payload.rpartition(_TOKENS[generation])[2])
        # The blank is part of the token: without it the line has another format
        if generation == "mll" and text.startswith(" "):
            text = text[1:]
        elif generation == "mll":
            text = ""
        parsed = parse(text)
        # A strict line has a value: no need to decode it again to find out
        if parsed is None or (not parsed.strict and _is_ignored(generation, text)):
            _note(generation, text, position, log)
            continue
        if too_deep(text):
            message = f"{TOO_DEEP}; deeper values are not checked"
            log.faults.append(LineFault(Fault.DEEP, message, position, text[:80], recovered=True))
        record = Record(
            parsed.key, parsed.seconds * 1000, parsed.value, parsed.metadata, None, parsed.benchmark
        )
        if parsed.strict:
            log.records.append(record)
            log.places.append(position)
        else:
            message = "the record is not in the standard layout of its format"
            fault = LineFault(Fault.DIALECT, message, position, text[:80], recovered=True)
            log.faults.append(fault)
            log.lenient.append((position, record))


def _note(generation: Generation, text: str, position: int, log: Log) -> None:
    if generation == "alibaba":
        return  # free text of one submitter between its records: noise
    kind, message = Fault.JSON, "the record follows no known layout of its format"
    if _is_ignored(generation, text):
        kind, message = Fault.IGNORED, "the line has no value; the official reader ignores it"
    log.faults.append(LineFault(kind, message, position, text[:80]))


def _is_ignored(generation: Generation, text: str) -> bool:
    return generation == "mll" and dialects.ignored_v06(text)


class _Body(msgspec.Struct, frozen=True, gc=False):
    value: Any
    metadata: Any


_decode_body = msgspec.json.Decoder(_Body).decode
_MLL_LINES = re.compile(
    rb"^ ([0-9]+\.?[0-9]*) ([A-Za-z0-9_]+) ?: +(\{.*\})[ \t\r\f\v]*$", re.MULTILINE
)


def _take_json_of_06(payloads: list[bytes], log: Log) -> bool:
    """Read a block whose lines all have the standard 0.6 layout; False if one does not."""
    # If places are kept, every record needs one, which only the slow path provides
    matches = [] if log.places is not None else _MLL_LINES.findall(b"\n".join(payloads))
    if len(matches) != len(payloads) or any_too_deep(payloads):
        return False
    try:
        bodies = [_decode_body(body) for _, _, body in matches]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    log.records += [
        Record(key.decode(), float(seconds) * 1000, body.value, body.metadata)
        for (seconds, key, _), body in zip(matches, bodies, strict=True)
    ]
    return True
