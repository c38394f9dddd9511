"""The processes of `podium serve`: they end with the server, and their number is limited."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from podium.compliance.cli.service import commands
from podium.compliance.cli.service.commands import AT_ONCE, Caller
from podium.compliance.errors import UsageFault
from tests.compliance.cli.service.test_serve import asked, here
from tests.compliance.judging.plugins.plugged import plug_in, with_body
from tests.compliance.trees import usual

LIMIT_S = 120
pytestmark = pytest.mark.usefixtures("never_hangs")


class Server:
    """`podium serve` in a process, with one message per line."""

    def __init__(self, root: Path, plugins: Path) -> None:
        paths = os.pathsep.join([str(plugins), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "podium", "serve", str(root)],
            env={**os.environ, "PYTHONPATH": paths, "PODIUM_PLUGIN_SECONDS": "600"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.number = 0

    def send(self, method: str, **parameters: Any) -> None:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def begin(self) -> None:
        assert self.process.stdout is not None
        client = {"name": "test", "version": "1"}
        self.send("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        assert json.loads(self.process.stdout.readline())["id"] == self.number

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a request that does not end: a plug-in sleeps in a separate process."""
    root = usual(tmp_path / "served").root
    (root / "podium.toml").write_text('round = "5.1"\n')
    code = with_body("import time\ntime.sleep(600)")
    server = Server(root, plug_in(tmp_path / "plugins", code))
    server.begin()
    server.send("tools/call", name="check", arguments={"path": "."})
    until(lambda: len(server.descendants()) >= 2)
    yield server
    if server.process.poll() is None:
        server.process.kill()
    server.process.communicate()


def until(reached: Callable[[], bool]) -> None:
    """Wait until a condition is true; the time limit of the test ends the wait."""
    while not reached():
        time.sleep(0.05)


def gone(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_server(number: signal.Signals, server: Server) -> None:
    """Standard input stays open."""
    started = server.descendants()
    server.process.send_signal(number)
    assert server.process.wait() == (130 if number == signal.SIGINT else -number)
    until(lambda: all(map(gone, started)))


def test_an_answer_that_times_out_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = usual(tmp_path / "served").root
    plugins = plug_in(tmp_path / "plugins", with_body("import time\ntime.sleep(600)"))
    monkeypatch.setenv("PYTHONPATH", f"{plugins}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("PODIUM_PLUGIN_SECONDS", "600")
    # Earlier tests may have left a process for the session, such as a resource tracker
    others = {*psutil.Process().children(recursive=True)}
    seen: set[psutil.Process] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            seen.update({*psutil.Process().children(recursive=True)} - others)

    watcher = threading.Thread(target=watch)
    watcher.start()
    failed, why = asked(here(root, seconds=5), "check", path=".", round="5.1")
    done.set()
    watcher.join()
    assert failed
    assert "no answer within 5 seconds" in why
    assert seen
    until(lambda: all(map(gone, seen)))


def test_the_number_of_concurrent_answers_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most, lock = 0, 0, threading.Lock()
    full = threading.Barrier(AT_ONCE)

    def run(line: Any, *_: Any) -> subprocess.CompletedProcess[bytes]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait()
        with lock:
            running -= 1
        return subprocess.CompletedProcess(line, 0, b"", b"")

    monkeypatch.setattr(commands, "_run", run)
    caller = Caller(tmp_path, "unused", 60)
    with ThreadPoolExecutor(4 * AT_ONCE) as threads:
        calls = [threads.submit(caller.call, ["check"], ["."], whole=False) for _ in range(16)]
        assert {call.result().status for call in calls} == {0}
    assert most == AT_ONCE


def test_a_request_beyond_the_limit_waits_only_until_its_timeout(tmp_path: Path) -> None:
    caller = Caller(tmp_path, "unused", 0.01)
    for _ in range(AT_ONCE):
        assert caller.turns.acquire()
    with pytest.raises(UsageFault, match=f"busy with {AT_ONCE} other requests"):
        caller.call(["check"], ["."], whole=False)
