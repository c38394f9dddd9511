"""Files of experiment trackers, read without their libraries: the logged values by name.

An event file of TensorBoard is a sequence of records: length (8 bytes, little-endian), its checksum
(4), the record, its checksum (4). Fields by number, of tensorflow/core/util/event.proto and its
neighbors: Event 1 wall time, 2 step, 5 summary; Summary 1 value; Value 1 tag, 2 a plain number, 8 a
tensor; TensorProto 1 type, 4 content, 5 floats, 6 doubles. Newer writers store scalars as tensors
of one number.

An offline run of Weights & Biases (`run-ID.wandb`) is a header of 7 bytes (`:W&B`, a number, a
version) and records in the framing of LevelDB's log: blocks of 32768 bytes, in which each piece has
its checksum (4 bytes), length (2), and kind (1 whole, 2 first, 3 middle, 4 last). Fields by number,
of wandb_internal.proto: Record 2 history; HistoryRecord 1 item, 2 step; HistoryItem 1 key, 2 nested
key, 16 value as JSON; HistoryStep 1 number.

The readers bound the cost of a file, and need neither TensorFlow nor wandb with their
dependencies.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from podium.logging_spec.limits import read_json
from podium.logging_spec.reader.protobuf import fields, whole

Source = Literal["log", "tensorboard", "wandb"]


class Point(NamedTuple):
    """The training progress in the curve's unit, the seconds since 1970, and the value."""

    at: float
    time: float | None
    value: float


class Curve(NamedTuple):
    """One quantity over a run, in the order of the file.

    `unit` is the unit of `at` of its points: a member of the log's metadata, or `step`.
    """

    path: str
    source: Source
    name: str
    unit: str
    points: tuple[Point, ...]


class BadRecording(Exception):
    """An unreadable tracker file; the message has the reason, without the file name."""


MAGIC = b":W&B"
HEADER, BLOCK, PIECE = 7, 32768, 7
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
HISTORY, ITEM, STEP, NUMBER = 2, 1, 2, 1
KEY, NESTED, JSON = 1, 2, 16

TIME = "_timestamp"
"""The field that the library adds to each row: seconds since 1970."""


def read_run(data: bytes, counted_by: str = "") -> dict[str, list[Point]]:
    """The numbers of a run's history by name; a truncated end of a killed run is ignored.

    `counted_by` names the logged number with the training progress; default the library's step.
    Raises BadRecording for other files.
    """
    if not data.startswith(MAGIC):
        raise BadRecording("is not an offline run of Weights & Biases")
    points: dict[str, list[Point]] = defaultdict(list)
    try:
        for record in _records(data):
            for number, message in fields(record):
                if number == HISTORY:
                    step, row = _row(message)
                    position = row.get(counted_by) if counted_by else step
                    if position is None:
                        continue
                    for name, value in row.items():
                        if not name.startswith("_") and name != counted_by:
                            points[name].append(Point(position, row.get(TIME), value))
    except (ValueError, struct.error) as error:
        raise BadRecording(f"is a damaged offline run of Weights & Biases: {error}") from None
    return points


def _records(data: bytes) -> Iterator[bytes]:
    offset, record = HEADER, b""
    while offset + PIECE <= len(data):
        remaining = BLOCK - offset % BLOCK
        if remaining < PIECE:  # too short for a piece: padding
            offset += remaining
            continue
        _, length, kind = struct.unpack_from("<IHB", data, offset)
        piece = data[offset + PIECE : offset + PIECE + length]
        if len(piece) < length:
            return
        offset += PIECE + length
        if kind not in (WHOLE, FIRST, MIDDLE, LAST):
            raise ValueError(f"a piece is of kind {kind}")
        record = piece if kind in (WHOLE, FIRST) else record + piece
        if kind in (WHOLE, LAST):
            yield record


def _row(message: bytes) -> tuple[float | None, Mapping[str, float]]:
    """The library's step and the numbers of one row."""
    step: float | None = None
    row: dict[str, float] = {}
    for number, part in fields(message):
        if number == STEP:
            item = dict(fields(part))
            step = whole(item[NUMBER]) if NUMBER in item else 0
        elif number == ITEM:
            name, value = _item(part)
            if value is not None:
                row[name] = value
    if step is None:
        step = row.get("_step")
    return step, row


def _item(message: bytes) -> tuple[str, float | None]:
    names, text = [], b"null"
    for number, part in fields(message):
        if number in (KEY, NESTED):
            names.append(part.decode("utf-8", "replace"))
        elif number == JSON:
            text = part
    return ".".join(names), _number(text)


def _number(text: bytes) -> float | None:
    try:
        value = read_json(text)
        return float(value) if type(value) in (int, float) else None
    except (ValueError, OverflowError):  # a value that cannot be drawn is not a fault of the file
        return None


WALL_TIME, EVENT_STEP, SUMMARY = 1, 2, 5
VALUE, TAG, PLAIN, TENSOR = 1, 1, 2, 8
TYPE, CONTENT, FLOATS, DOUBLES = 1, 4, 5, 6
FLOAT, DOUBLE = 1, 2

FRAME = 16
"""The bytes of a record's length and checksums."""


def read_events(data: bytes) -> dict[str, list[Point]]:
    """The scalars of an event file by tag; a truncated end of a killed run is ignored.

    Raises BadRecording for other files.
    """
    points: dict[str, list[Point]] = defaultdict(list)
    try:
        for record in _events(data):
            event = dict(fields(record))
            if SUMMARY not in event:
                continue
            time = struct.unpack("<d", event[WALL_TIME])[0] if WALL_TIME in event else None
            step = whole(event[EVENT_STEP]) if EVENT_STEP in event else 0
            for tag, value in _scalars(event[SUMMARY]):
                points[tag].append(Point(step, time, value))
    except (ValueError, struct.error) as error:
        raise BadRecording(f"is not an event file of TensorBoard: {error}") from None
    return points


def _events(data: bytes) -> Iterator[bytes]:
    offset = 0
    while offset + FRAME <= len(data):
        (length,) = struct.unpack_from("<Q", data, offset)
        if offset + FRAME + length > len(data):
            if offset == 0:
                raise ValueError("its first record is longer than the file")
            return
        yield data[offset + 12 : offset + 12 + length]
        offset += FRAME + length


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
    """The number of a tensor with one element; None for text, pictures and larger tensors."""
    parts = dict(fields(message))
    kind = whole(parts[TYPE]) if TYPE in parts else 0
    for name, form, tensor_type in (("<f", FLOATS, FLOAT), ("<d", DOUBLES, DOUBLE)):
        payload = parts.get(CONTENT) or parts.get(form) or b""
        if kind == tensor_type and len(payload) == struct.calcsize(name):
            number: float = struct.unpack(name, payload)[0]
            return number
    return None
