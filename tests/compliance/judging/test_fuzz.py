"""No content of a file makes the reader or the engine raise: there are only findings."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.compliance.judging.logs.judge import LogVerdict, judge_log
from podium.compliance.reporting.conclusion import conclude
from podium.compliance.reporting.data import Outcome, Rules
from podium.compliance.reporting.render import renderer
from podium.logging_spec.reader.read import parse_log
from podium.rules import rounds
from podium.rules.finding import Finding, Profile
from podium.rules.model.round import Round
from tests.builders import build_log, cases
from tests.damage import damages
from tests.thorough import usually

ROUNDS: list[Round] = [rounds[key] for key in rounds]
BY_ROUND = {
    rules.title: [build_log(which) for which in cases() if which.rules is rules] for rules in ROUNDS
}

INTERNAL = "internal."
"""The prefix of the ids of podium's internal errors, such as a crash turned into a finding."""


def survives(data: bytes, rules: Round, profile: Profile) -> LogVerdict:
    """Judge a log, and assert that no finding is an internal error of podium."""
    log = parse_log(data)
    log.all_records()
    verdict = judge_log(log, rules, profile, "result_0.txt", with_facts=True)
    assert not [f for f in verdict.findings if f.id.startswith(INTERNAL)]
    assert [f for f in verdict.findings if f.line is not None and f.line < 1] == []
    return verdict


def report_of(findings: list[Finding]) -> Outcome:
    rules = Rules(usage="training", round="5.1", profile="policy", chosen_by="option")
    return conclude(rules, findings=findings)


# --- bytes ---

MARKS = (
    *(b":::MLLOG ", b":::MLL ", b":::MLPv0.5.0 ", b"MLPerf: ", b"\n", b"\r", b"\r\n"),
    *(b"{", b"}", b"[", b"]", b'"', b"'", b",", b":", b"\\", b"\x00", b"\xff", b"\xc3", b" "),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 30, b"{}", b"[]", b'""'),
    *(b'"key"', b'"value"', b'"metadata"', b'"time_ms"', b'"status"', b'"samples_count"'),
    *(b"\\ud800", b"\\u0000", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"[" * 3000, b'{"a":' * 3000),
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few random edits: flips, cuts, repeats, moves and inserted marks."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.choice((1, 2, 8, 60, 400)))
        edit = rng.randrange(6)
        if edit == 0 and at < len(text):
            text[at] = rng.randrange(256)
        elif edit == 1:
            del text[at:to]
        elif edit == 2:
            text[at:at] = rng.choice(MARKS)
        elif edit == 3:
            text[at:to] = rng.choice(MARKS)
        elif edit == 4:
            text[at:at] = text[at:to]
        else:
            piece = text[at:to]
            del text[at:to]
            place = rng.randrange(len(text) + 1)
            text[place:place] = piece
    return bytes(text)


def check_bytes(count: int, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        rules = rng.choice(ROUNDS)
        logs = BY_ROUND[rules.title] if rng.random() < 0.9 else BY_ROUND[rng.choice(ROUNDS).title]
        data = mutated(rng.choice(logs).bytes(), rng)
        for profile in Profile:
            survives(data, rules, profile)


def test_random_edits_of_the_bytes_do_not_raise() -> None:
    check_bytes(500, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(usually(3, 5)))
def test_random_edits_of_the_bytes_do_not_raise_in_a_long_run(seed: int) -> None:
    check_bytes(5_000, seed=1000 + seed)


# --- records ---

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -0.0, 1, -1, 0.5, 10**400, -(10**400), 1e308, float("nan")),
    *(float("inf"), -float("inf"), "", "closed", "open", "1", "nan", "\ud800", "\x00", "x" * 999),
    *([], [1], [[]], [None] * 3, {}, {"a": 1}, {"BBOX": 1}, {"FID": None, "CLIP": {}}, [{}]),
)
NAMES = (
    "status",
    "epoch_num",
    "samples_count",
    "first_epoch_num",
    "epoch_count",
    "step_num",
    "metric",
)


def odd_records(data: bytes, rng: random.Random) -> bytes:
    """A log in which some members are changed to arbitrary values."""
    lines = []
    for line in data.decode().splitlines():
        head, token, body = line.partition("{")
        if token and rng.random() < 0.15:
            line = head + json.dumps(_odd(json.loads(token + body), rng))
        lines += [line] * rng.choice((0, 1, 1, 1, 1, 1, 1, 1, 2))
    if rng.random() < 0.3:
        rng.shuffle(lines)
    return "\n".join(lines).encode(errors="replace")


def _odd(record: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    for _ in range(rng.randint(1, 3)):
        member = rng.choice((*record, "value", "metadata", "metadata", "time_ms"))
        inner = record.get("metadata")
        if member == "metadata" and isinstance(inner, dict) and rng.random() < 0.8:
            record["metadata"] = inner | {rng.choice((*inner, *NAMES)): rng.choice(ODD)}
        elif rng.random() < 0.1:
            record.pop(member, None)
        else:
            record[member] = rng.choice(ODD)
    return record


def check_records(count: int, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        rules = rng.choice(ROUNDS)
        data = odd_records(rng.choice(BY_ROUND[rules.title]).bytes(), rng)
        for profile in Profile:
            survives(data, rules, profile)


def test_random_values_in_records_do_not_raise() -> None:
    check_records(700, seed=2)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(usually(3, 5)))
def test_random_values_in_records_do_not_raise_in_a_long_run(seed: int) -> None:
    check_records(4_000, seed=2000 + seed)


# --- combinations of known damages ---


def several_damages(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for _ in range(rng.randint(1, 5)):
        _, data = next(damages(data, rng))
    yield data


def check_damages(count: int, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        rules = rng.choice(ROUNDS)
        log = rng.choice(BY_ROUND[rules.title])
        if rules.generation == "mlpv":
            continue
        for data in several_damages(log.bytes(), rng):
            for profile in Profile:
                survives(data, rules, profile)


def test_combined_damages_do_not_raise() -> None:
    check_damages(250, seed=3)


@pytest.mark.long
def test_combined_damages_do_not_raise_in_a_long_run() -> None:
    check_damages(5_000, seed=3000)


# --- generated logs ---

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(ODD),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    sorted({key for logs in BY_ROUND.values() for log in logs[:3] for key in log.names()})
)
RECORDS = st.fixed_dictionaries(
    {
        "key": KEYS,
        "value": VALUES
        | st.sampled_from(["closed", "open", "resnet", "llama31_8b", "stable_diffusion"]),
        "time_ms": st.integers(-10, 10**13) | st.floats(),
        "metadata": st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3) | VALUES,
    }
)


@settings(max_examples=250)
@given(st.lists(RECORDS, max_size=25), st.sampled_from(ROUNDS), st.sampled_from(list(Profile)))
def test_generated_records_do_not_raise(
    records: list[dict[str, Any]], rules: Round, profile: Profile
) -> None:
    data = "\n".join(f":::MLLOG {json.dumps(record)}" for record in records).encode()
    verdict = survives(data, rules, profile)
    text = renderer("json")(report_of(verdict.findings))
    assert json.loads(text)["findings"] is not None


@settings(max_examples=150)
@given(st.binary(max_size=400), st.sampled_from(ROUNDS), st.sampled_from(list(Profile)))
def test_generated_bytes_do_not_raise(data: bytes, rules: Round, profile: Profile) -> None:
    token = {"mllog": b":::MLLOG ", "mll": b":::MLL ", "mlpv": b":::MLPv0.5.0 "}[rules.generation]
    survives(token + data.replace(b"\x00", b"\n" + token), rules, profile)
