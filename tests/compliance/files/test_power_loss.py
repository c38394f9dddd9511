"""A power loss after any system call leaves the old state or the complete new state.

The system calls of a pack, a bundle and similar commands change a model of the disk, on which only
synced data is certain. The power is cut after each call. A folder may then have any of its lists of
names since its last sync, alone or with all others. A file has its content at its last sync. A file
renamed into another folder may be in both folders, but not in neither: every file system with a
journal or ordered writes guarantees this.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from podium.compliance.files.staging import MARKER, PREFIX
from podium.compliance.judging.options import Options
from podium.compliance.tools.bundling.bundle import BundleOptions, bundle
from podium.compliance.tools.bundling.unpack import UnpackOptions, unpack
from podium.compliance.tools.packing.planning.request import read_request
from podium.compliance.tools.packing.writing.pack import PackJob, pack
from podium.compliance.tools.store.building.session import build
from tests.compliance.packs import Loose, files_in
from tests.compliance.tools.review.rounds import NAME, submission
from tests.compliance.tools.store.seen import seen
from tests.system_calls import Call, Listener, watched

Names = dict[str, int]
Tree = dict[str, bytes]


@dataclass
class Node:
    """A file, folder or link; `versions` are a folder's lists of names since its last sync.

    `past` is the number of earlier versions.
    """

    data: bytes = b""
    versions: list[Names] = field(default_factory=list)
    past: int = 0

    @property
    def now(self) -> Names:
        return self.versions[-1]

    def change(self, names: dict[str, int | None]) -> None:
        """Set the nodes of some names; None removes a name."""
        new = {**self.now, **names}
        self.versions.append({name: node for name, node in new.items() if node is not None})


class Disk(Listener):
    """A model of a folder on disk; `look` is called after each call that changes the model."""

    def __init__(self, root: Path, look: Callable[[Disk], None]) -> None:
        self.root, self.look = root.resolve(), look
        self.nodes: list[Node] = []
        self.calls = 0
        # (folder, version, other, its version): the disk has the first only if it has the second
        self.after_other: list[tuple[int, int, int, int]] = []
        self.top = self._read(self.root)

    def _read(self, path: Path) -> int:
        if path.is_symlink():
            return self._add(Node(os.fsencode(os.readlink(path))))
        if path.is_dir():
            return self._add(Node(versions=[{one.name: self._read(one) for one in path.iterdir()}]))
        return self._add(Node(path.read_bytes()))

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _at(self, path: str) -> int:
        number = self.top
        for part in Path(path).relative_to(self.root).parts:
            number = self.nodes[number].now[part]
        return number

    def _find(self, path: str) -> Node:
        return self.nodes[self._at(path)]

    def _set(self, path: str, node: int | None) -> None:
        folder, name = os.path.split(path)
        self._find(folder).change({name: node})

    def after(self, call: Call) -> None:
        """Apply a call to the model."""
        if call.name in ("open", "mkdir", "symlink"):
            if call.existed:
                return
            made = Node(versions=[{}]) if call.name == "mkdir" else Node()
            if call.name == "symlink":
                made.data = os.fsencode(os.readlink(call.path))
            self._set(call.path, self._add(made))
        elif call.name in ("unlink", "rmdir"):
            self._set(call.path, None)
        elif call.name in ("rename", "replace", "_renamed"):
            self._renamed(call)
        elif call.name == "fsync":
            self._synced(call.path)
        else:
            return
        self.calls += 1
        self.look(self)

    def _renamed(self, call: Call) -> None:
        moved = self._at(call.path)
        other = self._at(call.other) if call.name == "_renamed" and call.existed else None
        if os.path.dirname(call.path) == os.path.dirname(call.other):
            # Both names are in one folder, so they change together
            old, new = os.path.basename(call.path), os.path.basename(call.other)
            self._find(os.path.dirname(call.path)).change({old: other, new: moved})
            return
        self._set(call.other, moved)
        self._set(call.path, other)
        here, there = (self._at(os.path.dirname(path)) for path in (call.path, call.other))
        self.after_other.append((here, self._version(here), there, self._version(there)))
        if other is not None:
            self.after_other.append((there, self._version(there), here, self._version(here)))

    def _version(self, number: int) -> int:
        node = self.nodes[number]
        return node.past + len(node.versions) - 1

    def _synced(self, path: str) -> None:
        node = self._find(path)
        if node.versions:
            node.past += len(node.versions) - 1
            node.versions = [node.now]
        else:
            node.data = Path(path).read_bytes()

    def cuts(self) -> Iterator[Tree]:
        """Every tree that the disk may contain after a cut at this point."""
        sure = {number: 0 for number, node in enumerate(self.nodes) if node.versions}
        last = {number: len(self.nodes[number].versions) - 1 for number in sure}
        yield self._tree(sure)
        yield self._tree(last)
        for number, count in last.items():
            for version in range(count + 1) if count else ():
                for rest in (sure, last):
                    chosen = {**rest, number: version}
                    if self._promised(chosen):
                        yield self._tree(chosen)

    def _promised(self, chosen: dict[int, int]) -> bool:
        """Whether everything renamed into another folder is in one of the two folders."""

        def has(folder: int, version: int) -> bool:
            return self.nodes[folder].past + chosen[folder] >= version

        return all(
            has(other, its) or not has(folder, version)
            for folder, version, other, its in self.after_other
        )

    def _tree(self, chosen: dict[int, int]) -> Tree:
        found: Tree = {}
        open_ = [("", self.top)]
        while open_:
            path, number = open_.pop()
            node = self.nodes[number]
            if not node.versions:
                found[path] = node.data
                continue
            names = node.versions[chosen[number]]
            open_ += [(f"{path}/{name}".lstrip("/"), each) for name, each in names.items()]
        return found


def below(tree: Tree, folder: str) -> Tree:
    start = f"{folder}/"
    return {path[len(start) :]: data for path, data in tree.items() if path.startswith(start)}


def set_aside(tree: Tree) -> Tree:
    """The tree that the next pack restores: `old` in its staging folder."""
    for path in tree:
        head, found, _ = path.partition("/old/")
        folder, _, stage = head.rpartition("/")
        ours = folder == "work/packed" and stage.startswith(f"{PREFIX}Acme.")
        # The next pack recognizes the folder by its marker; other tests check the whole marker
        named, *_ = tree.get(f"{head}/{MARKER}", b"").split(b"\0")
        if found and ours and named.endswith(f"/{folder}/Acme".encode()):
            return below(tree, f"{head}/old")
    return {}


class Cut:
    """Classifies the trees that the disk may contain after each cut."""

    def __init__(self, state: Callable[[Tree], str]) -> None:
        self.state = state
        self.seen: set[str] = set()
        self.trees = 0

    def __call__(self, disk: Disk) -> None:
        for tree in disk.cuts():
            self.trees += 1
            self.seen.add(self.state(tree))

    def after(self, disk: Disk) -> set[str]:
        """The states that the disk may be in after a cut at the end."""
        return {self.state(tree) for tree in disk.cuts()}


def order(loose: Loose, *, durable: bool, exchange: bool) -> PackJob:
    request = read_request(loose.work, {})
    return PackJob(request, replace=(".",), durable=durable, exchange=exchange)


def changed(loose: Loose) -> None:
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    loose.put("src/more.py", "import b\n")


def wanted(loose: Loose, place: Path) -> tuple[Tree, Tree]:
    """The new tree and its receipt, from the same pack in another folder."""
    other = place / "other"
    shutil.copytree(loose.work, other, symlinks=True)
    pack(PackJob(read_request(other, {}), replace=(".",)))
    receipt = (other / "podium-receipt.json").read_bytes()
    new = files_in(other / "packed/Acme")
    shutil.rmtree(other)
    return new, {"podium-receipt.json": receipt}


def packing(
    place: Path, *, durable: bool = True, exchange: bool = True, first: bool = False
) -> tuple[set[str], set[str], int]:
    """The states after cuts during a pack, the states after its end, and the number of trees."""
    loose = Loose(place)
    if not first:
        pack(order(loose, durable=True, exchange=True))
    old = files_in(loose.packed) if not first else {}
    changed(loose)
    new, receipt = wanted(loose, place)

    def state(tree: Tree) -> str:
        found = below(tree, "work/packed/Acme")
        if not found:
            found = set_aside(tree)
        suffix = (
            ""
            if tree.get("work/podium-receipt.json") == receipt["podium-receipt.json"]
            else (" without its receipt")
        )
        if found == new:
            return f"new{suffix}"
        return "old" if found == old else "torn"

    cut = Cut(state)
    disk = Disk(place, cut)
    with watched(place, disk):
        assert pack(order(loose, durable=durable, exchange=exchange)).state == "packed"
    assert files_in(loose.packed) == new
    assert disk.calls > 30
    return cut.seen, cut.after(disk), cut.trees


@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "renamed"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "again"])
def test_a_packed_tree_survives_a_power_loss(tmp_path: Path, exchange: bool, first: bool) -> None:
    during, after, trees = packing(tmp_path, exchange=exchange, first=first)
    assert during <= {"old", "new", "new without its receipt"}
    assert {"old", "new"} <= during
    assert after == {"new"}
    assert trees > 500


def test_a_tree_without_sync_may_be_torn(tmp_path: Path) -> None:
    """The model can detect an error."""
    during, after, _ = packing(tmp_path, durable=False)
    assert "torn" in during
    assert "torn" in after


def test_a_tree_packed_without_sync_is_synced_by_the_next_call(tmp_path: Path) -> None:
    loose = Loose(tmp_path)
    torn: set[str] = set()

    def look(disk: Disk) -> None:
        return None

    disk = Disk(tmp_path, look)
    with watched(tmp_path, disk):
        pack(order(loose, durable=False, exchange=True))
        new = files_in(loose.packed)
        torn = {str(below(tree, "work/packed/Acme") == new) for tree in disk.cuts()}
        assert pack(order(loose, durable=True, exchange=True)).state == "unchanged"
    assert "False" in torn
    assert all(below(tree, "work/packed/Acme") == new for tree in disk.cuts())


def tree_to_bundle(place: Path) -> Path:
    tree = place / "Acme"
    (tree / "code/deep").mkdir(parents=True)
    (tree / "a.txt").write_bytes(b"a" * 300_000)
    (tree / "code/deep/b.py").write_bytes(b"import a\n")
    (tree / "link").symlink_to("a.txt")
    return tree


def bundling(place: Path, *, durable: bool) -> tuple[set[str], set[str]]:
    tree, archive = tree_to_bundle(place), place / "Acme.tar.gz"
    bundle(tree, archive)
    names = [archive.name, f"{archive.name}.sha256", f"{archive.name}.sha1"]
    old = {name: (place / name).read_bytes() for name in names}
    (tree / "a.txt").write_bytes(b"b" * 300_000)
    bundle(tree, archive, BundleOptions(replace=True))
    new = {name: (place / name).read_bytes() for name in names}
    for name in names:
        (place / name).write_bytes(old[name])

    def state(found: Tree) -> str:
        if all(found.get(name) == new[name] for name in names):
            return "new"
        # Every file is complete; an archive with old hashes is refused and is bundled again
        whole = all(found.get(name) in (old[name], new[name]) for name in names)
        return "old" if whole else "torn"

    cut = Cut(state)
    disk = Disk(place, cut)
    with watched(place, disk):
        bundle(tree, archive, BundleOptions(replace=True, durable=durable))
    return cut.seen, cut.after(disk)


def test_a_bundle_survives_a_power_loss(tmp_path: Path) -> None:
    assert bundling(tmp_path, durable=True) == ({"old", "new"}, {"new"})


def test_a_bundle_without_sync_may_be_torn(tmp_path: Path) -> None:
    _, after = bundling(tmp_path, durable=False)
    assert "torn" in after


def building(place: Path, *, durable: bool) -> tuple[set[str], set[str]]:
    submission(place / "rounds")
    round_, store = place / "rounds" / NAME, place / "store"

    def build_store() -> None:
        build([round_], store, Options(jobs=1), durable=durable)

    build_store()
    old = seen(files_in(store))
    (round_ / "Acme/results/ex_n8/llama31_405b/result_0.txt").write_text("")
    shutil.copytree(store, place / "before")
    build_store()
    new = seen(files_in(store))
    shutil.rmtree(store)
    (place / "before").rename(store)

    def state(tree: Tree) -> str:
        try:
            found = seen(below(tree, "store"))
        except ValueError:  # a truncated index
            return "torn"
        return "new" if found == new else "old" if found == old else "torn"

    cut = Cut(state)
    disk = Disk(place, cut)
    with watched(place, disk):
        build_store()
    assert old != new
    return cut.seen, cut.after(disk)


def test_a_store_survives_a_power_loss(tmp_path: Path) -> None:
    assert building(tmp_path, durable=True) == ({"old", "new"}, {"new"})


def test_a_store_without_sync_may_be_torn(tmp_path: Path) -> None:
    _, after = building(tmp_path, durable=False)
    assert "torn" in after


@pytest.mark.parametrize("durable", [True, False])
def test_an_unpacked_tree_survives_a_power_loss(tmp_path: Path, durable: bool) -> None:
    tree, archive, output = tree_to_bundle(tmp_path), tmp_path / "a.tar", tmp_path / "out"
    bundle(tree, archive)
    new = {"a.txt": b"a" * 300_000, "code/deep/b.py": b"import a\n", "link": b"a.txt"}

    def state(found: Tree) -> str:
        there = below(found, "out/Acme")
        return "new" if there == new else "torn" if there else "old"

    cut = Cut(state)
    disk = Disk(tmp_path, cut)
    with watched(tmp_path, disk):
        unpack(archive, output, UnpackOptions(durable=durable))
    if durable:
        assert cut.seen == {"old", "new"}
        assert cut.after(disk) == {"new"}
    else:
        assert "torn" in cut.after(disk)
