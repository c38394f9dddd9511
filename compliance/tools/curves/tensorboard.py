"""Event files of TensorBoard: scalars by tag, without TensorFlow.

A file is a row of records: length (8 bytes, little end first), its checksum (4), the record, its
checksum (4). Fields by number, of tensorflow/core/util/event.proto and its neighbours: Event 1 wall
time, 2 step, 5 summary; Summary 1 value; Value 1 tag, 2 a plain number, 8 a tensor; TensorProto 1
type, 4 content, 5 floats, 6 doubles. Newer writers store scalars as tensors of one number.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator

from podium.compliance.tools.curves.model import BadRecording, Point
from podium.logging_spec.reader.protobuf import fields, whole

WALL_TIME, STEP, SUMMARY = 1, 2, 5
VALUE, TAG, PLAIN, TENSOR = 1, 1, 2, 8
TYPE, CONTENT, FLOATS, DOUBLES = 1, 4, 5, 6
FLOAT, DOUBLE = 1, 2

FRAME = 16
"""Bytes of a record's length and checksums."""


def read_events(data: bytes) -> dict[str, list[Point]]:
    """The scalars of an event file by tag; what a run that was killed has cut off is left out.

    Raises BadRecording for what is no event file.
    """
    found: dict[str, list[Point]] = defaultdict(list)
    try:
        for record in _records(data):
            event = dict(fields(record))
            if SUMMARY not in event:
                continue
            time = struct.unpack("<d", event[WALL_TIME])[0] if WALL_TIME in event else None
            step = whole(event[STEP]) if STEP in event else 0
            for tag, value in _scalars(event[SUMMARY]):
                found[tag].append(Point(step, time, value))
    except (ValueError, struct.error) as error:
        raise BadRecording(f"is no event file of TensorBoard: {error}") from None
    return found


def _records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + FRAME <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if at + FRAME + length > len(data):
            if at == 0:
                raise ValueError("its first record is longer than the file")
            return
        yield data[at + 12 : at + 12 + length]
        at += FRAME + length


def _scalars(summary: bytes) -> Iterator[tuple[str, float]]:
    for number, value in fields(summary):
        if number != VALUE:
            continue
        parts = dict(fields(value))
        tag = parts.get(TAG, b"").decode("utf-8", "replace")
        if PLAIN in parts:
            yield tag, struct.unpack("<f", parts[PLAIN])[0]
        elif TENSOR in parts and (scalar := _of_tensor(parts[TENSOR])) is not None:
            yield tag, scalar


def _of_tensor(message: bytes) -> float | None:
    """The number of a tensor that has just one; None for text, pictures and larger tensors."""
    parts = dict(fields(message))
    kind = whole(parts[TYPE]) if TYPE in parts else 0
    for name, form, wanted in (("<f", FLOATS, FLOAT), ("<d", DOUBLES, DOUBLE)):
        held = parts.get(CONTENT) or parts.get(form) or b""
        if kind == wanted and len(held) == struct.calcsize(name):
            number: float = struct.unpack(name, held)[0]
            return number
    return None
