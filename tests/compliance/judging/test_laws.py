"""Properties of judging: changes of a log that do not change its findings."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podium.compliance.cli.entry import run
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.reporting.render import FORMATS
from podium.logging_spec.reader.read import parse_log
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from tests.builders import Line, LogBuilder, LogKind, all_of, build, build_log, cases, effective

PROFILES = list(Profile)

Said = Counter[tuple[Any, ...]]


def said(log: LogBuilder, profile: Profile) -> Said:
    """The findings without their lines."""
    return Counter(map(_said, log.judge(profile).findings))


def _said(f: Finding) -> tuple[Any, ...]:
    return (f.id, f.severity, f.key, f.message, f.expected, repr(f.actual), f.hint)


def some(seed: int, count: int, wanted: tuple[str, ...] = ()) -> list[LogKind]:
    """A few kinds of log: one for each round, then random ones."""
    rng = random.Random(seed)
    rounds: dict[tuple[str, str], list[LogKind]] = {}
    for which in cases():
        rounds.setdefault(which[:2], []).append(which)
    chosen = [
        rng.choice(each)
        for each in rounds.values()
        if not wanted or each[0].rules.generation in wanted
    ]
    return [*chosen, *rng.sample(cases(), count)]


def broken(log: LogBuilder, rng: random.Random) -> LogBuilder:
    """The log with one changed value, so that it has a finding."""
    fixed = [
        name
        for name, (_, row) in effective(log.which).items()
        if row.each and name in log.names() and not name.startswith("submission_")
    ]
    return log.set(rng.choice(sorted(fixed)), 31.37)


# --- order ---


def order_matters(which: LogKind) -> set[str]:
    """Rules with formulas, which the official verifier evaluates from the lines above only."""
    return {
        rule
        for rule, row in effective(which).values()
        for constraint in all_of(row)
        if any(name in constraint.text() for name in effective(which))
    }


@pytest.mark.parametrize("which", some(1, 20, ("mllog",)), ids=str)
def test_the_order_of_hyperparameters_does_not_change_policy_findings(which: LogKind) -> None:
    rng = random.Random(str(which))
    for log in (build_log(which), broken(build_log(which), rng)):
        before = said(log, Profile.POLICY)
        for _ in range(3):
            shuffled = log.shuffled(rng)
            found = shuffled.judge(Profile.POLICY).findings
            # The official verifier is known to fail on a formula above the values that it needs.
            troubled = [
                f
                for f in found
                if (f.severity, f.stated_by) == (Severity.WARNING, StatedBy.VERIFIER)
                and f.id in order_matters(which)
            ]
            rest = Counter(_said(f) for f in found if f not in troubled)
            assert rest - before == Counter(), which
            lost = before - rest
            assert {key[0] for key in lost} <= {f.id for f in troubled}, which


def test_decay_steps_may_precede_warmup_steps(good: LogBuilder) -> None:
    log = good.move("opt_learning_rate_decay_steps", before="opt_learning_rate_warmup_steps")
    late = good.move("opt_learning_rate_decay_steps", after="opt_learning_rate_warmup_steps")
    assert late.judge().findings == []
    assert [f for f in log.judge(Profile.POLICY).findings if f.severity == "error"] == []
    (finding,) = log.judge(Profile.VERIFIER).findings
    assert "not logged before this record" in finding.message


# --- text that rules ignore ---


def everywhere(log: LogBuilder, make: Any) -> LogBuilder:
    """The log with an additional line before every third line."""
    lines: list[Line] = []
    for place, line in enumerate(log.lines):
        lines += [make(place, line), line] if place % 3 == 0 else [line]
    return LogBuilder(log.which, tuple(lines))


def check_unchanged(log: LogBuilder, other: LogBuilder) -> None:
    """Assert that both logs have the same findings, at the lines of the same records."""
    for profile in PROFILES:
        assert said(other, profile) == said(log, profile)
        before, after = log.bytes().splitlines(), other.bytes().splitlines()
        places = [f.line for f in log.judge(profile).findings]
        others = [f.line for f in other.judge(profile).findings]
        old = [before[line - 1] if line else b"" for line in places]
        new = [after[line - 1] if line else b"" for line in others]
        assert [text[text.find(b":::") :] for text in new] == [
            text[text.find(b":::") :] for text in old
        ]


@pytest.mark.parametrize("which", some(2, 8), ids=str)
def test_unknown_keys_do_not_change_the_findings(which: LogKind) -> None:
    log = broken(build_log(which), random.Random(str(which)))

    def unknown(place: int, line: Line) -> Line:
        assert line.record is not None
        known = log.lines[place].record
        assert known is not None
        return Line(None, "", text=line.bytes.replace(known.key.encode(), b"zz_of_my_own", 1))

    check_unchanged(log, everywhere(log, unknown))


NOISE = (
    b"epoch 3: loss 2.31, 120 samples/s",
    b"\x1b[32m 50%|\xe2\x96\x88\xe2\x96\x88 | 12/24",
    b"caf\xe9 \xff\xfe",
    b"",
    b'{"key": "run_start", "time_ms": 1, "value": null, "metadata": {}}',
    b"MLPerf MLLOG ::::",
)


@pytest.mark.parametrize("which", some(3, 8), ids=str)
def test_lines_without_a_token_do_not_change_the_findings(which: LogKind) -> None:
    rng = random.Random(str(which))
    log = broken(build_log(which), rng)
    noisy = everywhere(log, lambda *_: Line(None, "", text=rng.choice(NOISE)))
    check_unchanged(log, noisy)


PREFIXES = (
    b"0: ",
    b" 12: ",
    b"[0] ",
    b"[1,11]<stdout>:",
    b"\x1bOM\x1b[0m",
    b"I0518 21:33:07.307321 427370 mllog.py:168] ",
    b"node17 caf\xe9 50%|\xe2\x96\x88| ",
)


@pytest.mark.parametrize("which", some(4, 8), ids=str)
def test_text_before_the_token_does_not_change_the_findings(which: LogKind) -> None:
    rng = random.Random(str(which))
    log = broken(build_log(which), rng)
    lines = tuple(Line(None, "", text=rng.choice(PREFIXES) + line.bytes) for line in log.lines)
    check_unchanged(log, LogBuilder(which, lines))


@pytest.mark.parametrize("which", some(5, 4), ids=str)
def test_line_endings_do_not_change_the_verdict(which: LogKind) -> None:
    log = broken(build_log(which), random.Random(str(which)))
    for end in (b"\r\n", b"\r"):
        data = log.bytes().replace(b"\n", end)
        for profile in PROFILES:
            verdict = judge_log(parse_log(data), which.rules, profile, "result_0.txt")
            assert verdict == log.judge(profile)


# --- several errors ---

NEAR = b':::MLLOG {"key": "zz", "time_ms": 1750000000000, "value": 1, "metadata": {}}'

FAULTS: dict[str, Any] = {
    "value": lambda log: log.set("opt_adamw_beta_1", 0.5),
    "other value": lambda log: log.set("eval_samples", 3),
    "absent": lambda log: log.drop("opt_name"),
    "repeated": lambda log: log.repeat("max_steps", 7),
    "metadata": lambda log: log.meta("block_stop", "first_epoch_num", "samples_count", only=0),
    "status": lambda log: log.meta("run_stop", "status"),
    "target": lambda log: log.set("eval_accuracy", 9.9),
    "slow start": lambda log: log.shift("init_stop", 500),
    "organisation": lambda log: log.set("submission_org", ""),
    "json": lambda log: log.noise(3, b':::MLLOG {"key": "seed", "value'),
    "object": lambda log: log.noise(9, b":::MLLOG [1]"),
    "glued": lambda log: log.noise(5, build_log(log.which).lines[0].bytes[:-1] + b"}" + NEAR),
}


@pytest.mark.parametrize(("one", "two"), list(combinations(FAULTS, 2)))
def test_two_independent_errors_are_both_found(good: LogBuilder, one: str, two: str) -> None:
    for profile in PROFILES:
        first, second = said(FAULTS[one](good), profile), said(FAULTS[two](good), profile)
        assert first
        assert second
        both = said(FAULTS[two](FAULTS[one](good)), profile)
        assert _ids(both) == _ids(first) | _ids(second)


def _ids(found: Said) -> set[tuple[str, str]]:
    return {(key[0], key[1]) for key in found}


def test_all_errors_of_one_log_are_found(good: LogBuilder) -> None:
    log, wanted = good, set()
    for fault in FAULTS.values():
        wanted |= _ids(said(fault(good), Profile.VERIFIER))
        log = fault(log)
    assert _ids(said(log, Profile.VERIFIER)) == wanted


# --- reports ---


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many logs, good and bad, in folders: enough for more than one process."""
    root = tmp_path_factory.mktemp("logs")
    good = build("training", "5.1", "closed", "llama31_8b")
    faults = [*FAULTS.values()]
    noise = b"x" * 30_000
    for number in range(180):
        log = faults[number % len(faults)](good) if number % 5 else good
        folder = root / f"system{number % 7}" / f"bench{number % 3}"
        log.noise(4, noise).write(folder / f"result_{number}.txt")
    return root


def test_the_report_does_not_depend_on_the_number_of_processes(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for jobs in ("1", "2", "5"):
        assert run(["check", str(tree), "--round", "5.1", "--format", "json", "--jobs", jobs]) == 1
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
    report = json.loads(printed[0])
    assert len(report["files"]) == 180
    for name in FORMATS:
        outputs = {
            _written(tree, tmp_path / f"{name}{jobs}", name, jobs).read_bytes() for jobs in (1, 3)
        }
        assert len(outputs) == 1


def _written(tree: Path, output: Path, name: str, jobs: int) -> Path:
    options = ["--round", "5.1", "--format", name, "--jobs", str(jobs), "--output", str(output)]
    assert run(["check", str(tree), *options]) == 1
    return output


def test_findings_and_files_are_sorted(tree: Path) -> None:
    report = check_paths([tree], Options(round="5.1", jobs=2))
    keys = [
        (f.path, f.line if f.line is not None else 1 << 60, f.id, f.message)
        for f in report.findings
    ]
    assert keys == sorted(keys)
    assert [entry.path for entry in report.files] == sorted(entry.path for entry in report.files)
    assert len({entry.path for entry in report.files}) == 180


def test_a_file_has_the_same_findings_alone_and_in_a_tree(tree: Path) -> None:
    report = check_paths([tree], Options(round="5.1"))
    for entry in report.files[::37]:
        alone = check_paths([tree / entry.path], Options(round="5.1"))
        together = [replace(f, path="") for f in report.findings if f.path == entry.path]
        assert [replace(f, path="") for f in alone.findings] == together
