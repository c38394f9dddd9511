"""`podium unpack --verify`: the tree matches the receipt, or every difference is reported."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.bundling.bundle import bundle
from tests.compliance.packs import RESULT, Loose, files_in

FILES = {
    "systems/ex_n8.json": b"{}",
    "results/ex_n8/bert/result_0.txt": b":::MLLOG {}\n",
    "results/ex_n8/bert/result_1.txt": b":::MLLOG []\n",
    "benchmarks/bert/run.sh": b"#!/bin/sh\n",
}


def packed(path: str, data: bytes, **more: object) -> dict[str, object]:
    digest = hashlib.sha256(data).hexdigest()
    return {"path": path, "size": len(data), "sha256": digest, "source": path, **more}


def write_receipt(path: Path, files: list[dict[str, object]]) -> Path:
    counts = {"error": 0, "warning": 0, "note": 0, "waived": 0}
    receipt = {
        "schema": "podium.receipt/1",
        "tool": {"name": "podium", "version": "0"},
        "rules": {"usage": "training", "round": "5.1"},
        "submitter": "Acme",
        "gate": {"verdict": "accepted", "counts": counts},
        "files": files,
    }
    path.write_text(json.dumps(receipt))
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / "Acme" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "Acme/benchmarks/bert/run.sh").chmod(0o755)
    (tmp_path / "Acme/results/latest").symlink_to("ex_n8")
    return tmp_path / "Acme"


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    files = [packed(name, data, executable=name.endswith(".sh")) for name, data in FILES.items()]
    link = packed("results/latest", b"ex_n8", link="ex_n8")
    return write_receipt(tmp_path / "podium-receipt.json", [*files, link])


def unpacked(tree: Path, receipt: Path) -> int:
    """Bundle the tree and unpack it against the receipt; return the exit status."""
    archive = tree.with_name("a.tar.zst")
    bundle(tree, archive)
    output = tree.with_name("out")
    return run(["unpack", str(archive), "--output", str(output), "--verify", str(receipt)])


def test_an_unchanged_tree_is_accepted(
    tree: Path, receipt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert unpacked(tree, receipt) == Exit.CLEAN
    assert "5 files match the receipt" in capsys.readouterr().out
    assert run(["unpack", str(tree), "--verify", str(receipt)]) == Exit.CLEAN
    assert run(["unpack", str(tree.parent / "out"), "--verify", str(receipt)]) == Exit.CLEAN


def test_every_difference_is_reported_and_no_tree_is_unpacked(
    tree: Path, receipt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "systems/ex_n8.json").write_text("{} ")
    (tree / "results/ex_n8/bert/result_0.txt").write_text(":::MLLOG {)\n")
    (tree / "results/ex_n8/bert/result_1.txt").unlink()
    (tree / "results/ex_n8/bert/result_2.txt").touch()
    (tree / "benchmarks/bert/run.sh").chmod(0o644)
    (tree / "results/latest").unlink()
    (tree / "results/latest").symlink_to("ex_n8/bert")
    assert unpacked(tree, receipt) == Exit.FOUND
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "podium: the tree differs from the receipt, 6 differences:"
    printed = [line.split(" has the sha256")[0] for line in lines[1:]]
    assert printed == [
        "  benchmarks/bert/run.sh: must be executable",
        "  results/ex_n8/bert/result_0.txt:",
        "  results/ex_n8/bert/result_1.txt: is missing",
        "  results/ex_n8/bert/result_2.txt: is not in the receipt",
        "  results/latest: links to ex_n8/bert; expected ex_n8",
        "  systems/ex_n8.json: has 3 bytes; expected 2",
    ]
    assert not tree.with_name("out").exists()
    assert run(["unpack", str(tree), "--verify", str(receipt)]) == Exit.FOUND


def test_a_file_outside_the_tree_is_reported(
    tree: Path, receipt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert unpacked(tree, receipt) == Exit.CLEAN
    (tree.parent / "out/extra").touch()
    assert run(["unpack", str(tree.parent / "out"), "--verify", str(receipt)]) == Exit.FOUND
    assert "extra: is outside the tree" in capsys.readouterr().err


def test_links_and_files_are_distinguished(
    tree: Path, receipt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "results/latest").unlink()
    (tree / "results/latest").write_text("ex_n8")
    (tree / "systems/ex_n8.json").rename(tree / "systems/other.json")
    (tree / "systems/ex_n8.json").symlink_to("other.json")
    assert unpacked(tree, receipt) == Exit.FOUND
    printed = capsys.readouterr().err
    assert "results/latest: is a file; expected a link" in printed
    assert "systems/ex_n8.json: is a link; expected a file" in printed


@pytest.mark.parametrize("more", [(), ("--receipt-in-tree",)])
def test_a_tree_packed_and_bundled_by_podium_pack_is_verified(
    more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loose = Loose(tmp_path)
    archive, note = tmp_path / "Acme.tar.zst", tmp_path / "note.json"
    assert loose.pack("--bundle", str(archive), "--receipt", str(note), *more) == Exit.CLEAN
    call = ["unpack", str(archive), "--output"]
    assert run([*call, str(tmp_path / "out"), "--verify", str(note)]) == Exit.CLEAN
    assert files_in(tmp_path / "out/Acme") == files_in(loose.packed)
    log = tmp_path / "out/Acme" / RESULT / "result_0.txt"
    log.write_bytes(log.read_bytes() + b"\n")
    bundle(tmp_path / "out/Acme", tmp_path / "changed.tar.zst")
    capsys.readouterr()
    call[1] = str(tmp_path / "changed.tar.zst")
    assert run([*call, str(tmp_path / "out2"), "--verify", str(note)]) == Exit.FOUND
    assert f"1 difference:\n  {RESULT}/result_0.txt: has " in capsys.readouterr().err
    assert not (tmp_path / "out2").exists()


def test_an_unlisted_receipt_in_the_tree_is_a_difference(
    tree: Path, receipt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "podium-receipt.json").write_text("{}")
    assert unpacked(tree, receipt) == Exit.FOUND
    assert "podium-receipt.json: is not in the receipt" in capsys.readouterr().err


def test_an_invalid_folder_or_receipt_is_a_usage_error(
    tree: Path, receipt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tree.with_name("bad.json")
    bad.write_text("{}")
    for call in (
        ["unpack", str(tree)],
        ["unpack", str(tree.with_name("absent")), "--output", str(tree.with_name("out"))],
        ["unpack", str(tree), "--verify", str(bad)],
        ["unpack", str(tree), "--output", str(tree.with_name("out"))],
        ["unpack", str(receipt), "--output", str(tree)],
    ):
        assert run(call) == Exit.USAGE
        assert capsys.readouterr().err.count("\n") == 1
