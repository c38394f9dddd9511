"""`podium fix`: each error that it fixes is gone afterwards, and nothing else has changed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.exit_codes import Exit
from tests.compliance.command_line import Done, podium
from tests.compliance.trees import Submission, usual

DESCRIPTION = "systems/ex_n8.json"
RESULT = "results/ex_n8/llama31_405b"
SCRIPT = "benchmarks/llama31_405b/implementations/ours/run.sh"


def fix(tree: Submission, *more: str) -> Done:
    return podium("fix", tree.root, "--round", "5.1", *more)


def planned(tree: Submission) -> dict[str, Any]:
    """Return the only submission in the JSON output."""
    answer = json.loads(fix(tree, "--format", "json").stdout)
    [submission] = answer["submissions"]
    assert isinstance(submission, dict)
    return submission


def logs(tree: Submission) -> list[str]:
    """Return the hashes of the logs, independent of their names."""
    found = (path for path in (tree.root / "results").rglob("*") if path.is_file())
    return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in found)


def state(tree: Submission) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(tree.root)): (path.lstat().st_mode, path.read_bytes())
        for path in tree.root.rglob("*")
        if path.is_file()
    }


def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Submission], Any]:
    """Return a function that edits the fields of the description."""

    def damage(tree: Submission) -> None:
        path = tree.root / DESCRIPTION
        fields = json.loads(path.read_text())
        change(fields)
        path.write_text(json.dumps(fields, indent=2) + "\n")

    return damage


def named(old: str, new: str) -> Callable[[Submission], Any]:
    return lambda tree: (tree.root / RESULT / old).rename(tree.root / RESULT / new)


def with_bytes(change: Callable[[bytes], bytes]) -> Callable[[Submission], Any]:
    def damage(tree: Submission) -> None:
        path = tree.root / DESCRIPTION
        path.write_bytes(change(path.read_bytes()))

    return damage


def misspelt(fields: dict[str, Any]) -> None:
    fields["divison"] = fields.pop("division")


FAULTS = {
    "gap": (named("result_1.txt", "result_12.txt"), "result.numbering"),
    "name": (named("result_2.txt", "result_last.txt"), "result.invalid-log-name"),
    "ending": (named("result_2.txt", "Result-2.LOG"), "tree.misnamed-log"),
    "mark": (with_bytes(lambda data: b"\xef\xbb\xbf" + data), "system.not-json"),
    "utf-16": (with_bytes(lambda data: data.decode().encode("utf-16")), "system.not-json"),
    "field": (edit(misspelt), "system.misspelt-field"),
    "status": (edit(lambda f: f.update(status="available onprem")), "system.bad-status"),
    "division": (edit(lambda f: f.update(division=" CLOSED ")), "system.bad-division"),
    "fraction": (edit(lambda f: f.update(number_of_nodes=8.0)), "system.bad-count"),
    "groups": (edit(lambda f: f.update(host_processor_vcpu_count="1,024")), "system.bad-count"),
    "number": (edit(lambda f: f.update(accelerators_per_node=8)), "system.verifier-crash"),
    "framework": (edit(lambda f: f.update(framework=2.60)), "system.verifier-crash"),
    "finder": (lambda tree: tree.write(f"{RESULT}/.DS_Store", "\0"), "repo.leading-dot"),
    "backup": (lambda tree: tree.write("systems/.ex_n8.json.swp", "b0"), "repo.leading-dot"),
}


def complete(place: Path) -> Submission:
    """A submission with nothing to fix."""
    tree = usual(place)
    path = tree.root / DESCRIPTION
    path.write_text(path.read_text() + "\n")
    return tree


def rules(tree: Submission) -> set[str]:
    return {each.id for each in tree.check().findings}


def test_a_good_submission_has_nothing_to_fix(tmp_path: Path) -> None:
    done = fix(complete(tmp_path))
    assert done.exit_code == Exit.CLEAN
    assert done.output.startswith("Nothing to fix.\n")


@pytest.mark.parametrize(("damage", "rule"), FAULTS.values(), ids=FAULTS)
def test_an_error_is_fixed_and_nothing_else_changes(
    damage: Callable[[Submission], Any], rule: str, tmp_path: Path
) -> None:
    tree = complete(tmp_path)
    good = json.loads((tree.root / DESCRIPTION).read_text())
    kept, usually = logs(tree), rules(tree)
    damage(tree)
    assert rule in rules(tree) - usually
    before = state(tree)
    assert fix(tree).exit_code == Exit.FOUND
    assert state(tree) == before, "without --write nothing is touched"

    done = fix(tree, "--write")
    assert (done.exit_code, done.stderr) == (Exit.CLEAN, "")
    # A framework that is only a version remains an error: a person must add the name
    assert rules(tree) - {"system.not-a-name"} == usually
    assert logs(tree) == kept
    fixed = json.loads((tree.root / DESCRIPTION).read_text())
    # Fields have their old values again, unless the damage replaced the value itself
    differing = {name for name in fixed if fixed[name] != good[name]}
    assert fixed.keys() == good.keys()
    assert differing <= {"status", "framework", "host_processor_vcpu_count"}
    assert fix(tree).output.startswith("Nothing to fix.\n")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_added_line_end_matches_the_other_lines(end: str, tmp_path: Path) -> None:
    tree = complete(tmp_path)
    path = tree.root / DESCRIPTION
    whole = path.read_text().replace("\n", end).encode()
    path.write_bytes(whole.removesuffix(end.encode()))
    assert "\\ No newline at end of file" in fix(tree).stdout
    assert fix(tree, "--write").exit_code == Exit.CLEAN
    assert path.read_bytes() == whole


def test_an_edit_keeps_order_indentation_and_unknown_fields(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    path = tree.root / DESCRIPTION
    text = path.read_text().replace('"division"', '"Extra" :\t[1,  2],\n "division"')
    path.write_text(text.replace('"closed"', '"Closed"'))
    os.chmod(path, 0o640)
    assert fix(tree, "--write").exit_code == Exit.CLEAN
    assert path.read_text() == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_renamed_logs_keep_their_order(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    texts = [(tree.root / RESULT / f"result_{n}.txt").read_bytes() for n in range(3)]
    for number, name in enumerate(("result_2.txt", "result_10.txt", "result_x.txt")[::-1]):
        named(f"result_{2 - number}.txt", name)(tree)
    assert [c["to"][-12:] for c in planned(tree)["changes"]] == [
        f"result_{number}.txt" for number in range(3)
    ]
    assert fix(tree, "--write").exit_code == Exit.CLEAN
    assert [(tree.root / RESULT / f"result_{n}.txt").read_bytes() for n in range(3)] == texts


def test_power_logs_are_renamed_with_their_run(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    for number in range(3):
        tree.write(f"{RESULT}/power/result_{number}/node_0.txt", f"run {number}\n")
    named("result_1.txt", "result_4.txt")(tree)
    named("power/result_1", "power/result_4")(tree)
    assert fix(tree, "--write").exit_code == Exit.CLEAN
    contents = [(tree.root / RESULT / f"power/result_{n}/node_0.txt").read_text() for n in range(3)]
    # result_2.txt comes before result_4.txt
    assert contents == ["run 0\n", "run 2\n", "run 1\n"]


def test_a_log_is_left_if_its_new_name_is_taken(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    (tree.root / RESULT / "result_1.log").write_bytes(b':::MLLOG {"key": 1}\n')
    tree.write(f"{RESULT}/result_1.out", "no log at all\n")
    found = planned(tree)
    assert found["changes"] == []
    assert [each["path"] for each in found["left"]] == [f"{RESULT}/result_1.log"]
    done = fix(tree, "--write")
    assert done.exit_code == Exit.FOUND
    assert "result_1.txt exists already" in " ".join(done.stdout.split())


def test_logs_that_waivers_name_are_not_renamed(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    named("result_2.txt", "result_9.txt")(tree)
    tree.write("waivers.toml", f'[[waiver]]\npath = "{RESULT}/result_9.txt"\n')
    found = planned(tree)
    assert found["changes"] == []
    assert "waivers.toml" in found["left"][0]["reason"]


@pytest.mark.parametrize("name", ["notes.txt~", "#draft#", ".draft.swp", "._draft"])
def test_a_backup_without_an_original_is_not_removed(name: str, tmp_path: Path) -> None:
    tree = complete(tmp_path).write(f"benchmarks/{name}", "somebody's work\n")
    assert fix(tree).output.startswith("Nothing to fix.\n")


def test_a_script_becomes_executable_for_everyone_who_can_read_it(tmp_path: Path) -> None:
    tree = complete(tmp_path).write(SCRIPT, "#!/bin/bash\n")
    plain = SCRIPT.replace("run.sh", "sourced.sh")
    tree.write(plain, "export SIZE=8\n")
    for path in (SCRIPT, plain):
        os.chmod(tree.root / path, 0o640)
    [change] = planned(tree)["changes"]
    assert (change["path"], change["mode"], change["to_mode"]) == (SCRIPT, "0640", "0750")
    assert fix(tree, "--write").exit_code == Exit.CLEAN
    assert stat.S_IMODE((tree.root / SCRIPT).stat().st_mode) == 0o750
    assert stat.S_IMODE((tree.root / plain).stat().st_mode) == 0o640


def test_an_unreadable_log_becomes_readable(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    path = tree.root / RESULT / "result_0.txt"
    os.chmod(path, 0)
    assert fix(tree, "--write").exit_code == Exit.CLEAN
    assert path.stat().st_mode & stat.S_IRUSR
    assert fix(tree).exit_code == Exit.CLEAN


def test_files_outside_the_tree_are_not_touched(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    other = outside / "other.json"
    other.write_bytes(b'\xef\xbb\xbf{"division": "Closed"}')
    (outside / "notes.sh~").touch()
    (outside / "notes.sh").touch()
    (tree.root / "systems/other.json").symlink_to(other)
    (tree.root / "benchmarks/linked").symlink_to(outside)
    (tree.root / "results/linked").symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.iterdir()}
    assert fix(tree, "--write").output.startswith("Nothing to fix.\n")
    assert {path: path.read_bytes() for path in outside.iterdir()} == before


def test_a_broken_file_does_not_stop_other_fixes(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    for name in ("broken", "cut", "deep"):
        tree.system(name)
    texts = {"broken": b"\xff\xfe{\0", "cut": b'{"division": "Clo', "deep": b'{"a":' * 100_000}
    for name, text in texts.items():
        (tree.root / f"systems/{name}.json").write_bytes(text)
    edit(lambda f: f.update(division="Closed"))(tree)
    (tree.root / RESULT / "result_0.txt").write_bytes(b"\0\xff")
    named("result_1.txt", "result_7.txt")(tree)
    assert fix(tree, "--write").exit_code == Exit.CLEAN
    assert json.loads((tree.root / DESCRIPTION).read_text())["division"] == "closed"
    assert (tree.root / RESULT / "result_1.txt").is_file()
    assert fix(tree).output.startswith("Nothing to fix.\n")


def test_a_failed_change_does_not_stop_other_fixes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = complete(tmp_path)
    tree.write(f"{RESULT}/.DS_Store")
    edit(lambda f: f.update(division="Closed"))(tree)
    monkeypatch.setattr(os, "unlink", refuse)
    done = fix(tree, "--write")
    assert done.exit_code == Exit.FOUND
    assert "Fixed: 1 edit." in done.stdout
    assert f"left    {RESULT}/.DS_Store: read-only file system" in " ".join(done.stdout.split("\n"))


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_read_only_tree_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = complete(tmp_path)
    named("result_1.txt", "result_7.txt")(tree)
    tree.write(f"{RESULT}/.DS_Store")
    for name in ("unlink", "rename"):
        monkeypatch.setattr(os, name, refuse)
    before = state(tree)
    done = fix(tree, "--write")
    assert (done.exit_code, done.stdout) == (Exit.USAGE, "")
    [line] = done.stderr.splitlines()
    assert "cannot be changed: read-only file system; nothing was written" in line
    assert state(tree) == before


def test_a_description_alone_can_be_fixed(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    edit(misspelt)(tree)
    tree.write(f"{RESULT}/.DS_Store")
    done = podium("fix", tree.root / DESCRIPTION, "--round", "5.1", "--write")
    assert (done.exit_code, "Fixed: 1 edit." in done.stdout) == (Exit.CLEAN, True)
    assert "division" in json.loads((tree.root / DESCRIPTION).read_text())


def test_all_submissions_of_a_round_are_examined(tmp_path: Path) -> None:
    for name in ("three", "two"):
        tree = complete(tmp_path / name)
        named("result_2.txt", "result_5.txt")(tree)
        (tmp_path / "all").mkdir(exist_ok=True)
        tree.root.rename(tmp_path / "all" / name)
    done = podium("fix", tmp_path / "all", "--round", "5.1", "--format", "json")
    found = [Path(one["path"]).name for one in json.loads(done.stdout)["submissions"]]
    assert (done.exit_code, found) == (Exit.FOUND, ["three", "two"])


@pytest.mark.parametrize("what", ["missing", "empty", "log"])
def test_a_path_that_is_not_a_submission_is_refused(what: str, tmp_path: Path) -> None:
    path = tmp_path / what
    if what == "empty":
        path.mkdir()
    elif what == "log":
        path = complete(tmp_path).root / RESULT / "result_0.txt"
    done = podium("fix", path)
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (Exit.USAGE, "", 1)


def test_a_sourced_configuration_is_not_made_executable(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    for name in ("config_ex_n8.sh", "run.sh"):
        tree.write(f"benchmarks/llama31_405b/implementations/ours/{name}", "#!/bin/bash\n")
    shown = fix(tree).output
    assert "run.sh from" in shown
    assert "config_ex_n8.sh" not in shown


def test_the_suggested_write_command_keeps_the_given_options(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    tree.write("benchmarks/llama31_405b/implementations/ours/run.sh", "#!/bin/bash\n")
    done = podium("fix", tree.root, "--round", "5.1", columns=300)
    assert f"$ podium fix {tree.root} --round 5.1 --write\n" in done.output
