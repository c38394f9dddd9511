"""Logs are read line by line: real files, and properties for arbitrary content."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.logging_spec.reader import read, recovery, strays
from podium.logging_spec.reader.read import Fault, Log, parse_log, read_log
from tests.builders import build

Place = tuple[int, str, Any]  # line in the file, key, value


def record(key: str = "seed", value: Any = 1, **other: Any) -> str:
    fields = {"namespace": "", "time_ms": 5, "event_type": "POINT_IN_TIME", "key": key}
    return json.dumps(fields | {"value": value, "metadata": {}} | other)


def line(key: str = "seed", value: Any = 1, **other: Any) -> str:
    return f":::MLLOG {record(key, value, **other)}"


def taken(log: Log) -> list[Place]:
    """Return the records that the official reader accepts, with their line numbers."""
    return [(log.line(index), r.key, r.value) for index, r in enumerate(log.records)]


def everything(log: Log) -> list[Place]:
    """Return these records and those that only a tolerant reader accepts."""
    return [(at, r.key, r.value) for at, r in log.all_records()]


def faults(log: Log) -> list[tuple[str, int]]:
    """Return the kind and the line number of each error; line 0 is the whole file."""
    return [(f.kind, log.line_of(f) or 0) for f in log.faults]


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of a file; LF, CRLF and CR each end a line."""
    return re.split(b"\r\n|\r|\n", data)


def in_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Set the size above which a file is read in blocks, and the size of the blocks."""
    monkeypatch.setattr(read, "BLOCK", size)
    monkeypatch.setattr(read, "PIECE", size)


# --- good lines in any context ---

A, B = line("a", 1), line("b", 2)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("\n\n\n", []),
        ("epoch 1: loss 2.31\n", []),
        (f"{A}\n{B}\n", [1, 2]),
        (f"{A}\n{B}", [1, 2]),  # no newline at the end
        (f"{A}\r\n{B}\r\n", [1, 2]),
        (f"{A}\r{B}\r", [1, 2]),
        (f"{A}\r\r\n{B}", [1, 3]),
        (f"noise\rnoise\r\nnoise\n{A}\rnoise\n{B}", [4, 6]),
        (f"progress 1%\rprogress 2%\r{A}\n{B}", [3, 4]),
        (f"0: {A}\n 12: {B}", [1, 2]),
        (f"[0] {A}\n[1,11]<stdout>:{B}", [1, 2]),
        (f"I0518 21:33:07.307321 427370 mllog.py:168] {A}\nINFO:mlperf_compliance:{B}", [1, 2]),
        (f"2023-05-01T10:00:00 worker-3 {A}\nnode17:{B}", [1, 2]),
        (f"\x1b[32m{A}\n\x1b[0m\x1bOM{B}", [1, 2]),
        (f"  {A}   \n\t{B}\t", [1, 2]),
        (f"\n\n{A}\n\n\nnoise :::MLLO\n{B}\n\n", [3, 7]),
        (f"naïve Grüße {A}\n日本 {B}", [1, 2]),
        (f"50%|█████| {A}\n:::MLLOG{{}}\n{B}", [1, 3]),  # noise: no space after the token
    ],
)
def test_records_are_found_in_any_context(text: str, wanted: list[int]) -> None:
    log = parse_log(text.encode())
    found = [(1, "a", 1), (1, "b", 2)]
    assert taken(log) == [
        (at, key, value) for at, (_, key, value) in zip(wanted, found, strict=False)
    ]
    assert len(taken(log)) == len(wanted)
    assert log.faults == []
    assert log.generation == ("mllog" if wanted else "none")


def test_a_carriage_return_within_a_record_ends_its_line() -> None:
    # The official reader opens the file as text, where a CR ends a line.
    broken = '{"key": "a",\r "time_ms": 1, "value": 1, "metadata": {}}'
    log = parse_log(f":::MLLOG {broken}\n{B}\n".encode())
    assert taken(log) == [(3, "b", 2)]
    assert faults(log) == [("not-json", 1)]


def test_bytes_that_are_not_utf8_are_read_as_latin_1() -> None:
    data = b"caf\xe9 :::MLLOG " + record("org", "caf\xe9").encode() + b"\n"
    assert taken(parse_log(data)) == [(1, "org", "caf\xe9")]
    raw = b':::MLLOG {"key": "org", "time_ms": 5, "value": "caf\xe9", "metadata": {}}'
    log = parse_log(raw)
    assert taken(log) == [(1, "org", "caf\xe9")]
    assert log.faults == []


def test_numbers_beyond_json_are_read_as_in_python() -> None:
    text = "\n".join(
        f':::MLLOG {{"key": "x", "time_ms": 5, "value": {value}, "metadata": {{}}}}'
        for value in ("NaN", "Infinity", "-Infinity", "1e400", "-0.0", "7" * 400)
    )
    values = [value for _, _, value in taken(parse_log(text.encode()))]
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf, math.inf, 0, int("7" * 400)]


@pytest.mark.parametrize(
    ("time_ms", "read_as"),
    [("5", 5), ("5.5", 5.5), ('"5"', 5), ('" 5.5 "', 5.5), ('"1e3"', 1000), ("true", 1)],
)
def test_times_may_be_numeric_strings(time_ms: str, read_as: float) -> None:
    log = parse_log(
        f':::MLLOG {{"key": "a", "time_ms": {time_ms}, "value": 1, "metadata": {{}}}}'.encode()
    )
    assert [r.time_ms for r in log.records] == [read_as]
    assert log.faults == []


def test_the_last_value_of_a_repeated_field_counts() -> None:
    text = ':::MLLOG {"key": "a", "key": "b", "time_ms": 5, "value": 1, "value": 2, "metadata": {}}'
    assert taken(parse_log(text.encode())) == [(1, "b", 2)]


def test_unknown_fields_are_accepted_and_known_fields_are_kept() -> None:
    text = line("a", None, extra=1, event_type="INTERVAL_START", namespace="n")
    (found,) = parse_log(text.encode()).records
    assert (found.event_type, found.namespace, found.metadata) == ("INTERVAL_START", "n", {})


# --- lines with a token and an invalid record ---

BAD_JSON = [
    "",
    "Weight initialization: 1",
    "null",
    "{'key': 'a'}",
    "[" * 100_000,
    '{"key": "a", "time_ms": 1, "value": nullLambda, "metadata": {}}',
    '{"value": ' + "7" * 4400 + "}",  # more digits than Python converts
]


@pytest.mark.parametrize("payload", BAD_JSON, ids=lambda text: text[:20])
def test_invalid_json_is_an_error_of_its_line(payload: str) -> None:
    log = parse_log(f"{A}\nnoise\n:::MLLOG {payload}\n{B}\n".encode())
    assert taken(log) == [(1, "a", 1), (4, "b", 2)]
    assert faults(log) == [("not-json", 3)]


def test_a_cut_marker_is_found_anywhere_in_a_large_log() -> None:
    """The search reads one part of the log at a time."""
    for place in range(strays._AT_ONCE - 24, strays._AT_ONCE + 2):
        start = f"{A}\n"
        log = parse_log(f"{start}{'x' * (place - len(start) - 1)}\n[snip]\n[snip]\n{B}\n".encode())
        assert faults(log) == [("cut-out", 3), ("cut-out", 4)]


def test_an_incomplete_last_line_is_a_truncation() -> None:
    log = parse_log(f"{A}\n{B[:-9]}".encode())
    assert taken(log) == [(1, "a", 1)]
    assert faults(log) == [("truncated", 2)]
    assert log.faults[0].message == "the file ends within a record"


def test_an_incomplete_line_within_a_file_is_not_a_truncation() -> None:
    log = parse_log(f"{A}\n{B[:-9]}\n{B}\n".encode())
    assert taken(log) == [(1, "a", 1), (3, "b", 2)]
    assert faults(log) == [("not-json", 2)]
    assert log.faults[0].message.endswith("(the line seems truncated)")
    assert log.faults[0].key == "b"


@pytest.mark.parametrize("payload", ["[42]", "7", '"text"', "true", "[]"])
def test_a_payload_that_is_not_an_object_crashes_the_official_reader(payload: str) -> None:
    log = parse_log(f"{A}\n:::MLLOG {payload}\n{B}\n".encode())
    assert taken(log) == [(1, "a", 1), (3, "b", 2)]
    assert faults(log) == [("not-an-object", 2)]
    assert log.faults[0].kind in read.CRASHING


@pytest.mark.parametrize("name", ["key", "time_ms", "value", "metadata"])
def test_a_missing_field_is_reported_with_its_name(name: str) -> None:
    fields = json.loads(record("a"))
    del fields[name]
    log = parse_log(f"{B}\n:::MLLOG {json.dumps(fields)}\n".encode())
    assert taken(log) == [(1, "b", 2)]
    assert faults(log) == [("missing-field", 2)]
    assert log.faults[0].message == f"the record lacks {name}"
    assert log.faults[0].kind in read.CRASHING


def test_an_incomplete_record_is_kept_for_the_tolerant_reader() -> None:
    text = ':::MLLOG {"key": "a", "time_s": 1.5, "value": 3}\n:::MLLOG {"key": "b", "time_ms": 5}'
    log = parse_log(f"{A}\n{text}\n{B}".encode())
    assert taken(log) == [(1, "a", 1), (4, "b", 2)]
    assert everything(log) == [(1, "a", 1), (2, "a", 3), (3, "b", None), (4, "b", 2)]
    assert log.lenient[0][1].time_ms == 1500
    assert [fault.recovered for fault in log.faults] == [True, True]


@pytest.mark.parametrize("time_ms", ['"12:00:00"', '""', '"five"'])
def test_a_time_that_is_not_a_number_is_an_error(time_ms: str) -> None:
    log = parse_log(
        f':::MLLOG {{"key": "a", "time_ms": {time_ms}, "value": 1, "metadata": {{}}}}'.encode()
    )
    assert log.records == []
    assert faults(log) == [("bad-time", 1)]


@pytest.mark.parametrize("time_ms", ["null", "[5]", "{}", "7" * 400])
def test_a_time_of_another_type_is_a_missing_field(time_ms: str) -> None:
    log = parse_log(
        f':::MLLOG {{"key": "a", "time_ms": {time_ms}, "value": 1, "metadata": {{}}}}'.encode()
    )
    assert log.records == []
    assert faults(log) == [("missing-field", 1)]


@pytest.mark.parametrize("key", [7, None, ["a"], {}])
def test_a_key_that_is_not_a_string_is_an_error(key: Any) -> None:
    log = parse_log(f"{A}\n{line(key)}".encode())
    assert taken(log) == [(1, "a", 1)]
    assert faults(log) == [("bad-key", 2)]


@pytest.mark.parametrize("metadata", ["", None, [], 5])
def test_metadata_of_another_type_is_kept(metadata: Any) -> None:
    log = parse_log(line("a", 1, metadata=metadata).encode())
    assert log.records[0].metadata == metadata
    assert log.faults == []


def test_the_official_reader_accepts_only_the_last_record_of_a_line() -> None:
    log = parse_log(f"{A}{B}\n{A}{A} {B} \n{B}".encode())
    assert taken(log) == [(1, "b", 2), (2, "b", 2), (3, "b", 2)]
    assert [(at, key) for at, key, _ in everything(log)] == [
        *((1, "a"), (1, "b")),
        *((2, "a"), (2, "a"), (2, "b")),
        (3, "b"),
    ]
    assert faults(log) == [("several-records", 1), ("several-records", 2)]


def test_a_line_of_two_records_with_a_broken_last_record_has_two_errors() -> None:
    log = parse_log(f"{A}{B[:-5]}\n".encode())
    assert log.records == []
    assert sorted(faults(log)) == [("several-records", 1), ("truncated", 1)]
    assert everything(log) == [(1, "a", 1)]


def test_an_excerpt_of_a_broken_line_is_short() -> None:
    log = parse_log(b':::MLLOG {"key": ' + b"x" * 100_000)
    assert len(log.faults[0].excerpt) <= 80


# --- rounds before 0.7 ---


def test_times_in_a_log_of_06_are_converted_from_seconds() -> None:
    text = (
        ':::MLL 1558635870.442 submission_org: {"value": "me", "metadata": {"lineno": 1}}\n'
        "noise\n"
        '0: :::MLL 1558635871 seed : {"value": 4, "metadata": {}}\r\n'
    )
    log = parse_log(text.encode())
    assert log.generation == "mll"
    assert taken(log) == [(1, "submission_org", "me"), (3, "seed", 4)]
    assert [r.time_ms for r in log.records] == [1558635870442.0, 1558635871000.0]
    assert log.records[0].metadata == {"lineno": 1}
    assert log.faults == []


def test_the_four_dialects_of_06_are_distinguished() -> None:
    text = (
        ':::MLL 1.5 a: {"value": 1, "metadata": {}}\n'
        ":::MLL 2.5 b: {\"value\": 2, \"metadata\": {'lineno': 233, 'file': 'train.py'}}\n"
        ":::MLL 3.5 c: {value: true, metadata: {lineno: 0, file: manual}}\n"
        ":::MLL freely written text\n"
    )
    log = parse_log(text.encode())
    assert taken(log) == [(1, "a", 1)]
    assert everything(log) == [(1, "a", 1), (2, "b", 2), (3, "c", True)]
    assert faults(log) == [
        ("nonstandard-dialect", 2),
        ("nonstandard-dialect", 3),
        ("not-json", 4),
    ]
    assert log.lenient[0][1].metadata == {"lineno": 233, "file": "train.py"}


def test_a_line_of_06_without_a_value_is_ignored() -> None:
    log = parse_log(b':::MLL 1.5 a: {"metadata": {}}\n:::MLL 1.5 b: {"value": 2, "metadata": {}}\n')
    assert taken(log) == [(2, "b", 2)]
    assert faults(log) == [("ignored-line", 1)]


def test_every_line_of_a_log_of_05_names_its_benchmark() -> None:
    text = (
        ":::MLPv0.5.0 resnet 1541.5 (train.py:17) run_start\n"
        ":::MLPv0.5.0 resnet 1542.5 (train.py:18) eval_accuracy: 0.749\n"
        'noise :::MLPv0.5.0 resnet 1543 (a b.py:9) run_stop: {"success": true}\n'
        ":::MLPv0.5.0 resnet what is this\n"
    )
    log = parse_log(text.encode())
    assert log.generation == "mlpv"
    assert taken(log) == [
        (1, "run_start", None),
        (2, "eval_accuracy", 0.749),
        (3, "run_stop", {"success": True}),
    ]
    assert {r.namespace for r in log.records} == {"resnet"}
    assert log.records[0].metadata == {"file": "train.py", "lineno": 17}
    assert faults(log) == [("not-json", 4)]


def test_the_dialect_of_one_submitter_is_read_by_the_tolerant_reader() -> None:
    text = "MLPerf: resnet [06/13/19 00:55:21], run_start\nMLPerf: free text\n"
    log = parse_log(text.encode())
    assert log.generation == "alibaba"
    assert log.records == []
    assert everything(log) == [(1, "run_start", None)]
    assert faults(log) == [("nonstandard-dialect", 1)]


def test_lines_of_an_older_format_in_a_newer_log_are_noise() -> None:
    data = f"MLPerf: starting\n:::MLL 1.5 a: {{}}\n{A}\n:::MLPv0.5.0 x\n{B}\n".encode()
    log = parse_log(data)
    assert log.generation == "mllog"
    assert taken(log) == [(3, "a", 1), (5, "b", 2)]
    assert log.faults == []


@pytest.mark.parametrize("round_", ["0.5", "0.6", "5.1"])
def test_every_format_is_read_with_any_line_ending(round_: str) -> None:
    benchmark = "llama31_8b" if round_ == "5.1" else "ssd"
    data = build("training", round_, "closed", benchmark).bytes()
    plain = parse_log(data)
    assert len(plain.records) == data.count(b"\n")
    for end in (b"\r\n", b"\r"):
        other = parse_log(data.replace(b"\n", end))
        assert taken(other) == taken(plain)
        assert other.faults == []


# --- files ---


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


LOG = "".join(f"noise {i}\n{line('k', i)}\n" for i in range(300)).encode()


def test_a_file_is_read_in_the_same_way_as_its_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "result_0.txt", LOG)
    for name in (path, str(path)):
        assert taken(read_log(name)) == taken(parse_log(LOG))
    assert read_log(path).size == len(LOG)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("last", [b"", b"done"])
def test_all_lines_of_a_file_are_counted(
    end: bytes, compressed: bool, last: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = end.join([b"start", A.encode(), b"", B.encode(), last])
    path = write(tmp_path / "result_0.txt", gzip.compress(data) if compressed else data)
    wanted = 5 if last else 4
    assert read_log(path).line_count == wanted
    in_pieces(monkeypatch, 64)
    assert read_log(path).line_count == wanted


@pytest.mark.parametrize("name", ["result_0.txt", "result_0.txt.gz", "result_0"])
def test_compressed_files_are_recognized_by_their_bytes(tmp_path: Path, name: str) -> None:
    for data in (
        gzip.compress(LOG),
        gzip.compress(LOG[:999]) + gzip.compress(LOG[999:]),
        zstandard.compress(LOG),
        zstandard.compress(LOG[:999]) + zstandard.compress(LOG[999:]),
    ):
        log = read_log(write(tmp_path / name, data))
        assert taken(log) == taken(parse_log(LOG))
        assert log.faults == []


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(LOG)[:-300],
        gzip.compress(LOG)[:5],
        gzip.compress(LOG)[:-8] + bytes(8),  # different checksum
        gzip.compress(LOG)[:40] + b"\xff" * 80,
        b"\x1f\x8b" + b"not gzip at all",
        b"\x28\xb5\x2f\xfd" + b"not zstd at all",
    ],
    ids=["cut", "head", "sum", "garbage", "no-gzip", "no-zstd"],
)
def test_a_broken_compressed_file_is_one_error(tmp_path: Path, data: bytes) -> None:
    log = read_log(write(tmp_path / "result_0.txt", data))
    assert faults(log) == [("broken-compression", 0)]


def test_a_compressed_file_that_breaks_after_several_blocks_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pieces(monkeypatch, 4096)
    whole = gzip.compress(LOG * 20)
    log = read_log(write(tmp_path / "result_0.txt.gz", whole[: len(whole) // 2]))
    assert faults(log) == [("broken-compression", 0)]


def test_a_truncated_zstd_file_is_an_error(tmp_path: Path) -> None:
    data = zstandard.compress(random.Random(0).randbytes(200_000))
    log = read_log(write(tmp_path / "result_0.txt.zst", data[: len(data) // 2]))
    assert faults(log) == [("broken-compression", 0)]


def test_an_empty_file_has_no_records_and_no_errors(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "result_0.txt", b""))
    assert (log.records, log.faults, log.size, log.generation) == ([], [], 0, "none")
    log = read_log(write(tmp_path / "result_1.txt", gzip.compress(b"")))
    assert (log.records, log.faults) == ([], [])


def test_a_folder_is_an_unreadable_file(tmp_path: Path) -> None:
    assert faults(read_log(tmp_path)) == [("unreadable-file", 0)]


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    log = read_log(tmp_path / "none.txt")
    assert faults(log) == [("unreadable-file", 0)]
    assert "No such file" in log.faults[0].message
    (tmp_path / "link.txt").symlink_to(tmp_path / "none.txt")
    linked = read_log(tmp_path / "link.txt")
    assert faults(linked) == [("unreadable-file", 0)]
    assert "none.txt, which does not exist" in linked.faults[0].message


@pytest.mark.usefixtures("never_hangs")
def test_a_fifo_and_a_device_are_refused_without_a_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "result_0.txt")
    assert faults(read_log(tmp_path / "result_0.txt")) == [("unreadable-file", 0)]
    assert faults(read_log("/dev/zero")) == [("unreadable-file", 0)]


def test_a_file_without_read_permission_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "result_0.txt", LOG)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file, whatever its mode")
    assert faults(read_log(path)) == [("unreadable-file", 0)]


def test_a_failure_to_open_a_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path / "result_0.txt", LOG)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(read, "open", refuse, raising=False)
    log = read_log(path)
    assert faults(log) == [("unreadable-file", 0)]
    assert "Permission denied" in log.faults[0].message


@pytest.mark.usefixtures("never_hangs")
@pytest.mark.parametrize("noise", [b"x", b"\xe9", b"\r "])
def test_a_line_of_many_megabytes_is_read(tmp_path: Path, noise: bytes) -> None:
    filler = noise * ((8 << 20) // len(noise))
    data = A.encode() + b"\n" + filler + b"\n" + B.encode() + b"\n"
    log = read_log(write(tmp_path / "result_0.txt", data))
    assert [(key, value) for _, key, value in taken(log)] == [("a", 1), ("b", 2)]
    assert log.line(1) == len(lines_of(data)) - 1


def test_a_record_of_many_megabytes_is_read(tmp_path: Path) -> None:
    value = "v" * (8 << 20)
    good, cut = line("long", value), line("long", value)[:-1]
    log = read_log(write(tmp_path / "result_0.txt", f"{good}\n{cut}\n{B}".encode()))
    assert taken(log) == [(1, "long", value), (3, "b", 2)]
    assert faults(log) == [("not-json", 2)]
    assert len(log.faults[0].excerpt) <= 80


def test_a_line_too_long_to_decode_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "LONGEST_LINE", 1000)
    log = parse_log(f"{A}\n:::MLLOG {{{'x' * 2000}\n{B}".encode())
    assert taken(log) == [(1, "a", 1), (3, "b", 2)]
    assert faults(log) == [("line-too-long", 2)]


SOURCE = b':::MLLOG {"key": "seed", "time_ms": 5, "value": 1, "metadata": {"file": %s}}\n'


@pytest.mark.parametrize(
    "written", [b'"a', b"01", b"1.", b'"\\x"', b"nul", b"{,}", b'"\t"', b"[" * 2000], ids=repr
)
def test_invalid_json_in_unused_metadata_is_an_error(written: bytes) -> None:
    log = parse_log(b"noise\n" + SOURCE % written)
    assert faults(log) == [("not-json", 2)]
    assert log.records == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b'"caf\xe9.py"', "caf\xe9.py"),
        (b"1e999", math.inf),
        (b'[{"deep": [null]}]', [{"deep": [None]}]),
    ],
    ids=repr,
)
def test_metadata_is_kept_as_written(written: bytes, meant: object) -> None:
    log = parse_log(b"noise\n" + SOURCE % written)
    assert log.records[0].metadata == {"file": meant}
    assert (log.line(0), log.faults) == (2, [])


# --- properties ---

PIECES = [
    line("a", 1),
    line("b", [1, {"c": "d"}], time_ms=7.5),
    line("n", math.nan),
    line("s", "text", time_ms="12"),
    "0: " + line("r", 3),
    line("g", 1) + line("h", 2),
    "noise",
    "",
    "\x1b[0m 50%|███",
    "caf\udce9",
    ':::MLLOG {"key": "cut", "time_ms": 1,',
    ":::MLLOG [42]",
    ":::MLLOG null",
    ':::MLLOG {"key": "x", "time_ms": 5}',
    ':::MLLOG {"key": "x", "time_s": 5, "value": 1}',
    ':::MLLOG {"key": 7, "time_ms": 5, "value": 1, "metadata": {}}',
    ':::MLLOG {"key": "x", "time_ms": "noon", "value": 1, "metadata": {}}',
    ":::MLLOG ",
]
OLDER = [
    ':::MLL 1.5 a: {"value": 1, "metadata": {}}',
    ":::MLL 1.5 b: {'value': 1, 'metadata': {}}",
    ":::MLL 1.5 c: {value: true, metadata: {lineno: 0}}",
    ':::MLL 1.5 d: {"metadata": {}}',
    ":::MLL",
    ":::MLL text",
    "noise",
    "",
]
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn, pieces: list[str]) -> bytes:
    """Lines of many kinds with mixed line endings; the last line may have none."""
    chosen = draw(st.lists(st.tuples(st.sampled_from(pieces), ENDS), max_size=25))
    text = "".join(piece + end for piece, end in chosen)
    text += draw(st.sampled_from([*pieces, ""]))
    return text.encode(errors="surrogateescape")


def content(log: Log) -> tuple[Any, ...]:
    """Return the contents of a log in a form that can be compared."""
    return (
        log.generation,
        repr(taken(log)),
        repr([(r.time_ms, r.metadata, r.event_type, r.namespace) for r in log.records]),
        repr(sorted(everything(log), key=repr)),
        [
            (*fault, f.message, f.excerpt.rstrip(), f.recovered)
            for fault, f in zip(faults(log), log.faults, strict=True)
        ],
    )


@given(files(PIECES) | files(OLDER))
def test_every_line_is_a_record_an_error_or_noise(data: bytes) -> None:
    log = parse_log(data)
    token = b":::MLL" if log.generation == "mll" else b":::MLLOG "
    bearing = [at for at, text in enumerate(lines_of(data), 1) if token in text]
    glued = [at for at, text in enumerate(lines_of(data), 1) if text.count(token) > 1]
    reported_at = [at for at, _, _ in taken(log)]
    reported_at += [at for kind, at in faults(log) if kind != Fault.GLUED]
    assert sorted(reported_at) == bearing
    assert [at for kind, at in faults(log) if kind == Fault.GLUED] == (
        glued if log.generation == "mllog" else []
    )


@given(files(PIECES), st.randoms(use_true_random=False))
def test_line_numbers_are_found_in_any_order(data: bytes, chance: random.Random) -> None:
    bearing = [at for at, text in enumerate(lines_of(data), 1) if b":::MLLOG " in text]
    log = parse_log(data)
    assert [*log.lines] == bearing
    order = [*range(len(bearing)), *range(len(bearing))]
    chance.shuffle(order)
    assert [parse_log(data).line_at(place) for place in order[:5]] == [
        bearing[i] for i in order[:5]
    ]
    assert [log.line_at(place) for place in order] == [bearing[place] for place in order]


@settings(max_examples=300)
@given(files(PIECES) | files(OLDER), st.integers(1, 400))
def test_the_block_size_does_not_change_the_result(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.txt"
    path.write_bytes(data)
    whole = content(read_log(path))
    with pytest.MonkeyPatch.context() as patch:
        in_pieces(patch, size)
        assert content(read_log(path)) == whole
        path.write_bytes(gzip.compress(data, 1))
        assert content(read_log(path)) == whole


@pytest.mark.parametrize("size", [64, 1000, 5000])
@pytest.mark.parametrize("round_", ["0.5", "0.6", "2.1", "5.1"])
def test_generated_logs_are_read_the_same_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, round_: str, size: int
) -> None:
    benchmark = "llama31_8b" if round_ == "5.1" else "resnet"
    choices = (("opt_name", "lars"),)
    data = build(
        "training", round_, "closed", benchmark, choices if benchmark == "resnet" else ()
    ).bytes()
    lines = data.splitlines()
    data = b"".join(
        text + (b"\r\n" if i % 3 else b"\n") + b"progress\r" * (i % 5)
        for i, text in enumerate(lines)
    )
    path = write(tmp_path / "result_0.txt", data + lines[-1][:-30])
    whole = content(read_log(path))
    in_pieces(monkeypatch, size)
    assert content(read_log(path)) == whole


def test_older_noise_in_the_first_block_does_not_hide_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = f"MLPerf: starting\n:::MLL ready\n{'x' * 400}\n{A}\n{'x' * 400}\n{B}\n".encode()
    path = write(tmp_path / "result_0.txt", data)
    whole = content(read_log(path))
    in_pieces(monkeypatch, 128)
    assert content(read_log(path)) == whole


def test_a_large_file_may_be_deleted_after_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pieces(monkeypatch, 64)
    path = write(tmp_path / "result_0.txt", f"{A}\n\n{B}\n:::MLLOG {{\n".encode())
    log = read_log(path)
    path.unlink()
    assert taken(log) == [(1, "a", 1), (3, "b", 2)]
    assert faults(log) == [(Fault.TRUNCATED, 4)]


@given(
    st.binary(max_size=300),
    st.sampled_from([b":::MLLOG ", b":::MLL ", b":::MLPv0.5.0 ", b"MLPerf: "]),
)
def test_the_reader_does_not_raise_on_any_bytes(data: bytes, token: bytes) -> None:
    for text in (data, token + data, data.replace(b"\x00", b"\n" + token)):
        log = parse_log(text)
        everything(log)
        faults(log)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(JSON, st.dictionaries(st.text(), JSON, max_size=3), st.booleans())
def test_any_value_is_read_as_by_the_json_module(
    value: Any, metadata: dict[str, Any], escaped: bool
) -> None:
    fields = {"key": "k", "time_ms": 5, "value": value, "metadata": metadata}
    text = json.dumps(fields, ensure_ascii=escaped)
    log = parse_log(b":::MLLOG " + text.encode(errors="surrogatepass"))
    if log.records:
        expected = json.loads(text)
        (found,) = log.records
        assert repr(found.value) == repr(expected["value"])
        assert repr(found.metadata) == repr(expected["metadata"])
    else:
        assert "\r" in text
