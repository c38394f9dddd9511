"""The record model and the JSON Schema of a line; `PODIUM_GOLDEN=write` rewrites the schema."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import msgspec
import pytest

from podium.logging_spec.keys import EVENT_TYPES
from podium.logging_spec.reader.record import TOKEN, Record, record_schema
from tests.builders import build_log, cases
from tests.locations import ROOT

SCHEMA = ROOT / "logging_spec" / "reader" / "record.schema.json"

LINE: dict[str, Any] = {
    "namespace": "",
    "time_ms": 1_750_000_000_000,
    "event_type": "POINT_IN_TIME",
    "key": "seed",
    "value": 42,
    "metadata": {"file": "train.py", "lineno": 7},
}


def accepts(line: object) -> bool:
    return bool(jsonschema.Draft202012Validator(record_schema()).is_valid(line))


def test_the_committed_schema_is_up_to_date() -> None:
    text = json.dumps(record_schema(), indent=2) + "\n"
    if os.environ.get("PODIUM_GOLDEN") == "write":
        SCHEMA.write_text(text, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == text, (
        "stale: PODIUM_GOLDEN=write python -m pytest tests/logging_spec/reader/test_record.py"
    )


def test_the_schema_is_valid_and_describes_every_field() -> None:
    schema = record_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [*schema["properties"]] == [*LINE]
    assert schema["required"] == [*LINE]
    described = {name for name, part in schema["properties"].items() if "description" in part}
    assert described == {*LINE} - {"event_type"}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"value": None},
        {"value": [1, {"a": 2.5}]},
        {"event_type": "INTERVAL_START", "value": None},
        {"event_type": "INTERVAL_END"},
        {"metadata": {}},
        {"time_ms": 0},
        {"namespace": "worker1"},
    ],
)
def test_the_schema_accepts_lines_that_an_emitter_writes(change: dict[str, Any]) -> None:
    assert accepts(LINE | change)


@pytest.mark.parametrize(
    "change",
    [
        {"time_ms": 1.5},
        {"time_ms": -1},
        {"time_ms": "1750000000000"},
        {"event_type": "POINT"},
        {"event_type": None},
        {"key": ""},
        {"key": 7},
        {"metadata": ""},
        {"metadata": None},
        {"namespace": None},
        {"extra": 1},
    ],
)
def test_the_schema_refuses_lines_that_no_emitter_should_write(change: dict[str, Any]) -> None:
    assert not accepts(LINE | change)


@pytest.mark.parametrize("name", [*LINE])
def test_the_schema_requires_every_field(name: str) -> None:
    assert not accepts({field: value for field, value in LINE.items() if field != name})


@pytest.mark.parametrize("line", [[], None, "text", 5])
def test_the_schema_refuses_a_value_that_is_not_an_object(line: object) -> None:
    assert not accepts(line)


def test_lines_of_good_logs_match_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(record_schema())
    which = next(w for w in cases() if w[:2] == ("training", "5.1"))
    for line in build_log(which).bytes().splitlines():
        validator.validate(json.loads(line.removeprefix(f"{TOKEN} ".encode())))


def test_a_record_needs_four_fields_and_is_immutable() -> None:
    record = Record("seed", 5, 42, {"file": "a"})
    assert (record.key, record.time_ms, record.value, record.metadata) == (
        "seed",
        5,
        42,
        {"file": "a"},
    )
    assert (record.event_type, record.namespace) == (None, None)
    with pytest.raises(AttributeError):
        record.key = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Record("seed", 5, 42)  # type: ignore[call-arg]
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


def test_event_types_of_the_schema_are_those_of_the_vocabulary() -> None:
    pattern = record_schema()["properties"]["event_type"]["pattern"]
    assert pattern == f"^({'|'.join(EVENT_TYPES)})$"
