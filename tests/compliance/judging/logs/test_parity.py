"""The verifier profile compared with the official checker: verdict and failing keys per log."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.judging.logs.judge import judge_log
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile, Severity
from tests import parity_long
from tests.builders import LogBuilder, LogKind, build_log, cases
from tests.damage import KINDS, damage, pick_kind
from tests.oracle import judge, usage_and_round
from tests.parity_long import podium_verdict
from tests.thorough import usually

VERIFIED = [which for which in cases() if which.rules.verified]
"""The official checker has no rules for training 0.5 and HPC 0.7."""


def difference(data: bytes, usage: str, round_: str, path: Path) -> str:
    """The difference between podium's verdict and the official checker's, or an empty string."""
    path.write_bytes(data)
    oracle = judge(path, usage, round_)
    passes, keys = podium_verdict(data, path.name, usage, round_)
    if oracle.ok is None:  # a traceback: podium fails the log, with any keys
        return "podium passes what the incumbent cannot judge" if passes else ""
    if (passes, keys) == (oracle.ok, oracle.keys):
        return ""
    other = [text[:80] for text in oracle.other]
    return (
        f"incumbent {oracle.ok}, podium {passes}; only incumbent {sorted(oracle.keys - keys)}, "
        f"only podium {sorted(keys - oracle.keys)} {other}"
    )


# --- published logs ---


def test_published_logs_get_the_verdict_and_keys_of_the_official_checker(corpus: Path) -> None:
    verdicts: dict[str, dict[str, Any]] = json.loads((corpus / "verdicts.json").read_text())
    wrong = []
    for name, verdict in verdicts.items():
        usage, round_ = usage_and_round(Path(name))
        log = read_log(corpus / name)
        found = judge_log(log, find_round(usage, round_), Profile.VERIFIER, name).findings
        errors = [finding for finding in found if finding.severity is Severity.ERROR]
        keys = {finding.key for finding in errors if finding.key}
        if verdict["ok"] is None:
            same = bool(errors)
        else:
            same = (not errors, keys) == (verdict["ok"], set(verdict["keys"]))
        if not same:
            wrong.append((name, verdict, sorted(keys)))
    assert wrong == []
    assert len(verdicts) > 1000


# --- generated logs ---


def test_every_good_log_gets_the_verdict_of_the_official_checker(tmp_path: Path) -> None:
    wrong = []
    for which in VERIFIED:
        found = difference(build_log(which).bytes(), which.usage, which.round, tmp_path / "log.txt")
        wrong += [(str(which), found)] if found else []
    assert wrong == []


def damaged(count: int, seed: int) -> Iterator[tuple[LogKind, str, bytes]]:
    """Generated logs with one damage each: rounds evenly, revealing kinds more often."""
    rng = random.Random(seed)
    rounds = sorted({which[:2] for which in VERIFIED})
    for _ in range(count):
        of = rng.choice(rounds)
        which = rng.choice([each for each in VERIFIED if each[:2] == of])
        data, kind = build_log(which).bytes(), pick_kind(rng)
        while (done := damage(data, kind, rng)) is None:
            kind = rng.choice(KINDS)
        yield which, kind, done


def test_damaged_logs_get_the_verdict_and_keys_of_the_official_checker(tmp_path: Path) -> None:
    wrong = []
    for which, kind, data in damaged(400, seed=20):
        found = difference(data, which.usage, which.round, tmp_path / "log.txt")
        wrong += [(str(which), kind, found)] if found else []
    assert wrong == []


def test_damaged_published_logs_get_the_verdict_of_the_official_checker(corpus: Path) -> None:
    cases = [parity_long.compare((recipe, None)) for recipe in parity_long.recipes(100, 77, None)]
    assert [case.recipe for case in cases if case.differs] == []


def one_of_each_round() -> list[LogKind]:
    """The last kind of log of each round, and all kinds of 0.6, whose rules depend on all lines."""
    last = {which[:2]: which for which in VERIFIED}
    return [w for w in VERIFIED if w.round == "0.6" or w == last[w[:2]]]


@pytest.mark.parametrize("which", one_of_each_round(), ids=str)
def test_a_log_without_one_key_gets_the_verdict_of_the_official_checker(
    tmp_path: Path, which: LogKind
) -> None:
    log = build_log(which)
    wrong = {}
    for key in log.names():
        data = log.drop(key).bytes()
        wrong[key] = difference(data, which.usage, which.round, tmp_path / "log.txt")
    assert {key: found for key, found in wrong.items() if found} == {}


def foreign(count: int, seed: int) -> Iterator[tuple[LogBuilder, tuple[str, str]]]:
    """Logs of one round, each with another round by which to judge it."""
    rng = random.Random(seed)
    rounds = sorted({which[:2] for which in VERIFIED})
    for _ in range(count):
        which = rng.choice(cases())
        yield build_log(which), rng.choice([each for each in rounds if each != which[:2]])


def test_logs_judged_by_another_round_get_the_official_verdict(tmp_path: Path) -> None:
    wrong = []
    for log, (usage, round_) in foreign(150, seed=8):
        found = difference(log.bytes(), usage, round_, tmp_path / "log.txt")
        wrong += [(str(log.which), round_, found)] if found else []
    assert wrong == []


def awkward(log: LogBuilder) -> Iterator[tuple[str, bytes]]:
    """A good log in irregular forms that real files have."""
    data, line = log.bytes(), log.lines[0].bytes
    yield "crlf", data.replace(b"\n", b"\r\n")
    yield "cr", data.replace(b"\n", b"\r")
    yield "cr within a record", data.replace(b'"value": ', b'\r"value": ', 1)
    yield "no last newline", data.removesuffix(b"\n")
    yield "cut short", data[:-20]
    yield "prefixes", b"".join(b" 3: " + text + b"\n" for text in data.splitlines())
    yield "latin-1", b"caf\xe9 " + data
    yield "glued", data.replace(b"\n", b" ", 1)
    yield "empty", b""
    yield "noise", b"epoch 1\n"
    yield "token alone", data + b":::MLLOG \n"
    yield "null", data + b":::MLLOG null\n"
    yield "no object", data + b":::MLLOG [1]\n"
    yield "older token", b":::MLL 1.5 a: {}\nMLPerf: resnet\n" + data
    yield "first line twice", line + b"\n" + data
    yield "value missing", data + b':::MLLOG {"key": "zz", "time_ms": 1, "metadata": {}}\n'
    yield "0.6 without value", data + b':::MLL 1.5 zz: {"metadata": {}}\n'
    yield "0.6 without object", data + b":::MLL 1.5 zz: 5\n"
    yield "0.6 python literal", data + b":::MLL 1.5 zz: {'value': 1, 'metadata': {}}\n"


@pytest.mark.parametrize("shape", [name for name, _ in awkward(build_log(VERIFIED[0]))])
def test_irregular_files_get_the_verdict_of_the_official_checker(
    tmp_path: Path, shape: str
) -> None:
    chosen = {which.round: which for which in VERIFIED if which.round in ("0.6", "2.0", "5.1")}
    for which in chosen.values():
        data = dict(awkward(build_log(which)))[shape]
        assert difference(data, which.usage, which.round, tmp_path / "log.txt") == "", which


# --- long run ---


@pytest.mark.long
def test_at_most_one_in_1000_damaged_logs_gets_another_verdict(corpus: Path) -> None:
    count = usually(6_000, 25_000)
    tasks = ((recipe, None) for recipe in parity_long.recipes(count, 1, None))
    wrong = [case for case in parity_long._compared(tasks, 2) if case.wrong_verdict]
    assert len(wrong) <= count // 1000, [case.recipe for case in wrong]
