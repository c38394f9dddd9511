"""Code in a hostile submission is not run or imported, and its links are not followed."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.files import processes
from tests.compliance.command_line import podium
from tests.compliance.packs import RESULT, Loose
from tests.compliance.trees import usual
from tests.security.hostile_tree import HostileTree

LIMIT_S = 300
pytestmark = pytest.mark.usefixtures("never_hangs")

ROUND = ("--round", "5.1")

CALLS = (
    ("check", ".", *ROUND, "--jobs", "1"),
    ("check", ".", *ROUND, "--jobs", "2", "--format", "html"),
    ("check", ".", *ROUND, "--profile", "verifier", "--format", "json"),
    ("check", ".", *ROUND, "--format", "sarif"),
    ("doctor", ".", *ROUND),
    ("fix", ".", *ROUND),
    ("score", ".", *ROUND, "--explain", RESULT),
    ("score", ".", *ROUND, "--format", "markdown"),
    ("system", "check", "systems/ex_n8.json", *ROUND),
    ("rcp", "check", ".", *ROUND),
    ("bundle", ".", "../../bundle.tar.gz"),
    ("watch", f"{RESULT}/result_0.txt", *ROUND, "--once"),
    ("rules", "list", *ROUND),
    ("--help",),
    ("--version",),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> HostileTree:
    return HostileTree(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("words", CALLS, ids=lambda words: " ".join(words))
def test_no_code_of_a_submission_is_run(words: tuple[str, ...], tree: HostileTree) -> None:
    """The command is called in the folder of the submission."""
    done = tree.call(*words, within=tree.root)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert tree.sprung() == []


def test_code_that_is_run_or_imported_is_noted(tmp_path: Path) -> None:
    """This proves that the test above can fail: for an import and for a started program."""
    tree = HostileTree(tmp_path)
    starter = tree.home / "starter.py"
    lines = f"import subprocess\nsys.path.insert(0, {str(tree.root)!r})\nimport podium_plugin\n"
    lines += f"subprocess.run([{str(tree.root / 'setup.sh')!r}])\nsys.exit"
    starter.write_text(starter.read_text().replace("sys.exit", lines))
    tree.call("--version")
    noted = "\n".join(tree.sprung())
    for each in ("import podium_plugin", "code of", f"ran {tree.root}", "Popen", "ran setup.sh"):
        assert each in noted


def test_no_plug_in_is_loaded_from_a_submission(tree: HostileTree) -> None:
    """Package metadata in a submission is ignored: plug-ins come from Python's path."""
    groups = ("podium.rules", "podium.formats", "podium.probes", "podium.trainers")
    lines = [line for group in groups for line in (f"[{group}]", "evil = evil_plugin")]
    mark = f"open({str(tree.notes)!r}, 'a').write('plug-in')\n"
    for folder in (tree.root, tree.root / "benchmarks", tree.root / "systems"):
        folder.mkdir(exist_ok=True)
        info = folder / "evil-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join([*lines, ""]))
        (folder / "evil_plugin.py").write_text(mark)
    for words in (("plugins",), ("check", ".", *ROUND), ("rules", "list", "--all", *ROUND)):
        assert tree.call(*words, within=tree.root).returncode in (0, 1)
    assert tree.sprung() == []


def test_system_init_runs_nothing_from_the_current_folder(tree: HostileTree) -> None:
    """`system init` starts only programs on the path, not those of the current folder."""
    done = tree.call("system", "init", tree.place / "new.json", *ROUND, within=tree.root)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    noted = tree.sprung()
    tree.notes.unlink(missing_ok=True)
    assert not [line for line in noted if line.startswith(("ran ", "code of", "import"))]


def test_a_spawned_process_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On macOS and Windows, every process of a check is a new Python."""
    mark = tmp_path / "mark"
    (tmp_path / "multiprocessing.py").write_text(f"open({str(mark)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(processes.SAFE_PATH, "")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "platform", "darwin")
        context: Any = processes.process_context()
    process = context.Process(target=time.sleep, args=(0,))
    process.start()
    process.join()
    assert (process.exitcode, mark.exists()) == (0, False)


def test_packing_runs_no_code_and_follows_no_link_out_of_the_source(tmp_path: Path) -> None:
    loose = Loose(tmp_path / "acme")
    secret = tmp_path / "secret.txt"
    secret.write_text("not for anybody\n")
    (loose.work / "src" / "leak.txt").symlink_to(secret)
    (loose.work / "src" / "setup.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    status = loose.pack("--force")
    assert not (tmp_path / "mark").exists()
    packed = [path for path in loose.packed.rglob("*") if path.is_file() and not path.is_symlink()]
    assert status == 1 or packed
    assert not [path for path in packed if b"not for anybody" in path.read_bytes()]


@pytest.mark.parametrize("place", ["systems", RESULT, "benchmarks", "."])
@pytest.mark.parametrize("command", ["check", "doctor", "fix", "score"])
def test_no_link_is_followed_out_of_a_submission(command: str, place: str, tmp_path: Path) -> None:
    """The targets of such links are neither printed nor read."""
    tree, outside = HostileTree(tmp_path), tmp_path / "outside"
    outside.mkdir()
    canary = "gl1mpse-of-the-outside"
    for name in ("other.json", "result_0.txt", "result_7.txt", "README.md", "run.sh"):
        (outside / name).write_text(f"{canary} :::MLLOG {{}}\n")
        link = tree.root / place / (name if name != "result_0.txt" else "result_9.txt")
        link.unlink(missing_ok=True)
        link.symlink_to(outside / name)
    (tree.root / place / "folder").symlink_to(outside)
    before = {path: path.stat().st_atime_ns for path in outside.iterdir()}
    for path in outside.iterdir():
        os.utime(path, ns=(1, path.stat().st_mtime_ns))
        before[path] = path.stat().st_atime_ns
    form = ("--format", "json") if command in ("check", "score") else ()
    done = tree.call(command, "Acme", *ROUND, *form, within=tree.root.parent)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert canary not in done.stdout + done.stderr
    assert {path: path.stat().st_atime_ns for path in before} == before


def test_waivers_in_a_tree_are_reported_and_can_be_disabled(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number in (1, 2):
        tree.log(number, lambda log: log.drop("seed"))
    words = ("check", tree.root, *ROUND, "--format", "json")
    before = json.loads(podium(*words).stdout)["findings"]
    tree.write(
        "waivers.toml",
        "".join(
            f'[[waiver]]\nrule = "{rule}"\nplace = "*"\nreason = "so"\nwho = "us"\n'
            "until = 2999-01-01\n"
            for rule in sorted({each["id"] for each in before})
        ),
    )
    report = json.loads(podium(*words).stdout)
    waived = [each for each in report["findings"] if each["waived"]]
    assert len(waived) == len(before)
    assert {each["waived_by"] for each in waived} == {"waivers.toml"}
    assert report["counts"]["waived"] == len(waived)
    assert report["official_verdict"] == "rejected"
    assert podium(*words, "--no-waivers").exit_code == Exit.FOUND
