"""On a shared machine, temporary files are private for every umask."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.judging.systems.probe.accelerators import ask
from tests.compliance.command_line import podium
from tests.compliance.judging.test_workers import until
from tests.compliance.packs import Loose
from tests.locations import ROOT
from tests.system_calls import Call, Listener, watched


class Modes(Listener):
    """Record files and folders that other users can access when they are created."""

    def __init__(self, root: Path) -> None:
        self.root, self.made = root, 0
        self.open_to_others: list[str] = []

    def after(self, call: Call) -> None:
        if call.name not in ("open", "mkdir") or call.existed or not os.path.lexists(call.path):
            return
        self.made += 1
        path = Path(call.path)
        above = [path, *path.parents]
        own = above[: above.index(self.root)]
        if not any(stat.S_IMODE(each.stat().st_mode) & 0o077 == 0 for each in own if each.exists()):
            self.open_to_others.append(call.path)


@pytest.fixture(params=[0o000, pytest.param(0o022, marks=pytest.mark.long)])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def loose(tmp_path: Path) -> Loose:
    (tmp_path / "pass.txt").write_text("a passphrase\n")
    return Loose(tmp_path / "acme")


def test_temporary_files_are_private_to_the_user(loose: Loose, umask: int) -> None:
    """The modes of the final files follow the umask: their readers are the user's choice."""
    place = loose.place.parent.resolve()
    phrase = ("--passphrase-file", place / "pass.txt")
    modes = Modes(place)
    # The user, not podium, creates the folder for packed trees
    loose.packed.parent.mkdir()
    with watched(place, modes):
        assert loose.pack() == Exit.CLEAN
        for ending, secret in (("tar.gz", ()), ("tar.enc", phrase), ("tar.age", phrase)):
            archive = place / f"a.{ending}"
            made = podium("bundle", loose.packed, archive, *secret)
            assert made.exit_code == Exit.CLEAN, made.output
            opened = podium("unpack", archive, "-o", place / ending, *secret)
            assert opened.exit_code == Exit.CLEAN, opened.output
        report = place / "report.json"
        podium("check", loose.packed, "--format", "json", "--output", report)
    assert modes.made > 30
    assert modes.open_to_others == []
    assert stat.S_IMODE((place / "a.tar.gz").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((place / "tar.gz").stat().st_mode) == 0o777 & ~umask
    assert stat.S_IMODE(report.stat().st_mode) == 0o666 & ~umask


def test_packed_files_respect_a_strict_umask(loose: Loose) -> None:
    before = os.umask(0o077)
    try:
        assert loose.pack() == Exit.CLEAN
    finally:
        os.umask(before)
    found = [path for path in loose.packed.rglob("*") if not path.is_symlink()]
    assert found
    assert not [path for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077]


_KEEPER = """
import os, stat, sys
from podium.compliance.cli.entry import run

real = os.open

def noted(path, flags, *mode, **more):
    handle = real(path, flags, *mode, **more)
    if str(path).startswith(os.environ["TMPDIR"]):
        print(oct(stat.S_IMODE(os.fstat(handle).st_mode)), file=sys.stderr)
    return handle

os.open = noted
if "named" in sys.argv:
    os.path.exists = lambda path: False
run(["check", "-", "--round", "5.1"])
"""


def keeper(place: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _KEEPER, *words],
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("words", [(), ("named",)])
def test_the_copy_of_standard_input_is_private_and_removed_at_the_end(
    words: tuple[str, ...], umask: int, tmp_path: Path
) -> None:
    with keeper(tmp_path, *words) as process:
        out, err = process.communicate(b":::MLLOG {}\n", timeout=120)
    assert b"log." in out
    assert {*err.split()} == {b"0o600"}
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("words", [(), ("named",)])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_kill_leaves_no_copy_of_standard_input(
    how: signal.Signals, words: tuple[str, ...], tmp_path: Path
) -> None:
    with keeper(tmp_path, *words) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b":::MLLOG {}\n" * 100_000)
        process.stdin.flush()
        assert process.stderr.readline() == b"0o600\n"
        process.send_signal(how)
    # Another process removes the file if it has a name
    assert until(lambda: [*tmp_path.iterdir()] == [])


@pytest.mark.long
def test_a_kill_leaves_no_unpacked_file_of_an_encrypted_archive(tmp_path: Path) -> None:
    pytest.importorskip("pyrage")
    tree, archive, room = tmp_path / "tree", tmp_path / "a.tar.age", tmp_path / "room"
    for path in (tree, room):
        path.mkdir()
    for number in range(200):
        (tree / f"{number}").write_bytes(b"secret" * 1000)
    (tmp_path / "pass").write_text("phrase\n")
    phrase = ("--passphrase-file", str(tmp_path / "pass"))
    assert podium("bundle", tree, archive, *phrase).exit_code == Exit.CLEAN
    code = (
        "import os, signal, sys\n"
        "from podium.compliance.cli.entry import run\n"
        "real, left = os.open, [100]\n"
        "def opened(path, *more, **options):\n"
        "    left[0] -= '/tree/' in str(path)\n"
        "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(path, *more, **options)\n"
        "os.open = opened\n"
        "run(sys.argv[1:])\n"
    )
    words = ["unpack", str(archive), "-o", str(room / "out"), *phrase]
    done = subprocess.run([sys.executable, "-c", code, *words], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert until(lambda: [*room.iterdir()] == [])


def test_names_of_staging_folders_are_random(loose: Loose) -> None:
    """Otherwise, another user could place a link at the next name."""
    names = []

    class Names(Listener):
        def after(self, call: Call) -> None:
            if call.name == "mkdir" and ".podium-stage." in call.path.rpartition("/")[2]:
                names.append(call.path)

    with watched(loose.place.parent.resolve(), Names()):
        for _ in range(2):
            assert loose.pack("--force") == Exit.CLEAN
            (loose.work / "src" / "more.txt").write_text("changed\n")
            podium("bundle", loose.packed, loose.place / "a.tar", "--replace")
    assert len(names) == len(set(names)) >= 3
    assert all(len(name.rpartition(".")[2]) == 8 for name in names)


@pytest.mark.parametrize("made", ["file", "link"])
def test_a_link_at_the_path_of_an_output_is_replaced_and_not_followed(
    made: str, loose: Loose, tmp_path: Path
) -> None:
    assert loose.pack() == Exit.CLEAN
    victim, archive = tmp_path / "victim", tmp_path / "a.tar"
    victim.write_text("kept\n")
    archive.symlink_to(victim) if made == "link" else archive.write_text("old\n")
    podium("bundle", loose.packed, archive, "--replace")
    assert victim.read_text() == "kept\n"
    assert archive.is_file()


def test_the_output_of_a_program_is_not_kept_in_a_named_file(tmp_path: Path) -> None:
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(tmp_path)
    try:
        listing = "import os, sys; print(os.listdir(sys.argv[1]))"
        assert ask((sys.executable, "-c", listing, str(tmp_path))).text == "[]\n"
    finally:
        os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)
