"""Fuzz targets: functions that accept bytes and raise an exception if podium misbehaves.

A target accepts any bytes. Findings and a ComplianceError are correct answers to bad input. Any
other exception, a finding on an internal error, or output with control characters is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from podium.compliance.errors import ComplianceError
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.systems.check import judge_description, parse_description
from podium.compliance.reporting.conclusion import conclude
from podium.compliance.reporting.data import (
    FileEntry,
    Outcome,
    ResultEntry,
    Rules,
    SubmissionEntry,
)
from podium.compliance.reporting.render import FORMATS, renderer
from podium.compliance.tools.bundling.format.members import Limits
from podium.compliance.tools.bundling.unpack import UnpackOptions, unpack
from podium.logging_spec.limits import read_toml
from podium.logging_spec.reader.read import parse_log
from podium.rules import rounds
from podium.rules.finding import Finding, Profile, Severity
from tests.hostile_calls import CONTROL


def _has_message(error: Exception) -> None:
    assert str(error), "an error without a message"


ROUNDS = [rounds[key] for key in rounds]
SOME = [rounds["training", name] for name in ("5.1", "0.6")] + [rounds["hpc", "3.0"]]


def reader(data: bytes) -> None:
    """Judge a log by the rules of the round that the first byte selects."""
    rules = ROUNDS[data[0] % len(ROUNDS)] if data else ROUNDS[-1]
    for profile in Profile:
        log = parse_log(data[1:], rules.generation)
        log.all_records()
        found = judge_log(log, rules, profile, "result_0.txt", with_facts=True).findings
        assert not [each for each in found if each.id.startswith("internal.")], found
        assert all(each.line is None or each.line > 0 for each in found)


def toml(data: bytes) -> None:
    """Read a TOML file. Within the limits, the result is the same as that of `tomllib`."""
    text = data.decode("utf-8", "replace")
    try:
        found = read_toml(text)
    except ValueError as error:
        _has_message(error)
        return
    assert repr(found) == repr(tomllib.loads(text))


def system(data: bytes) -> None:
    """Parse a system description as far as possible and judge it by some rounds."""
    document = parse_description(data)
    for rules in SOME:
        for profile in Profile:
            judge_description(document, "systems/s.json", rules, profile, by_schema=True)


def unpacked(data: bytes) -> None:
    """Unpack an archive completely inside its folder, or refuse it and leave no files."""
    shm = "/dev/shm"
    place = Path(tempfile.mkdtemp(dir=shm if os.path.isdir(shm) else None, prefix="podium-fuzz."))
    output, limits = place / "in/out", Limits(size=1 << 24, members=1000)
    try:
        output.parent.mkdir()
        (place / "a.tar").write_bytes(data)
        try:
            unpack(place / "a.tar", output, UnpackOptions(limits=limits, durable=False))
        except ComplianceError as error:
            _has_message(error)
            assert os.listdir(output.parent) == []
        else:
            for folder, folders, names in os.walk(output):
                for name in (*folders, *names):
                    real = os.path.realpath(os.path.join(folder, name))
                    assert real.startswith(f"{output}/"), f"{name} leads out"
        assert sorted(os.listdir(place)) == ["a.tar", "in"]
    finally:
        shutil.rmtree(place)


RULES = Rules(usage="training", round="5.1", profile="policy", chosen_by="folder")


def renderers(data: bytes) -> None:
    """Render a report whose paths, messages and values are parts of the bytes.

    The first byte selects the format. It also selects whether invalid UTF-8 is replaced, or kept as
    surrogates, as in names of files.
    """
    first = data[0] if data else 0
    name, halves = FORMATS[first % len(FORMATS)], "surrogateescape" if first & 128 else "replace"
    said = renderer(name)(_report(data[1:].decode("utf-8", halves).split("\x00")))
    assert not (found := CONTROL.search(said)), f"{name} prints {found!r}"
    if name in ("json", "sarif"):
        json.loads(said)
    elif name == "junit":
        ElementTree.fromstring(said)


def _report(texts: list[str]) -> Outcome:
    def text(number: int) -> str:
        return texts[number % len(texts)]

    findings = [
        Finding(
            f"a.{text(place)}",
            list(Severity)[place % 3],
            text(place + 1),
            len(text(place)) or None,
            text(place + 2),
            text(place + 3),
            expected=text(place + 4),
            actual=text(place + 5),
            hint=text(place + 6),
            cites=text(place + 7),
        )
        for place in range(0, 8 * 4, 8)
    ]
    one = {"path": text(1), "submitter": text(2)}
    files = [FileEntry(path=text(1), kind="log", verdict="fail", benchmark=text(3), division="x")]
    result = ResultEntry(
        **one,
        system=text(4),
        benchmark=text(5),
        division=text(6),
        verdict="rejected",
        runs=5,
        failed_runs=1,
    )
    submission = SubmissionEntry(**one, verdict="rejected")
    return conclude(
        RULES, files=files, findings=findings, submissions=[submission], results=[result]
    )


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reader": reader,
    "toml": toml,
    "system": system,
    "unpack": unpacked,
    "renderers": renderers,
}
SEEDS = Path(__file__).parent / "seeds"


def seeds(name: str) -> Iterator[Path]:
    """Return the seeds of a target."""
    return iter(sorted((SEEDS / name).iterdir()))
