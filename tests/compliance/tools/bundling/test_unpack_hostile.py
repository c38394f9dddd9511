"""Hostile and damaged archives: each is refused in one line, and no files are left behind."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.bundling import unpack as unpacking
from podium.compliance.tools.bundling.encryption.age import AGE
from podium.compliance.tools.bundling.format.members import Limits
from podium.compliance.tools.bundling.format.refusal import Refused
from podium.compliance.tools.bundling.unpack import UnpackOptions, unpack
from tests.compliance.command_line import podium

Making = Callable[[], bytes]

END = b"\0" * 1024


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """An archive member as bytes: header, content and padding."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data)
    return info.tobuf(tarfile.PAX_FORMAT) + data + b"\0" * (-len(data) % 512)


def header(name: str = "a", size: int = 0, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A header alone, whose size may be wrong."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def folder(name: str) -> bytes:
    return member(name, kind=tarfile.DIRTYPE)


def symlink(name: str, target: str) -> bytes:
    return member(name, kind=tarfile.SYMTYPE, link=target)


def hard_link(name: str, target: str) -> bytes:
    return member(name, kind=tarfile.LNKTYPE, link=target)


def special(name: str, kind: bytes) -> bytes:
    return member(name, kind=kind)


def pax(*records: tuple[str, str], kind: bytes = tarfile.XHDTYPE) -> bytes:
    body = b""
    for key, value in records:
        rest = f" {key}={value}\n".encode()
        length = len(rest) + 1
        while len(str(length)) + len(rest) != length:
            length = len(str(length)) + len(rest)
        body += str(length).encode() + rest
    return raw_pax(body, kind)


def raw_pax(body: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    return member("pax", body, kind)


def tar(*members: bytes) -> bytes:
    return b"".join(members) + END


def squeezed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zeros(size: int) -> bytes:
    """A compression bomb: a member of zeros in a small zstd archive."""
    shape = zstandard.ZstdCompressor(level=1).compressobj()
    pieces = [shape.compress(header("bomb", size))]
    pieces += [shape.compress(b"\0" * (1 << 20)) for _ in range(size >> 20)]
    return b"".join([*pieces, shape.compress(END), shape.flush()])


def damaged(data: bytes, place: int, size: int = 4) -> bytes:
    broken = bytes(255 - byte for byte in data[place : place + size])
    return data[:place] + broken + data[place + size :]


GOOD = tar(folder("t"), member("t/a", b"alpha" * 900), member("t/b", b"beta"))

HOSTILE: dict[str, tuple[Making, str]] = {
    # path traversal
    "parent": (lambda: tar(member("../evil")), "../evil: the name leaves the folder"),
    "parent below": (lambda: tar(member("t/../../evil")), "t/../../evil: the name leaves"),
    "parent at the end": (lambda: tar(folder("t/..")), "t/..: the name leaves"),
    "parent after dots": (lambda: tar(member("././../evil")), "leaves the folder"),
    "absolute": (lambda: tar(member("/etc/evil")), "/etc/evil: the name is absolute"),
    "absolute folder": (lambda: tar(folder("/evil/")), "/evil: the name is absolute"),
    "absolute by pax": (lambda: tar(pax(("path", "/evil")), member("a")), "/evil: the name is"),
    "parent by pax": (lambda: tar(pax(("path", "../evil")), member("a")), "../evil: the name le"),
    "parent by gnu": (
        lambda: tar(member("x", b"../evil\0", tarfile.GNUTYPE_LONGNAME), member("a")),
        "../evil: the name leaves",
    ),
    "backslash": (lambda: tar(member("..\\evil")), "the name is a path on Windows"),
    "drive": (lambda: tar(member("t/C:evil")), "the name is a path on Windows"),
    "no name": (lambda: tar(member("")), "has an empty part"),
    "empty part": (lambda: tar(member("t//evil")), "has an empty part"),
    "control": (lambda: tar(member("t/\x1b[2Jevil")), "has a control character"),
    "endless name": (
        lambda: tar(pax(("path", "a/" * 4000)), member("a")),
        "longer than 4096 bytes",
    ),
    "long part": (lambda: tar(pax(("path", "n" * 400)), member("a")), "cannot be written"),
    # links
    "link away": (lambda: tar(symlink("t/l", "../../evil")), "t/l: the link points outside"),
    "link absolute": (lambda: tar(symlink("t/l", "/etc/passwd")), "t/l: the link points outside"),
    "link to the neighbour": (lambda: tar(symlink("l", "../")), "l: the link points outside"),
    "link chain": (
        lambda: tar(folder("a/b"), symlink("a/b/up", "../.."), symlink("out", "a/b/up/..")),
        "out: the link points outside",
    ),
    "link loop": (lambda: tar(symlink("a", "b"), symlink("b", "a")), "a: the link points outside"),
    "link to nothing": (lambda: tar(symlink("a", "")), "the link"),
    "written through": (
        lambda: tar(symlink("t", "/tmp"), member("t/evil")),
        "t/evil: t is a folder here and a link",
    ),
    "written over a link": (lambda: tar(symlink("t", "x"), member("t", b"x")), "duplicate name"),
    "hard link away": (lambda: tar(hard_link("t", "../../etc/passwd")), "t: the name leaves"),
    "hard link absolute": (lambda: tar(hard_link("t", "/etc/passwd")), "t: the name is absolute"),
    "hard link to what comes later": (
        lambda: tar(hard_link("t", "a"), member("a", b"x")),
        "t: is a hard link to a, which is not an earlier file",
    ),
    "hard link to a link": (
        lambda: tar(symlink("s", "/etc/passwd"), hard_link("t", "s")),
        "t: is a hard link to s",
    ),
    "hard link to itself": (lambda: tar(hard_link("t", "t")), "t: is a hard link to t"),
    # members that are not regular files
    "character device": (lambda: tar(special("d", tarfile.CHRTYPE)), "d: is a character device"),
    "block device": (lambda: tar(special("d", tarfile.BLKTYPE)), "d: is a block device"),
    "pipe": (lambda: tar(special("d", tarfile.FIFOTYPE)), "d: is a named pipe"),
    "contiguous": (lambda: tar(special("d", tarfile.CONTTYPE)), "d: is a contiguous file"),
    "unknown type": (lambda: tar(special("d", b"Z")), "d: is of the unknown type"),
    "sparse": (lambda: tar(special("d", tarfile.GNUTYPE_SPARSE)), "d: is a sparse file"),
    "sparse by pax": (
        lambda: tar(pax(("GNU.sparse.major", "1")), member("a")),
        "a sparse file (GNU.sparse.major)",
    ),
    "root as a file": (lambda: tar(member(".", b"x")), "the root is a file"),
    "root as a link": (lambda: tar(symlink("./", "/etc")), "empty part"),
    # name collisions
    "twice": (lambda: tar(member("a", b"1"), member("a", b"2")), "a: duplicate name"),
    "twice, dotted": (lambda: tar(member("a"), member("./a")), "a: duplicate name"),
    "folder twice": (lambda: tar(folder("t"), folder("t")), "t: duplicate name"),
    "capitals": (lambda: tar(member("t/README"), member("t/readme")), "differ only in case"),
    "capitals of a folder": (
        lambda: tar(member("Tree/a"), member("tree/b")),
        "differ only in case",
    ),
    "sharp s": (lambda: tar(member("stra\u00dfe"), member("STRASSE")), "differ only in case"),
    "unicode forms": (
        lambda: tar(member("caf\u00e9"), member("cafe\u0301")),
        "differ only in case",
    ),
    "file and folder": (lambda: tar(member("t", b"x"), member("t/a")), "t is a folder here"),
    "folder and file": (lambda: tar(member("t/a"), member("t", b"x")), "t is a file here"),
    # wrong sizes
    "folder with content": (
        lambda: tar(header("t", 512, tarfile.DIRTYPE), b"x" * 512),
        "t: is a folder with content",
    ),
    "huge": (lambda: header("big", 1 << 60), "big: the unpacked archive is larger"),
    "huge by pax": (lambda: pax(("size", "9" * 19)) + member("big"), "big: the unpacked archive"),
    "size that is none": (
        lambda: tar(pax(("size", "-5")), member("a")),
        "the size is not a number",
    ),
    "cut content": (lambda: header("cut", 4096) + b"x" * 100, "cut: the archive is truncated"),
    "huge name": (
        lambda: header("x", 1 << 40, tarfile.GNUTYPE_LONGNAME),
        "an extension record of 1099511627776 bytes",
    ),
    "endless records": (
        lambda: tar(*[pax(("path", "a"))] * 9, member("a")),
        "too many records before one member",
    ),
    "record without a member": (lambda: tar(pax(("path", "a"))), "ends before the member"),
    "all one name": (
        lambda: tar(pax(("path", "a"), kind=tarfile.XGLTYPE), member("b")),
        "sets path for all members",
    ),
    "pax of length 0": (lambda: tar(raw_pax(b"0 path=x\n"), member("a")), "extended header"),
    "pax of no length": (lambda: tar(raw_pax(b"path=x\n"), member("a")), "extended header"),
    "pax cut": (lambda: tar(raw_pax(b"99 path=x\n"), member("a")), "extended header"),
    "zero in a name": (lambda: tar(pax(("path", "a\0b")), member("a")), "a null byte"),
    # damaged archives
    "empty": (lambda: b"", "is not a supported archive"),
    "text": (lambda: b"hello" * 200, "is not a supported archive"),
    "zip": (lambda: b"PK\3\4" + b"\0" * 600, "is not a supported archive"),
    "damaged header": (lambda: damaged(GOOD, 512), "damaged, or not a tar header"),
    "no end": (lambda: GOOD[:-1024], "truncated"),
    "half an end": (lambda: GOOD[:-512], "truncated"),
    "damaged end": (lambda: damaged(GOOD, len(GOOD) - 100), "the end mark is damaged"),
    "more after the end": (lambda: GOOD + GOOD, "data follows the end"),
    "gzip cut": (lambda: squeezed(GOOD)[:-9], "truncated"),
    "gzip without its sum": (lambda: squeezed(GOOD)[:-3], "truncated"),
    "gzip damaged": (lambda: damaged(squeezed(GOOD), 60), "damaged"),
    "gzip of another sum": (lambda: damaged(squeezed(GOOD), -8 % len(squeezed(GOOD))), "damaged"),
    "gzip with more": (lambda: squeezed(GOOD) + b"more", "damaged"),
    "gzip of no tar": (lambda: squeezed(b"hello" * 500), "not a tar header"),
    "gzip of nothing": (lambda: squeezed(b""), "truncated"),
    "zstd cut": (lambda: zstandard.compress(GOOD)[:-1], "truncated"),
    "zstd damaged": (lambda: damaged(zstandard.compress(GOOD), 20), "damaged"),
    "zstd with more": (lambda: zstandard.compress(GOOD) + b"more more", "damaged"),
    "zstd of a wide window": (lambda: b"\x28\xb5\x2f\xfd\x00\xf8" + b"\0" * 600, "damaged"),
    # compression bombs
    "zstd bomb": (lambda: zeros(200 << 20), "bomb: the archive unpacks to more than 250 times"),
    "gzip bomb": (lambda: squeezed(tar(member("b", b"\0" * (80 << 20)))), "b: the archive unpacks"),
    "zeros after the end": (
        lambda: squeezed(GOOD + b"\0" * (80 << 20)),
        "after the last member: the archive unpacks to more than 250 times",
    ),
    # encrypted archives without valid content
    "age without a body": (
        lambda: b"age-encryption.org/v1\n-> scrypt " + b"A" * 22 + b" 10\nAAAA\n",
        "key or passphrase",
    ),
    "age that costs memory": (
        lambda: b"age-encryption.org/v1\n-> scrypt " + b"A" * 22 + b" 40\nAAAA\n",
        "2^40 rounds of scrypt",
    ),
    # names with a special meaning or a misleading display
    **{
        f"git's folder as {name!r}": (
            lambda name=name: tar(folder(f"t/{name}"), member(f"t/{name}/config")),  # type: ignore[misc]
            "the name is reserved for the git folder",
        )
        for name in (".git", ".GIT", ".git.", "git~1", ".g\u200cit", ".git::$INDEX_ALLOCATION")
    },
    "git's folder as a file": (lambda: tar(member("t/.git")), "the git folder"),
    "a c1 control": (lambda: tar(member("t/\u009b31m")), "a control character"),
    "another direction": (lambda: tar(member("t/\u202egpj.exe")), "a control character"),
    # link targets
    "a long target by pax": (
        lambda: tar(pax(("linkpath", "x/" * 2049)), symlink("t/l", "x")),
        "t/l: the link target is longer than 4096 bytes",
    ),
    "a long target by gnu": (
        lambda: tar(member("x", b"x/" * 2049, tarfile.GNUTYPE_LONGLINK), symlink("t/l", "x")),
        "t/l: the link target is longer than 4096 bytes",
    ),
    # encryption
    "age with many recipients": (
        lambda: AGE + (b"-> X25519 " + b"A" * 43 + b"\n" + b"A" * 43 + b"\n") * 700 + b"--- A\n",
        "the age header is larger than 65536 bytes",
    ),
    "age with a hard passphrase": (
        lambda: AGE + b"-> scrypt " + b"A" * 22 + b" 21\n" + b"A" * 43 + b"\n--- " + b"A" * 43,
        "needs 2^21 rounds of scrypt; the limit is 2^20",
    ),
    "salted and empty": (lambda: b"Salted__", "the passphrase does not decrypt it"),
    "salted noise": (
        lambda: b"Salted__" + bytes(range(256)) * 3,
        "the passphrase does not decrypt",
    ),
}


@pytest.fixture
def passphrase(tmp_path: Path) -> str:
    path = tmp_path / "pass.txt"
    path.write_text("secret\n")
    return str(path)


def put(tmp_path: Path, data: bytes) -> Path:
    archive = tmp_path / "in.tar"
    archive.write_bytes(data)
    return archive


def test_the_good_archive_is_unpacked(tmp_path: Path) -> None:
    for number, data in enumerate((GOOD, squeezed(GOOD), zstandard.compress(GOOD))):
        output = tmp_path / f"out{number}"
        assert run(["unpack", str(put(tmp_path, data)), "--output", str(output)]) == Exit.CLEAN
        assert (output / "t/a").read_bytes() == b"alpha" * 900


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_in_one_line_and_leaves_no_files(
    name: str, tmp_path: Path, passphrase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, said = HOSTILE[name]
    archive = put(tmp_path, make())
    before = sorted(tmp_path.iterdir())
    call = ["unpack", str(archive), "--output", str(tmp_path / "out")]
    assert run([*call, "--passphrase-file", passphrase]) == Exit.FOUND
    display_path = capsys.readouterr()
    assert said in display_path.err
    assert display_path.err.startswith("podium: ")
    assert display_path.err.count("\n") == 1
    assert "\x1b" not in display_path.err
    assert display_path.out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_there_are_at_least_80_distinct_hostile_archives() -> None:
    assert len(HOSTILE) >= 80
    data = [make() for make, _ in HOSTILE.values()]
    assert len(set(data)) == len(data)


def limited(tmp_path: Path, data: bytes, limits: Limits) -> str:
    with pytest.raises(Refused) as caught:
        unpack(put(tmp_path, data), tmp_path / "out", UnpackOptions(limits=limits))
    assert not (tmp_path / "out").exists()
    return str(caught.value)


def test_limits_are_enforced_and_can_be_raised(tmp_path: Path) -> None:
    many = tar(*(member(f"t/{number}/f") for number in range(50)))
    assert "more than 100 members" in limited(tmp_path, many, Limits(members=100))
    assert "larger than 5000 bytes" in limited(tmp_path, GOOD, Limits(size=5000))
    links = tar(member("a", b"x" * 4000), *(hard_link(f"l{n}", "a") for n in range(9)))
    assert "l3: the unpacked" in limited(tmp_path, links, Limits(size=20000))
    both = tar(member("a", b"x" * 4000), hard_link("l", "a"), member("b", b"x" * 4000))
    assert "b: the unpacked" in limited(tmp_path, both, Limits(size=13000))
    call = ["unpack", str(put(tmp_path, zeros(80 << 20))), "--output", str(tmp_path / "out")]
    assert run([*call, "--max-size", "1000000"]) == Exit.FOUND
    assert run([*call, "--max-ratio", "1000000"]) == Exit.CLEAN
    assert (tmp_path / "out/bomb").stat().st_size == 80 << 20


def test_the_total_size_of_link_names_and_targets_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "MOST_LINK_BYTES", 1 << 16)
    links = tar(*(symlink(f"t/{number}", "x" * 900) for number in range(100)))
    assert "the names and targets of links exceed" in limited(tmp_path, links, Limits())


def unpacked_deep_names(tmp_path: Path, count: int) -> int:
    """Return the peak memory in bytes of unpacking `count` files from one deep folder."""
    above = "/".join(["d" * 30] * 120)
    members = (pax(("path", f"{above}/{number}")) + member("f") for number in range(count))
    archive = put(tmp_path, tar(*members))
    tracemalloc.start()
    try:
        unpack(archive, tmp_path / f"out{count}", UnpackOptions(durable=False))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_per_file_is_bounded_for_deep_names(tmp_path: Path) -> None:
    few, many = (unpacked_deep_names(tmp_path, count) for count in (20, 220))
    assert (many - few) / 200 < 1500


def test_a_gzip_header_is_not_read_byte_by_byte(tmp_path: Path) -> None:
    archive = put(tmp_path, b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 1_000_000)
    calls = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        with pytest.raises(Refused, match="truncated"):
            unpack(archive, tmp_path / "out")
    finally:
        sys.setprofile(None)
    assert calls < 100_000


def test_zeros_after_a_gzip_member_are_accepted(tmp_path: Path) -> None:
    for data in (
        squeezed(GOOD) + bytes(5000),
        squeezed(GOOD[:700]) + bytes(9) + squeezed(GOOD[700:]),
    ):
        archive = put(tmp_path, data)
        output = tmp_path / f"out{len(data)}"
        assert run(["unpack", str(archive), "--output", str(output)]) == Exit.CLEAN
        assert (output / "t/a").read_bytes() == b"alpha" * 900


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs Linux to measure")
def test_memory_stays_bounded_while_a_bomb_is_refused(tmp_path: Path) -> None:
    archive = put(tmp_path, zeros(1 << 30))
    code = (
        "from pathlib import Path; from podium.compliance.cli.entry import run;"
        f"status = run(['unpack', {str(archive)!r}, '--output', {str(tmp_path / 'out')!r}]);"
        "print(status, Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, kilobytes = map(int, done.stdout.split())
    assert status == Exit.FOUND
    assert kilobytes < 150_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_instead_of_an_archive_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    call = [sys.executable, "-m", "podium", "unpack", str(tmp_path / "pipe"), "-o", "out"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, f"podium: {tmp_path}/pipe is not a regular file\n")


@pytest.mark.parametrize("squeeze", [bytes, squeezed, zstandard.compress])
def test_a_truncated_archive_is_refused(squeeze: Callable[[bytes], bytes], tmp_path: Path) -> None:
    whole = squeeze(GOOD)
    for end in range(0, len(whole), max(len(whole) // 60, 1)):
        with pytest.raises(Refused):
            unpack(put(tmp_path, whole[:end]), tmp_path / "out")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.tar"]


@given(
    squeeze=st.sampled_from([bytes, squeezed, zstandard.compress]),
    changes=st.lists(st.tuples(st.integers(0, 7000), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_a_damaged_archive_is_either_refused_without_output_or_unpacked(
    squeeze: Callable[[bytes], bytes],
    changes: Iterable[tuple[int, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    room = tmp_path_factory.mktemp("damaged")
    data = bytearray(squeeze(GOOD))
    for place, byte in changes:
        data[place % len(data)] = byte
    output = room / "out"
    try:
        unpack(put(room, bytes(data)), output)
    except Refused:
        assert sorted(each.name for each in room.iterdir()) == ["in.tar"]
    else:
        assert output.is_dir()


def test_tarfile_reads_the_names_that_unpack_refuses() -> None:
    """The builders write valid archives: the standard library finds the hostile names."""
    data = tar(member("../evil", b"x"), symlink("l", "/etc/passwd"), folder("t"))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getnames() == ["../evil", "l", "t"]
        assert archive.getmember("l").linkname == "/etc/passwd"


@pytest.mark.parametrize("name", ["CON", "nul.txt", "x.", "y ", "f.txt:ads"])
@pytest.mark.parametrize("on_windows", [True, False])
def test_a_name_that_windows_does_not_support_is_refused_only_on_windows(
    name: str, on_windows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.compliance.tools.bundling.unpack.ON_WINDOWS", on_windows)
    archive = tmp_path / "a.tar"
    archive.write_bytes(tar(folder("t"), member(f"t/{name}")))
    done = podium("unpack", archive, "--output", tmp_path / "out")
    assert done.exit_code == (Exit.FOUND if on_windows else Exit.CLEAN)
    assert ("Windows does not support the name" in done.stderr) is on_windows
    assert (tmp_path / "out").exists() is not on_windows
