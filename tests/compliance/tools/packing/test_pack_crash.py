"""An interrupted `podium pack` leaves the old tree or the new one and reports the error."""

from __future__ import annotations

import codecs
import errno
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.packing.planning.request import read_request
from podium.compliance.tools.packing.planning.sources import source_of
from podium.compliance.tools.packing.writing import copying
from podium.compliance.tools.packing.writing.pack import Packed, PackJob, pack
from podium.compliance.tools.packing.writing.write import locked
from tests.compliance.packs import Loose, files_in

README = "benchmarks/llama31_405b/README.md"


def order(loose: Loose, **changes: object) -> PackJob:
    found = read_request(loose.work, {})
    made = PackJob(found, replace=(".",))
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture
def loose(tmp_path: Path) -> Loose:
    return Loose(tmp_path)


def changed(loose: Loose) -> None:
    """Change the sources so that the plan differs from the existing tree."""
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    loose.put("src/more.py", "import b\n")


def steps_of(loose: Loose, **changes: object) -> list[str]:
    notices: list[str] = []
    pack(order(loose, notify=notices.append, **changes))
    return notices


def killed_at(loose: Loose, number: int, **changes: object) -> bool:
    """Pack in a forked process that is killed at a step; return whether it reached the step."""
    child = os.fork()
    if child == 0:
        count = 0

        def notify(step: str) -> None:
            nonlocal count
            count += 1
            if count > number:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            pack(order(loose, notify=notify, **changes))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def beside(loose: Loose) -> list[str]:
    return sorted(os.listdir(loose.packed.parent))


def test_packing_reports_the_steps_that_the_tests_kill_at(loose: Loose) -> None:
    steps = [step for step in steps_of(loose) if not step.startswith("copied")]
    assert steps == [
        *("planned", "made a stage", "began", "filled", "judged"),
        *("before the swap", "after the swap", "cleared", "receipt written"),
    ]
    changed(loose)
    assert "set aside" in steps_of(loose, exchange=False)


def test_a_call_killed_at_any_step_leaves_the_old_or_the_new_tree(loose: Loose) -> None:
    pack(order(loose))
    old = files_in(loose.packed)
    changed(loose)
    spare = loose.place / "spare"
    shutil.copytree(loose.packed, spare)
    number, seen = 0, set()
    while killed_at(loose, number):
        now = files_in(loose.packed)
        seen.add("old" if now == old else "new")
        if now != old:
            assert now[README].startswith(b"another")
            assert "benchmarks/llama31_405b/implementations/ours/more.py" in now
            assert len(now) == len(old) + 1
        assert pack(order(loose)).state in ("packed", "unchanged")
        assert beside(loose) == ["Acme"]
        shutil.rmtree(loose.packed)
        shutil.copytree(spare, loose.packed)
        number += 1
    assert number >= 15
    assert seen == {"old", "new"}


def test_the_next_call_restores_the_old_tree_without_an_atomic_exchange(
    loose: Loose,
) -> None:
    pack(order(loose))
    old = files_in(loose.packed)
    changed(loose)
    steps = steps_of(loose, exchange=False)
    new = files_in(loose.packed)
    shutil.rmtree(loose.packed)
    loose.put("docs/README.md", old[README])
    (loose.work / "src/more.py").unlink()
    pack(order(loose))
    changed(loose)
    assert killed_at(loose, steps.index("set aside"), exchange=False)
    assert not loose.packed.exists()
    # A refused call restores the old tree as well.
    assert pack(order(loose, replace=())).state == "refused"
    assert files_in(loose.packed) == old
    assert beside(loose) == ["Acme"]
    assert pack(order(loose, exchange=False)).state == "packed"
    assert files_in(loose.packed) == new


def test_a_first_call_killed_at_any_step_leaves_a_complete_tree_or_none(loose: Loose) -> None:
    number = 0
    while killed_at(loose, number):
        if loose.packed.exists():
            assert files_in(loose.packed) == files_in(loose.original.root)
        shutil.rmtree(loose.packed, ignore_errors=True)
        number += 1
    assert number >= 15


# --- disk errors ---


def byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable block sharing and kernel copies, as on a file system without them."""
    monkeypatch.setattr(copying, "_clone", lambda *_: False)
    monkeypatch.setattr(copying, "_in_kernel", lambda *_: None)


def stands(loose: Loose, act: Callable[[], Packed], said: str) -> None:
    """Assert that packing fails with this message and that nothing has changed."""
    before = files_in(loose.work / "packed")
    with pytest.raises(UsageFault, match=said) as caught:
        act()
    assert "\n" not in str(caught.value)
    assert files_in(loose.work / "packed") == before
    assert beside(loose) == ["Acme"]


def test_a_simulated_full_disk_keeps_the_old_tree(
    loose: Loose, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(order(loose))
    changed(loose)

    def full(writing: int, part: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(copying, "_write", full)
    byte_by_byte(monkeypatch)
    stands(
        loose,
        lambda: pack(order(loose)),
        "no space left on the device; the old tree is unchanged",
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("no file system of a given size can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_file_system_keeps_the_old_tree(loose: Loose, small_disk: Path) -> None:
    shutil.rmtree(loose.work / "packed", ignore_errors=True)
    (loose.work / "packed").symlink_to(small_disk)
    pack(order(loose))
    loose.put("src/large.txt", "word " * 60_000)
    stands(loose, lambda: pack(order(loose)), "no space left on the device")


# --- permissions ---


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that every user can read."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def as_nobody(act: Callable[[], object]) -> str:
    """Return the message of the UsageFault that an unprivileged user gets, or an empty string."""
    codecs.lookup("utf-8-sig")  # an unprivileged user may be unable to read Python's own modules
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = ""
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            act()
        except UsageFault as fault:
            said = str(fault)
        except Exception as error:
            said = f"unexpected: {error!r}"
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said


def test_a_read_only_folder_is_reported(open_place: Path) -> None:
    loose = Loose(open_place)
    pack(order(loose))
    changed(loose)
    before = files_in(loose.packed)
    loose.packed.parent.chmod(0o555)
    said = as_nobody(lambda: pack(order(loose)))
    loose.packed.parent.chmod(0o755)
    assert "permission denied" in said
    assert said.endswith("the old tree is unchanged")
    assert files_in(loose.packed) == before


def test_an_unreadable_log_is_refused_with_the_reason(open_place: Path) -> None:
    loose = Loose(open_place)
    secret = loose.add_run(9)
    secret.chmod(0)
    loose.work.chmod(0o777)
    left_out: list[str] = []

    def plan() -> None:
        plan = order(loose).plan()
        left_out.extend(f"{one.display_path}: {one.why}" for one in plan.left_out)
        raise UsageFault("; ".join(left_out))

    assert "runs/more/9.log: it cannot be read: permission denied" in as_nobody(plan)


# --- sources ---


def some_log(loose: Loose) -> Path:
    return next((loose.work / "runs").rglob("*.log"))


def append(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"one line more\n")


def test_a_log_changed_after_the_plan_is_refused(loose: Loose) -> None:
    pack(order(loose))
    changed(loose)

    def notify(step: str) -> None:
        if step == "began":
            append(some_log(loose))

    stands(
        loose, lambda: pack(order(loose, notify=notify)), r"runs/.*\.log changed while it was read"
    )


def test_a_log_changed_during_the_copy_is_refused(
    loose: Loose, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(order(loose))
    changed(loose)
    log = some_log(loose)
    ours = copying._write
    first = log.read_bytes()[:100]

    def write(writing: int, part: memoryview) -> int:
        if bytes(part[:100]) == first:
            append(log)
        return ours(writing, part)

    monkeypatch.setattr(copying, "BLOCK", 4096)
    monkeypatch.setattr(copying, "_write", write)
    byte_by_byte(monkeypatch)
    stands(loose, lambda: pack(order(loose)), "changed while it was read")


def test_a_log_replaced_by_a_file_of_equal_size_is_refused(loose: Loose) -> None:
    pack(order(loose))
    changed(loose)
    log = some_log(loose)

    def notify(step: str) -> None:
        if step == "began":
            times = log.stat()
            other = log.with_suffix(".new")
            other.write_bytes(log.read_bytes()[::-1])
            os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
            other.replace(log)

    stands(loose, lambda: pack(order(loose, notify=notify)), "changed while it was read")


def test_a_log_removed_after_the_plan_is_reported(loose: Loose) -> None:
    pack(order(loose))
    changed(loose)

    def notify(step: str) -> None:
        if step == "began":
            some_log(loose).unlink()

    stands(loose, lambda: pack(order(loose, notify=notify)), "no such file")


def test_an_interrupt_keeps_the_old_tree_and_leaves_no_stage(loose: Loose) -> None:
    pack(order(loose))
    changed(loose)
    before = files_in(loose.packed)

    def notify(step: str) -> None:
        if step == "filled":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pack(order(loose, notify=notify))
    assert files_in(loose.packed) == before
    assert beside(loose) == ["Acme"]


# --- copy methods ---


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 3 * 4096, 50_000])
@pytest.mark.parametrize("way", ["kernel", "bytes", "clone"])
def test_every_copy_method_gives_the_same_bytes_and_their_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, way: str
) -> None:
    monkeypatch.setattr(copying, "BLOCK", 4096)
    if way == "bytes":
        byte_by_byte(monkeypatch)
    data = random.Random(size).randbytes(size)
    if way == "clone":  # like a file system that shares blocks: one call copies the whole file
        monkeypatch.setattr(copying, "_clone", lambda _, to: os.write(to, data) == size)
    (tmp_path / "a").write_bytes(data)
    source = source_of(tmp_path / "a", tmp_path)
    digest, cloned = copying.copy_file(source, tmp_path / "b")
    assert cloned is (way == "clone") or way == "kernel"
    assert (tmp_path / "b").read_bytes() == data
    assert digest == hashlib.sha256(data).hexdigest()


# --- concurrent calls ---


def test_concurrent_calls_to_one_folder_run_one_after_the_other(loose: Loose) -> None:
    fork = multiprocessing.get_context("fork")
    calls = [fork.Process(target=pack, args=(order(loose),)) for _ in range(3)]
    for call in calls:
        call.start()
    for call in calls:
        call.join(60)
    assert [call.exitcode for call in calls] == [0, 0, 0]
    assert files_in(loose.packed) == files_in(loose.original.root)
    assert beside(loose) == ["Acme"]


def test_a_folder_that_stays_locked_is_reported(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(UsageFault, match="another `podium pack` is writing to"),
        locked(tmp_path, 0.1),
    ):
        pass


def test_a_full_disk_has_the_exit_status_of_a_usage_error(
    loose: Loose, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(writing: int, part: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(copying, "_write", full)
    byte_by_byte(monkeypatch)
    assert loose.pack() == Exit.USAGE
    assert capsys.readouterr().err.count("\n") == 1
    assert not (loose.work / "packed").exists()
