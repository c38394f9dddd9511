"""One log record, and its JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

TOKEN = ":::MLLOG"  # noqa: S105 - a mark of log lines, no secret


# gc=False is safe because decoded JSON has no cycles; it avoids tracking millions of records
class Record(msgspec.Struct, frozen=True, gc=False):
    """The content of one log line.

    A line must have `key`, `time_ms`, `value` and `metadata`, as in the official reader.
    `namespace` and `event_type` are often absent or wrong in published logs, so no rule depends on
    them. `metadata` is an object in every well-formed line; real power logs have an empty string
    there, so the type is not fixed.
    """

    key: str
    time_ms: float
    value: Any
    metadata: Any
    event_type: Any = None
    namespace: Any = None


class EmittedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The object that an emitter writes after the token: all six fields, in this order."""

    namespace: Annotated[str, msgspec.Meta(description="free label of the emitter; usually empty")]
    time_ms: Annotated[
        int, msgspec.Meta(description="wall clock, milliseconds since 1970-01-01 UTC", ge=0)
    ]
    event_type: Annotated[
        str, msgspec.Meta(pattern="^(INTERVAL_START|INTERVAL_END|POINT_IN_TIME)$")
    ]
    key: Annotated[str, msgspec.Meta(description="one of the standard log keys", min_length=1)]
    value: Annotated[Any, msgspec.Meta(description="any JSON value; null for most intervals")]
    metadata: Annotated[
        dict[str, Any],
        msgspec.Meta(description="`file` and `lineno` of the call site, and members of the key"),
    ]


def record_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the object that an emitter writes after the token."""
    body = msgspec.json.schema(EmittedLine)
    definition = body["$defs"]["EmittedLine"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "podium:record.schema.json",
        "title": "MLPerf log record",
    } | {name: member for name, member in definition.items() if name != "title"}


if __name__ == "__main__":  # `make docs` writes record.schema.json with it
    import json
    import sys

    sys.stdout.write(json.dumps(record_schema(), indent=2) + "\n")
