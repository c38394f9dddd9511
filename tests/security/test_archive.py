"""A hostile archive cannot use more time, memory or disk space than the limits allow."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.tools.bundling.format.paths import DEEPEST_NAME, MemberKind, TakenPaths
from tests.compliance.command_line import podium
from tests.compliance.tools.bundling.test_unpack_hostile import (
    END,
    folder,
    hard_link,
    member,
    pax,
    symlink,
    zeros,
)
from tests.locations import ROOT

LIMIT_S = 300
pytestmark = pytest.mark.usefixtures("never_hangs")

SECONDS = 20
"""Limit of CPU time for each archive. Without the checks, they would need hours."""

BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "zeros": (lambda: zeros(1 << 30), "times its size"),
    "copies of one file": (
        lambda: gzip.compress(
            member("a", bytes(1 << 20)) + b"".join(hard_link(f"l{n}", "a") for n in range(60_000))
        ),
        "times its size",
    ),
    "many folders": (
        lambda: gzip.compress(b"".join(folder(f"{n}") for n in range(2_500)) + END),
        "more than 2000 members",
    ),
    "implied folders": (
        lambda: gzip.compress(
            b"".join(
                pax(("path", "/".join([f"{n}", *["d" * 30] * (DEEPEST_NAME - 2), "f"])))
                + member("f")
                for n in range(30)
            )
        ),
        "more than 2000 members",
    ),
    "one deep name": (lambda: pax(("path", "a/" * 1900 + "f")) + member("f") + END, "deep"),
    "links in a chain": (
        lambda: b"".join(symlink(f"l{n}", f"l{n + 1}") for n in range(300)) + symlink("l300", "l0"),
        "truncated",
    ),
    "records and no member": (
        lambda: gzip.compress(b"".join(pax(("comment", "x" * 900)) for _ in range(20_000))),
        "too many records",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_archive_is_refused_quickly_and_leaves_no_files(
    name: str, tmp_path: Path
) -> None:
    make, said = BOMBS[name]
    archive = tmp_path / "in.tar"
    archive.write_bytes(make())
    begun = time.process_time()
    done = podium("unpack", archive, "--output", tmp_path / "out", "--max-members", "2000")
    assert done.exit_code == Exit.FOUND
    assert said in " ".join(done.stderr.split())
    assert done.stderr.count("\n") == 1
    assert time.process_time() - begun < SECONDS
    assert [path.name for path in tmp_path.iterdir()] == ["in.tar"]


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs Linux to measure")
def test_deep_names_use_bounded_memory() -> None:
    """The test uses the largest allowed number, depth and length of names."""
    code = (
        "from pathlib import Path\n"
        "from podium.compliance.tools.bundling.format.paths import MemberKind, TakenPaths\n"
        "taken, part = TakenPaths(), 'd' * 30\n"
        "for number in range(1600):\n"
        f"    taken.take((str(number), *[part] * {DEEPEST_NAME - 2}, 'f'), MemberKind.FILE)\n"
        # Not getrusage, because its peak includes the memory of the parent process
        "peak = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
        "print(len(taken), peak)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    count, kilobytes = map(int, done.stdout.split())
    assert count > 200_000
    assert kilobytes < 250_000


def test_a_name_at_the_depth_limit_is_unpacked_and_a_deeper_name_refused(tmp_path: Path) -> None:
    deepest = "/".join(["d"] * DEEPEST_NAME)
    archive = tmp_path / "in.tar"
    archive.write_bytes(pax(("path", deepest)) + member("f", b"x") + END)
    assert podium("unpack", archive, "-o", tmp_path / "out").exit_code == Exit.CLEAN
    assert (tmp_path / "out" / deepest).read_bytes() == b"x"
    archive.write_bytes(pax(("path", f"d/{deepest}")) + member("f", b"x") + END)
    done = podium("unpack", archive, "-o", tmp_path / "more")
    assert done.exit_code == Exit.FOUND
    assert f"more than {DEEPEST_NAME} folders deep" in done.stderr
    # Bundling adds the name of the tree as another level, so it is refused, too
    done = podium("bundle", tmp_path / "out", tmp_path / "a.tar")
    assert done.exit_code == Exit.FOUND
    assert tarfile.is_tarfile(archive)


def test_a_folder_entry_after_its_contents_is_counted_once() -> None:
    taken = TakenPaths()
    taken.take(("a", "b", "c"), MemberKind.FILE)
    taken.take(("a", "b"), MemberKind.FOLDER)
    assert len(taken) == 3
