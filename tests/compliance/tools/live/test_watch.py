"""`podium watch` on growing files, and its output."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.errors import ComplianceError, NothingToJudge
from podium.compliance.exit_codes import Exit
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.tools.live.watching.growing import GrowingLog, Tail
from podium.compliance.tools.live.watching.loop import Options, Watch
from podium.compliance.tools.live.watching.watched import Watched, WatchOptions
from podium.logging_spec.reader.read import parse_log
from podium.rules.finding import Profile
from tests.builders import LogBuilder, LogKind, build, build_log, cases
from tests.damage import damages

WATCH_OPTIONS = WatchOptions(round="6.1")


def good() -> LogBuilder:
    return build("training", "6.1", "closed", "llama31_8b")


def until(key: str, log: LogBuilder | None = None) -> bytes:
    """Return the log up to the first record of a key."""
    log = log or good()
    return b"".join(line.bytes + b"\n" for line in log.lines[: log.where(key)[0] + 1])


class Clock:
    """A clock that advances only while the watch sleeps, with one event per sleep."""

    def __init__(self, *happens: Callable[[], Any]) -> None:
        self.time = 1.75e9
        self.happens = [*happens]

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        if self.happens:
            self.happens.pop(0)()
        elif self.time > 1.75e9 + 100:
            raise AssertionError("the watch does not end")

    def now(self) -> float:
        return self.time


def watched(path: Path, clock: Clock, **options: Any) -> Exit:
    paths = [str(path)] if not path.is_dir() else [str(each) for each in sorted(path.iterdir())]
    return Watch(paths, Options(WATCH_OPTIONS, **options), sleep=clock.sleep, now=clock.now).run()


def append(path: Path, data: bytes) -> Callable[[], None]:
    def happen() -> None:
        with path.open("ab") as stream:
            stream.write(data)

    return happen


# --- reading ---


@pytest.mark.parametrize("which", random.Random("watch").sample(cases(), 12), ids=str)
def test_a_log_read_in_pieces_equals_the_log_read_at_once(which: LogKind) -> None:
    rng = random.Random(f"pieces {which}")
    many = damages(build_log(which).bytes(), rng)
    for _ in range(8):
        _, data = next(many)
        log = GrowingLog("")
        for piece in pieces(data, rng):
            log.feed(piece)
        found, whole = log.whole(), parse_log(data)
        assert found.records == whole.records or repr(found.records) == repr(whole.records)
        assert (found.faults, found.lenient) == (whole.faults, whole.lenient)
        assert (found.generation, found.size) == (whole.generation, whole.size)
        assert found.line_count == whole.line_count
        for profile in Profile:
            verdicts = [judge_log(each, which.rules, profile, "x") for each in (found, whole)]
            assert repr(verdicts[0]) == repr(verdicts[1])


def pieces(data: bytes, rng: random.Random) -> list[bytes]:
    cuts = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(20))})
    return [data[a:b] for a, b in pairwise(cuts)]


def kinds(tail: Tail) -> list[tuple[str, bytes]]:
    return [(piece.kind, piece.data) for piece in tail.poll()]


def test_only_new_bytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    tail = Tail(str(path))
    assert kinds(tail) == []
    path.write_bytes(b"one\ntw")
    assert kinds(tail) == [("data", b"one\ntw")]
    assert kinds(tail) == []
    append(path, b"o\n")()
    assert kinds(tail) == [("data", b"o\n")]


def test_a_truncated_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    tail = Tail(str(path))
    kinds(tail)
    path.write_bytes(b"1\n")
    assert kinds(tail) == [("truncated", b""), ("data", b"1\n")]


def test_a_replaced_file_is_read_to_its_end_first(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    tail = Tail(str(path))
    kinds(tail)
    append(path, b"two\n")()
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"three\n")
    assert kinds(tail) == [("data", b"two\n"), ("replaced", b""), ("data", b"three\n")]


def test_a_file_that_is_not_regular_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    tail = Tail(str(tmp_path / "pipe"))
    assert kinds(tail) == []
    assert tail.problem == "is not a regular file"


# --- a watch from start to end ---


def test_a_watch_ends_with_the_report_of_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, log = tmp_path / "result_0.txt", good().set("opt_adamw_beta_2", 0.9)
    first = until("init_stop", log)
    clock = Clock(
        append(path, first[:100]),
        append(path, first[100:]),
        append(path, log.bytes()[len(first) :]),
    )
    assert watched(path, clock) is Exit.FOUND
    said = capsys.readouterr().out
    assert "error: line" in said
    assert said.count("[closed.llama31_8b.opt_adamw_beta_2]") == 2
    assert said.endswith("REJECTED\n")


def test_a_good_run_ends_with_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(good().bytes())
    assert watched(path, Clock()) is Exit.CLEAN
    assert "stopped, success" in capsys.readouterr().out


def test_a_watch_waits_for_several_logs(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"result_{number}.txt").write_bytes(until("run_start"))
    rest = good().bytes()[len(until("run_start")) :]
    clock = Clock(*(append(tmp_path / f"result_{number}.txt", rest) for number in range(2)))
    assert watched(tmp_path, clock) is Exit.CLEAN
    assert clock.happens == []


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    for options in ({"once": True}, {"timeout": 3}):
        with pytest.raises(NothingToJudge, match="no such log"):
            watched(tmp_path / "result_0.txt", Clock(), **options)


def test_a_folder_is_not_a_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(NothingToJudge, match="logs is a folder; name the logs in it"):
        watched(tmp_path, Clock(), once=True)


def test_timeout_ends_the_watch_of_an_unfinished_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(until("run_start"))
    assert watched(path, Clock(), timeout=5) is Exit.CLEAN
    assert "missing" in capsys.readouterr().out


def test_exit_on_error_ends_the_watch_and_runs_the_command(tmp_path: Path) -> None:
    path, output = tmp_path / "result_0.txt", tmp_path / "output"
    log = good().set("opt_adamw_beta_2", 0.9)
    path.write_bytes(until("run_start", log))
    script = tmp_path / "alarm.py"
    script.write_text(
        "import os, sys; open(sys.argv[1], 'a').write(os.environ['PODIUM_RULE'] + '\\n')"
    )
    command = f"{sys.executable} {script} {output}"
    assert watched(path, Clock(), exit_on_error=True, command=command) is Exit.FOUND
    assert output.read_text() == "closed.llama31_8b.opt_adamw_beta_2\n"


def test_a_missing_command_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(until("run_start", good().set("opt_adamw_beta_2", 0.9)))
    with pytest.raises(ComplianceError, match="--exec"):
        watched(path, Clock(), command=str(tmp_path / "nothing"), exit_on_error=True)


def test_a_command_with_an_open_quote_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ComplianceError, match="--exec it's: No closing quotation"):
        watched(tmp_path / "result_0.txt", Clock(), command="it's")


def test_follow_continues_after_run_stop(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(good().bytes())
    clock = Clock(*[lambda: None] * 6)
    watched(path, clock, follow=True, timeout=6)
    assert clock.happens == []


def test_a_run_restarted_in_the_same_file_is_a_new_run(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(until("run_start", good().set("opt_adamw_beta_2", 0.9)))
    clock = Clock(lambda: path.write_bytes(until("init_start")), append(path, b""))
    rest = good().bytes()[len(until("init_start")) :]
    clock.happens.append(append(path, rest))
    assert watched(path, clock) is Exit.CLEAN


def test_a_rotated_log_is_one_run(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    first, rest = until("block_start"), good().bytes()[len(until("block_start")) :]
    path.write_bytes(first)

    def rotate() -> None:
        path.rename(tmp_path / "result_0.txt.1")
        path.write_bytes(rest)

    watch_ = Watched(str(path), WATCH_OPTIONS)
    watch_.poll()
    rotate()
    watch_.poll()
    assert watch_.log.whole().records == parse_log(good().bytes()).records
    assert watch_.judge().findings == []
