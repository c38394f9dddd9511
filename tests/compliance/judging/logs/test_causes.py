"""An error of a whole log is one finding, with the first line and the number of lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance import check
from podium.compliance.reporting.models import FindingEntry
from tests.builders import LogBuilder, build
from tests.compliance.command_line import podium

Damage = Callable[[list[str]], list[str]]

BAR = "Epoch 0:   3%|3         | 8/256 [00:01<00:31]"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    log = build("training", "5.1", "closed", "llama31_8b")
    return ["starting", *log.bytes().decode().splitlines(), "the end"]


def judged(path: Path, lines: list[str]) -> tuple[list[FindingEntry], list[FindingEntry]]:
    """The findings of a log without a cause, and the findings with a cause."""
    path.write_text("\n".join(lines) + "\n")
    findings = check(path, round="5.1").findings
    assert not [each.id for each in findings if each.caused_by and each.hint]
    own = [each for each in findings if not each.caused_by]
    return own, [each for each in findings if each.caused_by]


def without(field: str) -> Damage:
    def damage(lines: list[str]) -> list[str]:
        found = []
        for line in lines:
            head, token, body = line.partition(":::MLLOG ")
            record = json.loads(body) if token else {}
            record.pop(field, None)
            found.append(f"{head}{token}{json.dumps(record)}" if token else line)
        return found

    return damage


def docker(lines: list[str]) -> list[str]:
    return [json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "t"}) for line in lines]


def tokens(change: Callable[[str], str]) -> Damage:
    """Apply a change to every line that has a record."""
    return lambda lines: [change(line) if ":::MLLOG " in line else line for line in lines]


WHOLE: dict[str, tuple[Damage, str]] = {
    "a progress bar after each record": (tokens(lambda line: line + BAR), "log.text-after-record"),
    "a word after each record": (tokens(lambda line: line + " done"), "log.text-after-record"),
    "Docker's log files": (docker, "log.quoted-record"),
    "a collector's lines": (
        lambda lines: [json.dumps({"ts": 1, "message": line}) for line in lines],
        "log.quoted-record",
    ),
    "a color after each record": (
        tokens(lambda line: f"\x1b[32m{line}\x1b[0m"),
        "log.color-codes",
    ),
    "a highlighted token": (
        tokens(lambda line: line.replace(":::MLLOG", "\x1b[01;31m\x1b[K:::MLLOG\x1b[m\x1b[K")),
        "log.color-codes",
    ),
    "no colons": (tokens(lambda line: line.replace(":::MLLOG", "MLLOG")), "log.missing-token"),
    "one colon": (tokens(lambda line: line.replace(":::MLLOG", ":MLLOG")), "log.missing-token"),
    "no space": (tokens(lambda line: line.replace(":::MLLOG ", ":::MLLOG")), "log.missing-token"),
    "single colons": (tokens(lambda line: line.replace(":::", "::: ")), "log.missing-token"),
    "no time_ms": (without("time_ms"), "log.missing-field"),
    "single quotes": (tokens(lambda line: line.replace('"', "'")), "log.not-json"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_an_error_of_every_line_is_one_finding(name: str, tmp_path: Path, lines: list[str]) -> None:
    damage, rule = WHOLE[name]
    own, caused = judged(tmp_path / "result_0.txt", damage(lines))
    [found] = own
    assert (found.id, found.line, found.severity) == (rule, 2, "error")
    count = len(lines) - 2
    assert f"({count} such lines, from line 2 to line {count + 1})" in found.message
    assert found.hint
    assert "log.no-records" in {each.id for each in caused}


@pytest.mark.parametrize("name", WHOLE)
def test_a_damaged_line_is_the_cause_of_its_missing_key(
    name: str, tmp_path: Path, lines: list[str]
) -> None:
    damage, rule = WHOLE[name]
    place = next(i for i, line in enumerate(lines) if '"key": "global_batch_size"' in line)
    broken = [*lines[:place], *damage(lines[place : place + 1]), *lines[place + 1 :]]
    own, caused = judged(tmp_path / "result_0.txt", broken)
    assert [(each.id, each.line) for each in own] == [(rule, place + 1)]
    assert {each.key for each in caused} >= {"global_batch_size"}


@pytest.mark.parametrize("name", ["a progress bar after each record", "no time_ms"])
def test_values_on_damaged_but_readable_lines_are_still_judged(
    name: str, tmp_path: Path, lines: list[str]
) -> None:
    wrong = [
        line.replace('"value": 0.95', '"value": 0.5') if "opt_adamw_beta_2" in line else line
        for line in lines
    ]
    assert wrong != lines
    damage, rule = WHOLE[name]
    own, _ = judged(tmp_path / "result_0.txt", damage(wrong))
    assert [each.id for each in own] == [rule, "closed.llama31_8b.opt_adamw_beta_2"]


def test_records_without_any_token_are_reported(tmp_path: Path, lines: list[str]) -> None:
    bare = [line.replace(":::MLLOG ", "") for line in lines]
    [found], _ = judged(tmp_path / "result_0.txt", bare)
    assert (found.id, found.line) == ("log.missing-token", 2)


def test_text_after_a_record_is_quoted_in_the_message(tmp_path: Path, lines: list[str]) -> None:
    own, _ = judged(tmp_path / "result_0.txt", [*lines[:9], lines[9] + BAR, *lines[10:]])
    assert own[0].message == f"text follows the record: {BAR[:40]}..."
    assert "truncated" not in own[0].message


# --- truncated files ---


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_file_that_ends_within_a_record_is_reported_as_truncated(
    share: float, end: str, tmp_path: Path, lines: list[str]
) -> None:
    place = int(len(lines) * share)
    path = tmp_path / "result_0.txt"
    path.write_text("\n".join([*lines[:place], lines[place][:70]]) + end)
    findings = check(path, round="5.1").findings
    assert [(each.id, each.line) for each in findings if not each.caused_by] == [
        ("log.truncated", place + 1)
    ]
    assert len(findings) > 1


MARKS = [
    "... [output truncated] ...",
    "<truncated>",
    "[1532 lines truncated]",
    "--- 120 lines omitted ---",
    "Job's log exceeded limit of 4194304 bytes.",
    "The log was truncated",
    "[log truncated]",
    "... truncated ...",
    "... 3,812 lines skipped ...",
    "[snip]",
    "WARNING: output truncated, see the artifact",
]


@pytest.mark.parametrize("mark", MARKS)
def test_a_truncation_mark_is_the_cause_of_missing_records(
    mark: str, tmp_path: Path, lines: list[str]
) -> None:
    first, last = len(lines) // 2, len(lines) - 6
    own, caused = judged(tmp_path / "result_0.txt", [*lines[:first], mark, *lines[last:]])
    assert [(each.id, each.line) for each in own] == [("log.cut-out", first + 1)]
    assert caused


@pytest.mark.parametrize("mark", MARKS)
def test_a_truncation_mark_in_a_complete_log_is_a_note(
    mark: str, tmp_path: Path, lines: list[str]
) -> None:
    own, caused = judged(tmp_path / "result_0.txt", [*lines, mark])
    assert [(each.id, each.severity) for each in own] == [("log.cut-out", "note")]
    assert not caused


@pytest.mark.parametrize(
    "noise",
    [
        "using truncated_normal for the weights",
        "submitted batch job 4711",
        "sequences are truncated to 512 tokens",
        "MLLOG is configured",
        "import mllog; MLLOGGER = {}",
        "skipped 0 batches",
        "snippets: 12",
        "time limit exceeded by no rank",
        "Truncated incorrect DOUBLE value",
    ],
)
def test_ordinary_output_is_not_a_truncation_mark(
    noise: str, tmp_path: Path, lines: list[str]
) -> None:
    assert judged(tmp_path / "result_0.txt", [noise, *lines, noise]) == ([], [])


# --- several runs ---


def later(lines: list[str], minutes: float) -> list[str]:
    """The same lines, logged this many minutes later."""
    found = []
    for line in lines:
        head, token, body = line.partition(":::MLLOG ")
        if token:
            record = json.loads(body)
            record["time_ms"] += int(minutes * 60_000)
            line = head + token + json.dumps(record)
        found.append(line)
    return found


def place_of(lines: list[str], key: str) -> int:
    return next(i for i, line in enumerate(lines) if f'"key": "{key}"' in line)


@pytest.mark.parametrize("until", ["init_stop", "run_start", "eval_accuracy", "run_stop", "end"])
def test_two_attempts_in_one_log_are_one_finding(
    until: str, tmp_path: Path, lines: list[str]
) -> None:
    end = len(lines) if until == "end" else place_of(lines, until)
    first = [*lines[:end], "torch.OutOfMemoryError", "srun: job 2 started"]
    both = [*first, *later(lines, 600)]
    own, caused = judged(tmp_path / "result_0.txt", both)
    keys = ("init_start", "submission_benchmark")
    second = len(first) + min(place_of(lines, key) for key in keys) + 1
    [found] = own
    assert (found.id, found.line, found.severity) == ("log.several-attempts", second, "error")
    ended = "ended with run_stop" if until == "end" else "ended without run_stop"
    assert f"contains 2 runs: the second begins at line {second}, and the first {ended}" in (
        found.message
    )
    assert len(caused) > 10
    assert "one process" not in found.hint


def test_all_attempts_are_counted(tmp_path: Path, lines: list[str]) -> None:
    end = place_of(lines, "eval_accuracy")
    three = [*lines[:end], *later(lines[:end], 300), *later(lines, 600)]
    own, _ = judged(tmp_path / "result_0.txt", three)
    [found] = own
    assert found.id == "log.several-attempts"
    assert "contains 3 runs" in found.message
    assert "further runs at line" in found.message


def test_records_repeated_by_ranks_are_not_attempts(tmp_path: Path, lines: list[str]) -> None:
    own, _ = judged(tmp_path / "result_0.txt", [line for line in lines for _ in range(2)])
    assert [each.id for each in own] == ["log.repeated-by-ranks"]


def test_watch_reports_the_second_attempt(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "result_0.txt"
    path.write_text("\n".join([*lines[: place_of(lines, "run_stop")], *later(lines, 600)]) + "\n")
    done = podium("watch", "--once", path, "--round", "5.1")
    assert done.exit_code == 1
    assert "log.several-attempts" in done.stdout
    assert "from one process only" not in done.stdout


# --- time units ---


def in_unit(lines: list[str], factor: float, keys: tuple[str, ...] = ()) -> list[str]:
    found = []
    for line in lines:
        head, token, body = line.partition(":::MLLOG ")
        if token:
            record = json.loads(body)
            if not keys or record["key"] in keys:
                record["time_ms"] *= factor
            line = head + token + json.dumps(record)
        found.append(line)
    return found


@pytest.mark.parametrize(
    ("factor", "unit", "effect"),
    [
        (0.001, "seconds", "1000 times too good"),
        (1000, "microseconds", "1000 times too bad"),
        (1_000_000, "nanoseconds", "1000000 times too bad"),
    ],
)
@pytest.mark.parametrize("keys", [(), ("run_start", "run_stop"), ("run_stop",)])
def test_times_in_another_unit_are_an_error(
    factor: float, unit: str, effect: str, keys: tuple[str, ...], tmp_path: Path, lines: list[str]
) -> None:
    own, _ = judged(tmp_path / "result_0.txt", in_unit(lines, factor, keys))
    [found] = own
    assert (found.id, found.severity) == ("run.time-unit", "error")
    assert f"time_ms looks like {unit}" in found.message
    assert effect in found.message
    first = 2 if not keys else place_of(lines, keys[0]) + 1
    assert found.line == first


def test_a_clock_that_starts_at_boot_is_only_a_note(tmp_path: Path, lines: list[str]) -> None:
    log = build("training", "5.1", "closed", "llama31_8b")
    start = log.first("run_start").time_ms
    moved = later(lines, -(start - 3_600_000) / 60_000)
    own, _ = judged(tmp_path / "result_0.txt", moved)
    assert {(each.id, each.severity) for each in own} == {("run.clock-implausible", "note")}


@pytest.mark.parametrize("unit", [0.001, 1])
def test_a_clock_that_does_not_start_in_1970_is_an_error_only_in_seconds(
    unit: float, tmp_path: Path, lines: list[str]
) -> None:
    first = json.loads(lines[1].partition(":::MLLOG ")[2])["time_ms"]
    counted = in_unit(later(lines, -(first - 5_000) / 60_000), unit)
    own, _ = judged(tmp_path / "result_0.txt", counted)
    [found] = own
    assert (found.id, found.severity) == (
        ("run.time-unit", "error") if unit < 1 else ("run.clock-implausible", "note")
    )


@pytest.mark.parametrize(
    ("seconds", "unit", "factor"),
    [(60, "minutes", "60000"), (3600, "hours", "3600000"), (86_400, "days", "86400000")],
)
def test_units_longer_than_a_second_are_reported_with_their_name(
    seconds: int, unit: str, factor: str, tmp_path: Path, lines: list[str]
) -> None:
    [found], _ = judged(tmp_path / "result_0.txt", in_unit(lines, 1 / (1000 * seconds)))
    assert (found.id, found.severity) == ("run.time-unit", "error")
    assert f"time_ms looks like {unit}" in found.message
    assert f"the score would be {factor} times too good" in found.message


def test_windows_file_times_are_reported_as_units_of_100_ns(
    tmp_path: Path, lines: list[str]
) -> None:
    def since_1601(time: re.Match[str]) -> str:
        return str(int(time[0]) * 10_000 + 116_444_736_000_000_000)

    text = re.sub(r'(?<="time_ms": )\d+', since_1601, "\n".join(lines))
    [found], _ = judged(tmp_path / "result_0.txt", text.splitlines())
    assert (found.id, found.severity) == ("run.time-unit", "error")
    assert "time_ms looks like units of 100 ns" in found.message


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '"nan"'])
@pytest.mark.parametrize("key", ["run_start", "run_stop", "seed"])
def test_a_time_that_is_not_finite_is_an_error(
    value: str, key: str, tmp_path: Path, lines: list[str]
) -> None:
    place = place_of(lines, key)
    damaged = [*lines]
    damaged[place] = re.sub(r'"time_ms": \d+', f'"time_ms": {value}', lines[place])
    [found], _ = judged(tmp_path / "result_0.txt", damaged)
    assert (found.id, found.severity, found.line) == ("run.time-unit", "error", place + 1)
    assert "must be a finite number of milliseconds" in found.message


def test_a_single_time_before_1970_is_reported(tmp_path: Path, lines: list[str]) -> None:
    own, _ = judged(tmp_path / "result_0.txt", in_unit(lines, -1, ("seed",)))
    [found] = [each for each in own if each.id == "run.clock-implausible"]
    assert found.line == place_of(lines, "seed") + 1
    assert found.message.startswith("time_ms of seed is -1")


@pytest.mark.parametrize("command", ["check", "watch"])
def test_check_and_watch_fail_on_times_in_seconds(
    command: str, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "result_0.txt"
    path.write_text("\n".join(in_unit(lines, 0.001)) + "\n")
    once = ["--once"] if command == "watch" else []
    done = podium(command, *once, path, "--round", "5.1")
    assert done.exit_code == 1
    assert "looks like seconds" in " ".join(done.stdout.split())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("command", ["check", "watch"])
def test_check_and_watch_fail_on_another_encoding(
    command: str, encoding: str, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes("\n".join(lines).encode(encoding))
    once = ["--once"] if command == "watch" else []
    done = podium(command, *once, path, "--round", "5.1")
    assert done.exit_code == 1
    assert "the file is encoded in UTF-" in " ".join(done.stdout.split())


def test_lines_appended_in_utf_16_are_an_encoding_error(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "result_0.txt"
    first, rest = ("\n".join(part) + "\n" for part in (lines[:12], lines[12:]))
    path.write_bytes(first.encode() + rest.encode("utf-16-le"))
    [found] = [each for each in check(path, round="5.1").findings if not each.caused_by]
    assert (found.id, found.severity) == ("log.encoding", "error")
    assert "UTF-16 from line 13 on" in found.message


def test_a_file_of_null_bytes_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(bytes(4096))
    [found] = [each for each in check(path, round="5.1").findings if not each.caused_by]
    assert found.id == "log.no-records"
    assert "only null bytes" in found.message


# --- types ---


@pytest.mark.parametrize(
    "value", ["tensor(3.59)", "3.2", None, [3.2], [None], {"loss": 3.2}, "nan", ""]
)
def test_an_eval_accuracy_that_is_not_a_number_is_reported(value: object, tmp_path: Path) -> None:
    log: LogBuilder = build("training", "5.1", "closed", "llama31_8b").set("eval_accuracy", value)
    path = tmp_path / "result_0.txt"
    path.write_bytes(log.bytes())
    findings = check(path, round="5.1").findings
    [found] = [each for each in findings if each.id == "log.wrong-type"]
    assert found.line == log.line_of("eval_accuracy")
    assert found.message.startswith("eval_accuracy is ")
    assert "must be a number" in found.message
    assert "log.verifier-crash" not in {each.id for each in findings if not each.caused_by}
    assert check(path, round="5.1", profile="verifier").verdict == "rejected"


@pytest.mark.parametrize("value", ["0.0004", "tensor(0.0004)"])
def test_a_learning_rate_in_a_string_is_a_wrong_type(value: str, tmp_path: Path) -> None:
    log = build("training", "5.0", "closed", "llama2_70b_lora").set("opt_base_learning_rate", value)
    path = tmp_path / "result_0.txt"
    path.write_bytes(log.bytes())
    [found] = [each for each in check(path, round="5.0").findings if not each.caused_by]
    assert found.id == "log.wrong-type"
    assert found.line == log.line_of("opt_base_learning_rate")


def test_a_null_division_is_the_cause_of_all_other_findings(tmp_path: Path) -> None:
    log = build("training", "5.1", "closed", "llama31_8b").set("submission_division", None)
    path = tmp_path / "result_0.txt"
    path.write_bytes(log.bytes())
    own = [each for each in check(path, round="5.1").findings if not each.caused_by]
    assert [each.id for each in own] == ["common.submission_division"]


# --- logs that end too early ---


def test_a_log_that_ends_between_records_is_reported_without_run_stop(
    tmp_path: Path, lines: list[str]
) -> None:
    end = place_of(lines, "block_start") + 1
    own, following = judged(tmp_path / "result_0.txt", lines[:end])
    [found] = own
    assert found.id == "common.run_stop"
    assert f"the last record is block_start in line {end}" in found.hint
    assert "common.eval_stop" in {each.id for each in following}


@pytest.mark.parametrize("mark", ["[... truncated ...]", "[...truncated 1503 lines...]"])
@pytest.mark.parametrize("at", [0.3, 0.9])
def test_a_truncation_mark_within_a_record_is_reported(
    mark: str, at: float, tmp_path: Path, lines: list[str]
) -> None:
    index = place_of(lines, "run_start")
    cut = lines[index][: round(at * len(lines[index]))] + mark
    own, _ = judged(tmp_path / "result_0.txt", [*lines[:index], cut, *lines[index + 1 :]])
    [found] = own
    assert (found.id, found.line) == ("log.truncated", index + 1)
    assert mark in found.message


def test_records_without_metadata_are_one_finding(tmp_path: Path, lines: list[str]) -> None:
    own, _ = judged(tmp_path / "result_0.txt", without("metadata")(lines))
    assert [each.id for each in own] == ["log.missing-field"]


def test_an_attempt_that_ends_after_init_start_is_reported(
    tmp_path: Path, lines: list[str]
) -> None:
    clear = place_of(lines, "cache_clear")
    # Caches are cleared before initialization begins
    lines = [lines[clear], *lines[:clear], *lines[clear + 1 :]]
    begun = place_of(lines, "init_start") + 1
    own, _ = judged(tmp_path / "result_0.txt", [*lines[:begun], *later(lines, 60)])
    assert [each.id for each in own] == ["log.several-attempts"]
