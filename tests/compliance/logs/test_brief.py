"""Logs of which only what rules look at is read: the verdict must be that of all of it."""

from __future__ import annotations

import ast
import random
import re
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import rules
from podium.compliance.logs.judge import LogVerdict, judge_log
from podium.logging_spec.reader.read import Log, parse_log, read_log
from podium.logging_spec.reader.record import MEMBERS
from podium.rules.finding import Profile
from podium.rules.round import Round
from tests import damage
from tests.builders import LogBuilder, Which, build, cases

WHICH = (
    ("training", "6.1", "closed", "llama31_8b"),
    ("training", "4.0", "closed", "stable_diffusion"),
    ("training", "2.0", "closed", "bert"),
    ("training", "1.0", "open", "unet3d"),
    ("hpc", "3.0", "closed", "openfold"),
)


def both(data: bytes, folder: Path) -> tuple[Log, Log]:
    """The file read whole, and read in brief."""
    path = folder / "result_0.txt"
    path.write_bytes(data)
    return read_log(path), read_log(path, brief=True)


def judged(log: Log, rules: Round, profile: Profile) -> LogVerdict:
    return judge_log(log, rules, profile, "result_0.txt", with_facts=True)


def the_same(data: bytes, rules: Round, folder: Path) -> Log:
    """Check that both readings are judged alike; returns the brief one."""
    for profile in Profile:
        whole, brief = both(data, folder)
        assert repr(judged(brief, rules, profile)) == repr(judged(whole, rules, profile))
    return brief


@cache
def words() -> list[str]:
    """Every text in the source that may be the name of a member."""
    found: set[str] = set()
    root = Path(rules.__file__).parents[1]
    for package in ("rules", "compliance", "logging_spec"):
        for path in (root / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value.rpartition(".")[2])
    return sorted(word for word in found if re.fullmatch("[a-z_]{4,24}", word))


def with_metadata(log: LogBuilder, keep: bool) -> LogBuilder:
    """Every word as a member of some records; the members that rules look at kept, or dropped."""
    others = {word: 3 for word in words() if word not in MEMBERS}

    def change(record: Any) -> Any:
        kept = {name: value for name, value in record.metadata.items() if keep}
        return msgspec.structs.replace(record, metadata=others | kept)

    for key in log.names():
        for only in range(min(2, len(log.where(key)))):
            log = log.change(key, change, only)
    return log


@pytest.mark.parametrize("keep", [True, False], ids=["beside", "instead"])
@pytest.mark.parametrize("which", WHICH, ids=" ".join)
def test_rules_look_at_no_other_member(
    which: tuple[str, str, str, str], keep: bool, tmp_path: Path
) -> None:
    log = with_metadata(build(*which), keep)
    assert len(words()) > 500
    brief = the_same(log.bytes(), log.which.rules, tmp_path)
    assert brief.written is not None
    assert all(record.metadata.keys() <= MEMBERS for record in brief.records)


@pytest.mark.parametrize(
    "which", [w for w in cases() if w.rules.generation == "mllog"][::60], ids=str
)
def test_a_damaged_log_is_judged_alike(which: Which, tmp_path: Path) -> None:
    data = build(which.usage, which.round, which.division, which.benchmark, which.choices).bytes()
    for _, damaged in islice(damage.damages(data, random.Random(str(which))), 25):
        the_same(damaged, which.rules, tmp_path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(sorted(MEMBERS)) | st.text(), JSON | st.text()))
def test_members_are_those_written(
    tmp_path_factory: pytest.TempPathFactory, metadata: dict[str, Any]
) -> None:
    fields = {"key": "seed", "time_ms": 5, "value": 1, "metadata": metadata}
    line = b":::MLLOG " + msgspec.json.encode(fields) + b"\n"
    whole, brief = both(line, tmp_path_factory.mktemp("log"))
    known = {name: value for name, value in metadata.items() if name in MEMBERS}
    assert brief.records[0].metadata == known
    assert brief.entire(0) == whole.records[0]


@pytest.mark.parametrize(
    "written", [b'"caf\xe9.py"', b"1e999", b'"a\\u00e9"', b'[{"deep": [null]}]'], ids=repr
)
def test_what_is_passed_over_can_still_be_told(written: bytes, tmp_path: Path) -> None:
    line = b':::MLLOG {"key": "seed", "time_ms": 5, "value": 1, "metadata": {"file": %s}}\n'
    whole, brief = both(b"noise\n" + line % written, tmp_path)
    assert not brief.faults
    assert not whole.faults
    assert brief.entire(0) == whole.records[0]
    assert brief.line(0) == whole.line(0) == 2


@pytest.mark.parametrize(
    "written", [b'"a', b"01", b"1.", b'"\\x"', b"nul", b"{,}", b'"\t"', b"[" * 2000], ids=repr
)
def test_what_is_passed_over_must_be_json(written: bytes, tmp_path: Path) -> None:
    line = b':::MLLOG {"key": "seed", "time_ms": 5, "value": 1, "metadata": {"file": %s}}\n'
    whole, brief = both(line % written, tmp_path)
    assert brief.faults == whole.faults == parse_log(line % written).faults
    assert len(brief.faults) == 1
