"""Lines of rounds before 0.7: the dialects, and parsers that never raise."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.logging_spec.reader.dialects import (
    LONGEST_LENIENT,
    Payload,
    parse_alibaba,
    parse_v05,
    parse_v06,
    render_v05,
    render_v06,
)
from podium.logging_spec.reader.read import parse_log

Parser = Callable[[str], Payload | None]
PARSERS: list[Parser] = [parse_v05, parse_v06, parse_alibaba]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
FINITE_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NAMES = st.from_regex(r"[A-Za-z0-9_]+", fullmatch=True)
TIMES = st.floats(min_value=0, max_value=4e9).map(lambda seconds: float(f"{seconds:.9f}"))
ALMOST_LINES = st.lists(
    st.sampled_from(
        [
            *("resnet", "1541679508.604", "(", ")", ":", "file.py", "49", "eval_accuracy"),
            *("{", "}", "[", "]", ",", '"', "'", "\\", "%", "-", "u'", "\t", "\u0660"),
            *(" ", "value", "metadata", "true", "None", "1e5", "[06/13/19 00:55:21]", "DEFERRED"),
        ]
    )
).map("".join)


def read(parse: Parser, text: str) -> Payload:
    found = parse(text)
    assert found is not None
    return found


def test_a_v05_line_without_a_value_is_read() -> None:
    found = read(parse_v05, "resnet 1541679508.604976654 (<string>:1) run_clear_caches")
    assert found == Payload(
        "run_clear_caches",
        1541679508.604976654,
        None,
        {"file": "<string>", "lineno": 1},
        "resnet",
        True,
    )


@pytest.mark.parametrize(
    ("written", "value", "strict"),
    [
        ("3", 3, True),
        ("  32 ", 32, True),
        ('{"epoch": 2, "value": 0.25}', {"epoch": 2, "value": 0.25}, True),
        ('"[256, 64]"', "[256, 64]", True),
        ("DEFERRED: 6b0a-11", "DEFERRED: 6b0a-11", True),
        ("{'success': True}", {"success": True}, False),
        ("(1, 2)", [1, 2], False),
        ("plain words", "plain words", False),
        ("", None, True),
    ],
)
def test_a_v05_value_is_read_as_far_as_possible(written: str, value: object, strict: bool) -> None:
    found = read(parse_v05, f"resnet 1540940325 (/a/solver.cpp:12) input_size: {written}\r")
    assert (found.value, found.strict) == (value, strict)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "resnet",
        "resnet 1541679508.6 run_start",
        "resnet noon (a.py:1) run_start",
        "resnet 1.5 (a.py:1) run_start and more",
        f"resnet {'9' * 400} (a.py:1) run_start",
    ],
)
def test_other_text_is_not_a_v05_line(text: str) -> None:
    assert parse_v05(text) is None


def test_a_v06_line_in_the_official_layout_is_strict() -> None:
    text = '1558635870.442 global_batch_size: {"value": 8192, "metadata": {"file": "t.py"}}'
    expected = Payload(
        "global_batch_size", 1558635870.442, 8192, {"file": "t.py"}, None, strict=True
    )
    assert parse_v06(text) == expected


@pytest.mark.parametrize(
    ("body", "value", "metadata"),
    [
        (
            """{"value": null, "metadata": {'lineno': 233, 'file': 'train.py'}}""",
            None,
            {"lineno": 233, "file": "train.py"},
        ),
        ("{'value': (0.5, True), 'metadata': {'a': None,}}", [0.5, True], {"a": None}),
        (
            "{value: true, metadata: {lineno: 0, file: manual}}",
            True,
            {"lineno": 0, "file": "manual"},
        ),
        (r"""{'value': u'it\'s \x41 "b"', 'metadata': {}}""", 'it\'s A "b"', {}),
        ('{"value": 75.98000%, "metadata": {}}', 0.7598, {}),
        ('{"metadata": {"status": "success"}}', None, {"status": "success"}),
    ],
)
def test_other_v06_dialects_are_read_and_marked_as_not_strict(
    body: str, value: object, metadata: dict[str, object]
) -> None:
    found = read(parse_v06, f"1560880080.5 run_stop: {body}")
    assert (found.value, found.metadata, found.strict) == (value, metadata, False)


def test_a_v06_value_without_metadata_is_strict() -> None:
    found = read(parse_v06, '1560880080.5 run_stop: {"value": 1}')
    assert (found.value, found.metadata, found.strict) == (1, None, True)


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        ('1 k: {"value": NaN, "metadata": ""}', True),
        ('1.5 k : {"value": 1, "metadata": {}}', True),
        ('1.5 k:{"value": 1, "metadata": {}}', False),
        ('1.5  k: {"value": 1, "metadata": {}}', False),
        ('1.5 a-b: {"value": 1, "metadata": {}}', False),
    ],
)
def test_strict_marks_the_lines_that_the_official_reader_accepts(text: str, strict: bool) -> None:
    assert read(parse_v06, text).strict is strict


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Weight initialization: done",
        "1.5 k: [1]",
        "1.5 k: {}",
        "1.5 k: {'value': 1",
        "1.5 k: free text",
        '-1.5 k: {"value": 1, "metadata": {}}',
        "1.5 k: {'value': '" + "x" * LONGEST_LENIENT + "', 'metadata': {}}",
        "1.5 k: " + "[" * 60_000,
        "1.5 k: " + "(" * 60_000 + ")" * 60_000,
    ],
)
def test_other_text_is_not_a_v06_line(text: str) -> None:
    assert parse_v06(text) is None


def test_long_json_is_read() -> None:
    value = "x" * (2 * LONGEST_LENIENT)
    assert read(parse_v06, f'1.5 k: {{"value": "{value}", "metadata": {{}}}}').value == value


@settings(deadline=None)
@given(JSON, st.dictionaries(st.text(), JSON))
def test_python_literals_are_read_as_python_reads_them(
    value: object, metadata: dict[str, object]
) -> None:
    found = read(parse_v06, f"1.5 k: { {'value': value, 'metadata': metadata} }")
    assert (found.value, found.metadata) == (value, metadata)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("resnet [06/13/19 00:55:21], run_start", "run_start", None),
        ("MLPerf: resnet [06/13/19 00:55:21], train_epoch:7", "train_epoch", 7),
        (
            'resnet [06/13/19 00:55:21], eval_accuracy: {"value": 75.98000%, "epoch": 79}',
            "eval_accuracy",
            {"value": 0.7598, "epoch": 79},
        ),
        (
            "resnet [06/13/19 00:55:21], model_hp_relu: (1, 2) -> (3, 4)",
            "model_hp_relu",
            "(1, 2) -> (3, 4)",
        ),
        (
            "resnet [06/13/19 00:55:20]MLPerf: resnet [06/13/19 00:55:21], run_start, other: true",
            "run_start",
            None,
        ),
    ],
)
def test_a_line_of_the_date_dialect_is_read(text: str, key: str, value: object) -> None:
    found = read(parse_alibaba, text)
    assert found == Payload(key, 1560387321.0, value, {}, "resnet", strict=False)


@pytest.mark.parametrize(
    "text",
    [
        "resnet [06/13/19 00:55:21]",
        "resnet [06/13/19 00:55:21], Total runtime: 24.4 minutes",
        "resnet [13/32/19 00:55:21], run_start",
        "resnet [06/13/19 25:55:21], run_start",
        "training is a benchmark",
    ],
)
def test_other_text_is_not_a_line_of_the_date_dialect(text: str) -> None:
    assert parse_alibaba(text) is None


@pytest.mark.parametrize("parse", PARSERS)
@settings(deadline=None)
@given(text=st.text() | ALMOST_LINES)
def test_parsers_do_not_raise_on_any_text(parse: Parser, text: str) -> None:
    for line in (
        text,
        f"resnet 1.5 (a.py:1) key: {text}",
        f"1.5 key: {text}",
        f"1.5 key: {{'value': {text}, 'metadata': {{}}}}",
        f"resnet [06/13/19 00:55:21], key: {text}",
    ):
        found = parse(line)
        assert found is None or math.isfinite(found.seconds)


@pytest.mark.usefixtures("never_hangs")
@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "unit", ["1", "9.", "(", ":1) k x", "'", '"\\"', "{", "- ", " ", "a b ", "\\'", "[(", "1%"]
)
def test_very_long_text_is_read_or_refused_without_a_hang(parse: Parser, unit: str) -> None:
    text = unit * 60_000
    for line in (text, f"resnet 1.5 ({text}", f"resnet 1.5 (a.py:1) k: {text}", f"1.5 k: {text}x"):
        found = parse(line)
        assert found is None or math.isfinite(found.seconds)


@settings(deadline=None)
@given(NAMES, TIMES, st.sampled_from(["<string>", "/a b/c:d.py"]), NAMES, FINITE_JSON)
def test_a_rendered_v05_line_is_parsed_to_the_same_values(
    benchmark: str, seconds: float, file: str, key: str, value: object
) -> None:
    line = render_v05(benchmark, seconds, file, 49, key, value)
    expected = Payload(key, seconds, value, {"file": file, "lineno": 49}, benchmark, strict=True)
    assert parse_v05(line.removeprefix(":::MLPv0.5.0 ")) == expected
    assert line.isprintable()


@settings(deadline=None)
@given(TIMES, NAMES, FINITE_JSON, st.dictionaries(st.text(), FINITE_JSON))
def test_a_rendered_v06_line_is_parsed_to_the_same_values(
    seconds: float, key: str, value: object, metadata: dict[str, object]
) -> None:
    line = render_v06(seconds, key, value, metadata)
    expected = Payload(key, seconds, value, metadata, None, strict=True)
    assert parse_v06(line.removeprefix(":::MLL ")) == expected
    assert line.isprintable()


@pytest.mark.parametrize(
    ("seconds", "key", "value"),
    [(math.nan, "k", 1), (math.inf, "k", 1), (-1.0, "k", 1), (1.0, "a b", 1), (1.0, "k", math.nan)],
)
def test_values_that_a_line_cannot_represent_are_refused(
    seconds: float, key: str, value: object
) -> None:
    with pytest.raises(ValueError, match=r"must be|JSON compliant"):
        render_v06(seconds, key, value, {})
    with pytest.raises(ValueError, match=r"must be|JSON compliant"):
        render_v05("resnet", seconds, "a.py", 1, key, value)


@pytest.mark.parametrize(
    ("benchmark", "file", "lineno"), [("a b", "a.py", 1), ("ssd", "a\nb", 1), ("ssd", "a.py", -1)]
)
def test_an_invalid_v05_head_is_refused(benchmark: str, file: str, lineno: int) -> None:
    with pytest.raises(ValueError, match="must"):
        render_v05(benchmark, 1.0, file, lineno, "k", None)


@pytest.mark.parametrize(
    "line",
    [
        ':::MLL 1.5 a: {"value": 1, "metadata": {}}',
        ":::MLL 1.5 a: {value: true, metadata: {}}",
        ":::MLPv0.5.0 resnet 1.5 (a.py:1) a",
        ':::MLLOG {"key": "a", "time_s": 1.5, "value": 1, "metadata": {}}',
    ],
)
def test_seconds_are_converted_to_milliseconds(line: str) -> None:
    ((_, record),) = parse_log(line.encode()).all_records()
    assert record.time_ms == 1500
