"""Files of Weights & Biases' offline runs (`run-ID.wandb`): what was logged, by name.

A file is a header of 7 bytes (`:W&B`, a number, a version) and records in the framing of LevelDB's
log: blocks of 32768 bytes, in which each piece has its checksum (4 bytes), length (2), and kind (1
whole, 2 first, 3 middle, 4 last). Fields by number, of wandb_internal.proto: Record 2 history;
HistoryRecord 1 item, 2 step; HistoryItem 1 key, 2 nested key, 16 value as JSON; HistoryStep 1
number.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping

from podium.compliance.tools.curves.model import BadRecording, Point
from podium.logging_spec.limits import read_json
from podium.logging_spec.reader.protobuf import fields, whole

MAGIC = b":W&B"
HEADER, BLOCK, PIECE = 7, 32768, 7
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
HISTORY, ITEM, STEP, NUMBER = 2, 1, 2, 1
KEY, NESTED, JSON = 1, 2, 16

TIME = "_timestamp"
"""What the library itself adds to each row: seconds since 1970."""


def read_run(data: bytes, counted_by: str = "") -> dict[str, list[Point]]:
    """The numbers of a run's history by name; what a run that was killed has cut off is left out.

    `counted_by` names the logged number that says how far training was, else the library's step
    does. Raises BadRecording for what is no such file.
    """
    if not data.startswith(MAGIC):
        raise BadRecording("is no offline run of Weights & Biases")
    found: dict[str, list[Point]] = defaultdict(list)
    try:
        for record in _records(data):
            for number, message in fields(record):
                if number == HISTORY:
                    step, row = _row(message)
                    at = row.get(counted_by) if counted_by else step
                    if at is None:
                        continue
                    for name, value in row.items():
                        if not name.startswith("_") and name != counted_by:
                            found[name].append(Point(at, row.get(TIME), value))
    except (ValueError, struct.error) as error:
        raise BadRecording(f"is a damaged offline run of Weights & Biases: {error}") from None
    return found


def _records(data: bytes) -> Iterator[bytes]:
    at, begun = HEADER, b""
    while at + PIECE <= len(data):
        left = BLOCK - at % BLOCK
        if left < PIECE:  # too little for a piece: the block is filled up
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        piece = data[at + PIECE : at + PIECE + length]
        if len(piece) < length:
            return
        at += PIECE + length
        if kind not in (WHOLE, FIRST, MIDDLE, LAST):
            raise ValueError(f"a piece is of kind {kind}")
        begun = piece if kind in (WHOLE, FIRST) else begun + piece
        if kind in (WHOLE, LAST):
            yield begun


def _row(message: bytes) -> tuple[float | None, Mapping[str, float]]:
    """The library's step and the numbers of one row."""
    step: float | None = None
    row: dict[str, float] = {}
    for number, part in fields(message):
        if number == STEP:
            held = dict(fields(part))
            step = whole(held[NUMBER]) if NUMBER in held else 0
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
    except (ValueError, OverflowError):  # a value that nobody could draw is no fault of the file
        return None
