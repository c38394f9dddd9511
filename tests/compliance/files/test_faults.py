"""Disk errors in any order: the tree is the old or the new tree, and the next call recovers.

A state machine creates, changes, packs, bundles and unpacks a submission. One system call, drawn
at random, fails as disks and network folders do.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from podium.compliance.cli.entry import run
from tests.compliance.packs import Loose, files_in
from tests.compliance.tools.store.seen import seen
from tests.system_calls import Call, Listener, watched

WRITING = ("write", "fsync", "mkdir", "rename", "replace", "_renamed", "symlink", "chmod")
READING = ("open", "read", "readv", "preadv", "fstat", "scandir", "copy_file_range")
ERRORS = (
    *(errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR, errno.ESTALE, errno.EROFS, errno.EDQUOT),
)


@dataclass(frozen=True)
class Fault:
    """An error, a short write or a changed file, at one call with one of these names."""

    names: tuple[str, ...]
    nth: int
    number: int = 0

    def __str__(self) -> str:
        what = errno.errorcode.get(self.number, "short or changed")
        return f"{what} at {'/'.join(self.names)} number {self.nth}"


class Faulty(Listener):
    """Makes one system call fail."""

    def __init__(self, fault: Fault | None, source: Path | None = None) -> None:
        self.fault, self.source = fault, source
        self.left = fault.nth if fault else -1
        self.fired = False
        self.path = ""
        self.changed: set[str] = set()

    def before(self, call: Call) -> None:
        """Fail, or shorten the write, at the drawn call."""
        if self.fault is None or call.name not in self.fault.names or self.fired:
            return
        if self.source and not call.path.startswith(str(self.source)):
            return
        self.left -= 1
        if self.left >= 0:
            return
        self.fired, self.path = True, call.path
        if self.fault.number:
            raise OSError(self.fault.number, os.strerror(self.fault.number), call.path)
        if self.source:
            with contextlib.suppress(OSError), open(call.path, "ab") as stream:
                stream.write(b"one line more\n")
                self.changed.add(call.path)
        else:
            call.most = 1


@cache
def template() -> Path:
    """The loose files of a submission, created once."""
    place = Path(tempfile.mkdtemp(prefix="podium-faults."))
    Loose(place)
    shutil.rmtree(place / "original")
    return place / "work"


@pytest.fixture(scope="module", autouse=True)
def _template_goes() -> Iterator[None]:
    yield
    if template.cache_info().currsize:
        shutil.rmtree(template().parent)
        template.cache_clear()


@dataclass
class Said:
    status: int
    out: str
    err: str


def called(*words: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(list(words))
    return Said(status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def clock_set_back(back: bool) -> Iterator[None]:
    """Set the clock back one more hour at every reading."""
    hours, now = itertools.count(), time.time()
    with contextlib.ExitStack() as stack:
        if back:
            goes_back = mock.patch("time.time", side_effect=(now - 3600 * hour for hour in hours))
            stack.enter_context(goes_back)
        yield


# Small commands make few calls of a kind; a pack makes dozens
nth = st.one_of(st.integers(0, 2), st.integers(3, 40))
errors = st.sampled_from(ERRORS)
writing = st.builds(Fault, st.sampled_from([(name,) for name in WRITING]), nth, errors)
reading = st.builds(Fault, st.sampled_from([(name,) for name in READING]), nth, errors)
short = st.builds(Fault, st.just(("write",)), nth)
faults = st.one_of(writing, reading, short)


def state_of(path: Path) -> dict[str, bytes] | None:
    """The content of a path: a store, a tree, a file under the name "", or None."""
    if path.is_dir():
        return (seen(files_in(path)) or None) if path.name == "store" else files_in(path)
    return {"": path.read_bytes()} if path.exists() else None


class Faults(RuleBasedStateMachine):
    """A working folder, and commands that write next to it."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="podium-faults.")).resolve()
        self.work = self.place / "work"
        shutil.copytree(template(), self.work)
        self.source = self._source()
        self.version = 0
        self.fired = False

    def teardown(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.place)

    def _source(self) -> dict[str, bytes]:
        own = ("packed/", "podium-receipt.json", "podium-summary.md")
        return {
            path: data for path, data in files_in(self.work).items() if not path.startswith(own)
        }

    def _call(
        self,
        words: tuple[str, ...],
        target: Path,
        fault: Fault | None,
        again: tuple[str, ...] = (),
        back: bool = False,
    ) -> None:
        """Call with a fault, examine the result, and call again without a fault."""
        old = state_of(target)
        listener = Faulty(fault)
        with watched(self.place, listener), clock_set_back(back):
            said = called(*words)
        self.fired = listener.fired
        self._judge(said, words, listener)
        left = state_of(target)
        if left != old:
            # The target must be complete: the same call on an empty target gives the same result
            shutil.rmtree(target) if target.is_dir() else target.unlink()
            fresh = called(*words, *again)
            assert fresh.status == 0, fresh
            assert state_of(target) == left, f"torn by {fault}"
            return
        repeated = called(*words, *again)
        assert repeated.status == 0, (repeated, said, fault)
        assert state_of(target) is not None

    def _judge(self, said: Said, words: tuple[str, ...], listener: Faulty) -> None:
        about = (words[0], str(listener.fault), listener.path, said)
        if not listener.fired:
            assert said.status == 0, about
            return
        fault = listener.fault
        assert fault is not None
        may = (0, 2) if set(fault.names) <= set(WRITING) else (0, 1, 2)
        assert said.status in may, about
        if said.status == 2:
            assert said.err.count("\n") == 1, about
            assert said.err.startswith("podium: "), about
            assert str(self.place) in said.err or self._named(said.err, listener.path), about

    def _named(self, text: str, path: str) -> bool:
        return any(part in text for part in (os.path.basename(path), "podium.toml"))

    @rule(fault=faults, back=st.booleans())
    def pack(self, fault: Fault | None, back: bool) -> None:
        words = ("pack", str(self.work), "--replace", ".", "--quiet", "--jobs", "1")
        self._call(words, self.work / "packed/Acme", fault, back=back)
        assert os.listdir(self.work / "packed") == ["Acme"]

    @rule(fault=faults, ending=st.sampled_from(["tar", "tar.gz", "tar.zst"]))
    def bundle(self, fault: Fault | None, ending: str) -> None:
        archive = self.place / f"Acme.{ending}"
        words = ("bundle", str(self.work / "src"), str(archive), "--replace")
        self._call(words, archive, fault)

    @rule(fault=faults)
    def unpack(self, fault: Fault | None) -> None:
        archive, output = self.place / "given.tar.zst", self.place / "out"
        shutil.rmtree(output, ignore_errors=True)
        assert called("bundle", str(self.work / "src"), str(archive), "--replace").status == 0
        self._call(("unpack", str(archive), "--output", str(output)), output, fault)
        assert files_in(output / "src") == files_in(self.work / "src")

    @rule(fault=faults)
    def init(self, fault: Fault | None) -> None:
        folder = self.place / "new/Acme"
        shutil.rmtree(folder, ignore_errors=True)
        words = ("init", str(folder), "--submitter", "Acme", "--round", "5.1", "--system", "n8")
        self._call(words, folder, fault)

    @rule(fault=faults)
    def describe_system(self, fault: Fault | None) -> None:
        file = self.place / "n8.json"
        words = ("system", "init", str(file), "--round", "5.1", "--no-probe", "--quiet")
        self._call((*words, "--replace"), file, fault)

    @rule(fault=st.one_of(writing, short))
    def review(self, fault: Fault | None) -> None:
        tree, output = self.work / "packed/Acme", self.place / "review"
        shutil.rmtree(output, ignore_errors=True)
        assert called("pack", str(self.work), "--replace", ".", "--quiet").status == 0
        words = ("review", str(tree), "--output", str(output), "--no-curves", "--quiet")
        self._call((*words, "--jobs", "1"), output, fault)

    @rule(fault=st.one_of(writing, short))
    def build_store(self, fault: Fault | None) -> None:
        tree, store = self.work / "packed/Acme", self.place / "store"
        assert called("pack", str(self.work), "--replace", ".", "--quiet").status == 0
        words = ("results", "build", str(tree), "--round", "5.1", "--output", str(store))
        self._call((*words, "--quiet", "--jobs", "1"), store, fault)

    @rule(fault=st.one_of(st.none(), reading))
    def watch(self, fault: Fault | None) -> None:
        log = next((self.work / "runs").rglob("*.log"))
        listener = Faulty(fault)
        with watched(self.place, listener):
            said = called("watch", str(log), "--once", "--round", "5.1")
        assert said.status in (0, 1, 2), (said, fault)
        assert "Traceback" not in said.err
        if said.status == 2:
            # The path of the log, or of the file that names the runs of the folder
            assert str(self.work) in said.out + said.err, (said, fault)

    @rule(name=st.sampled_from(["runs", "src"]), nth=st.integers(0, 20))
    def change_while_packed(self, name: str, nth: int) -> None:
        target = self.work / "packed/Acme"
        old = state_of(target)
        changing = Fault(("preadv", "copy_file_range", "read", "fstat"), nth)
        listener = Faulty(changing, self.work / name)
        with watched(self.place, listener):
            said = called("pack", str(self.work), "--replace", ".", "--quiet", "--jobs", "1")
        if listener.changed:
            changed = os.path.relpath(listener.path, self.work)
            # A file that changed before it was planned is packed in its new state
            if said.status != 0:
                assert said.status == 2, said
                assert f"{changed} changed while it was read" in said.err
                assert state_of(target) == old
            self.source = self._source()

    @rule()
    def change(self) -> None:
        self.version += 1
        (self.work / "src/more.py").write_text(f"version = {self.version}\n")
        self.source = self._source()

    @invariant()
    def the_source_is_untouched(self) -> None:
        assert self._source() == self.source

    @invariant()
    def nothing_unfinished_is_left(self) -> None:
        left = [name for name in os.listdir(self.place) if name.startswith(".")]
        assert left == []


MORE: dict[str, dict[str, Any]] = {"bundle": {"ending": "tar"}, "pack": {"back": False}}


def every_call_fails(command: str, name: str) -> int:
    """Make each call with a name fail once, in order; return the number of calls."""
    state = Faults()
    try:
        for nth in itertools.count():
            state.change()
            getattr(state, command)(fault=Fault((name,), nth, errno.EIO), **MORE.get(command, {}))
            state.the_source_is_untouched()
            state.nothing_unfinished_is_left()
            if not state.fired:
                return nth
    finally:
        state.teardown()


SMALL = ("bundle", "unpack", "init", "describe_system", "review")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (command, name)
        for command in SMALL
        for name in ("write", "fsync", "replace", "open")
        # A file that a review cannot open is a finding
        if (command, name) != ("review", "open")
    ],
)
def test_a_small_command_survives_a_failure_of_every_call(command: str, name: str) -> None:
    assert every_call_fails(command, name) >= 1


OF_OTHERS = ("rename", "symlink", "chmod", "readv", "write", "read", "preadv")
"""Calls of other commands, or of a pack on a disk that cannot copy files itself.

A pack sets the permissions of a file when it creates the file.
"""


@pytest.mark.long
@pytest.mark.parametrize("name", [*WRITING, *READING])
def test_a_pack_survives_a_failure_of_every_call(name: str) -> None:
    failed = every_call_fails("pack", name)
    assert failed >= 1 or name in OF_OTHERS


@pytest.mark.long
@pytest.mark.parametrize("name", ["write", "fsync", "replace", "mkdir"])
def test_a_store_build_survives_a_failure_of_every_call(name: str) -> None:
    assert every_call_fails("build_store", name) >= 1


def test_a_disk_error_during_unpack_is_not_reported_as_a_bundle_error() -> None:
    state = Faults()
    try:
        archive, output = state.place / "a.tar", state.place / "out"
        assert called("bundle", str(state.work / "src"), str(archive)).status == 0
        # The first write is the marker of the staging folder
        listener = Faulty(Fault(("write",), 1, errno.ENOSPC))
        with watched(state.place, listener):
            said = called("unpack", str(archive), "--output", str(output))
        assert said.status == 2
        assert said.err.startswith(f"podium: {output} cannot be made: src/")
        assert said.err.endswith(": No space left on device\n")
        assert not output.exists()
    finally:
        state.teardown()


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_pack_fails_if_the_code_cannot_be_read(number: int) -> None:
    state = Faults()
    try:
        words = ("pack", str(state.work), "--replace", ".", "--jobs", "1")
        listener = Faulty(Fault(("scandir",), 0, number), state.work / "src")
        with watched(state.place, listener):
            said = called(*words)
        assert listener.fired
        assert said.status == 1
        assert f"it cannot be read: {os.strerror(number).lower()}" in " ".join(said.out.split())
        assert not (state.work / "packed/Acme").exists()
    finally:
        state.teardown()


def test_an_archive_that_cannot_be_read_is_reported_with_its_path() -> None:
    state = Faults()
    try:
        archive, output = state.place / "a.tar", state.place / "out"
        assert called("bundle", str(state.work / "src"), str(archive)).status == 0
        listener = Faulty(Fault(("readv",), 0, errno.EIO))
        with watched(state.place, listener):
            said = called("unpack", str(archive), "--output", str(output))
        assert said.status == 2
        assert said.err == f"podium: {archive} cannot be read: Input/output error\n"
    finally:
        state.teardown()


def test_commands_recover_from_a_few_random_faults() -> None:
    few = settings(max_examples=8, stateful_step_count=6)
    run_state_machine_as_test(Faults, settings=few)  # type: ignore[no-untyped-call]


@pytest.mark.long
def test_commands_recover_from_many_random_faults() -> None:
    many = settings(max_examples=50, stateful_step_count=12)
    run_state_machine_as_test(Faults, settings=many)  # type: ignore[no-untyped-call]
