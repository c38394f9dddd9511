"""Standard input is kept in a file that goes with the process, however the process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_file_behind(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "check", "-", "--round", "5.1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        assert process.stdin is not None
        process.stdin.write(b":::MLLOG {")
        process.stdin.flush()
        # The call waits for the end of its input, and has made its file by then
        while not any(tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait() == -number
        assert not any(tmp_path.iterdir())
    finally:
        process.kill()
        process.wait()
