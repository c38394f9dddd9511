"""Ctrl-C at any moment of a call: status 130, one line, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.compliance.exit_codes import Exit
from tests.builders import LogBuilder
from tests.kills.harness import has_own_frame
from tests.locations import ROOT
from tests.thorough import usually

SCRIPT = (
    "import sys; sys.argv[0] = '/bin/podium'; from podium.compliance.cli.entry import main; main()"
)
"""The code of the console script of an installed podium."""

CALLS = {
    "module": [sys.executable, "-m", "podium"],
    "script": [sys.executable, "-c", SCRIPT],
}


def taken_over(process: subprocess.Popen[str]) -> bool:
    """Whether Python handles SIGINT; before that, the kernel ends the process."""
    caught = Path(f"/proc/{process.pid}/status").read_text().partition("SigCgt:")[2].split()[0]
    return bool(int(caught, 16) >> (signal.SIGINT - 1) & 1)


def interrupted(words: list[str], after: float) -> tuple[int, str]:
    """Interrupt a call some seconds after Python starts; return the status and standard error."""
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and not taken_over(process):
            time.sleep(0.001)
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    return process.returncode, err


def moments(words: list[str], count: int) -> Iterator[float]:
    """Moments from the start to the end of a call."""
    begun = time.monotonic()
    subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    whole = time.monotonic() - begun
    return (whole * number / count for number in range(count))


def check_moments(words: list[str], count: int) -> None:
    done = []
    for after in moments(words, count):
        status, err = interrupted(words, after)
        # Ignored: Python's start, before podium's first line; and an interrupt in a callback that
        # Python calls at the end of an import, where Python reports the interrupt and continues
        if "Traceback" in err and (not has_own_frame(err) or "_get_module_lock" in err):
            continue
        assert "Traceback" not in err, (after, err)
        assert status in (Exit.CLEAN, Exit.FOUND, Exit.INTERRUPTED), (after, status, err)
        if status == Exit.INTERRUPTED:
            # A command may have ended before the interrupt, and printed the next command
            lines = [line for line in err.splitlines() if not line.startswith("next: ")]
            assert lines == ["podium: interrupted"], after
            done.append(after)
    assert done


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="signals are looked at in /proc")
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_at_a_few_moments_is_reported_in_one_line(
    call: str, good: LogBuilder, tmp_path: Path
) -> None:
    good.write(tmp_path / "result_0.txt")
    check_moments([*CALLS[call], "check", str(tmp_path), "--round", "5.1"], 12)


EARLY = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == {name!r}:
            exec("raise KeyboardInterrupt")

sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["", ".interrupts", ".exit_codes", ".cli.entry", ".cli.registry"])
def test_an_interrupt_during_an_import_is_reported_in_one_line(
    call: str, name: str, tmp_path: Path
) -> None:
    """Includes imports of the handler, where the interrupt is Python's own exception.

    An interrupt raised in an `exec` makes Python end by the signal, even if it is caught.
    """
    early = EARLY.format(name=f"podium.compliance{name}")
    (tmp_path / "sitecustomize.py").write_text(early)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        CALLS[call],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (Exit.INTERRUPTED, "podium: interrupted\n")


@pytest.mark.long
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="signals are looked at in /proc")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("command", ["check", "pack", "score", "rules"])
def test_an_interrupt_at_many_moments_is_reported_in_one_line(
    call: str, command: str, good: LogBuilder, tmp_path: Path
) -> None:
    good.write(tmp_path / "result_0.txt")
    words = {
        "check": ["check", str(tmp_path), "--round", "5.1", "--jobs", "2"],
        "pack": ["pack", str(tmp_path), "--dry-run", "--submitter", "Acme", "--round", "5.1"],
        "score": ["score", str(tmp_path), "--round", "5.1", "--format", "json"],
        "rules": ["rules", "list", "--round", "5.1"],
    }
    check_moments([*CALLS[call], *words[command]], usually(60, 120))


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_is_ignored_if_the_shell_ignores_it(
    call: str, good: LogBuilder, tmp_path: Path
) -> None:
    path = good.write(tmp_path / "result_0.txt")
    words = [*CALLS[call], "check", str(tmp_path), "--round", "5.1"]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        assert process.wait(60) == Exit.CLEAN, path


def test_a_program_that_imports_podium_keeps_its_handlers() -> None:
    code = (
        "import signal, sys; "
        "own = lambda: (signal.getsignal(signal.SIGINT), sys.unraisablehook); "
        "before, hook = own(), sys.excepthook; "
        "import podium, podium.compliance.cli.entry as cli; "
        "assert hook is sys.excepthook; "
        "cli.run(['--version']); "
        "assert before == own()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
