"""`podium check --cache`: the report equals that of a check without a cache after any change."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from podium.compliance.judging import files, recall
from podium.compliance.judging.cache.shelf import Refused, Shelf
from podium.logging_spec.reader.log import Log
from podium.rules.catalogue import find_round
from tests.builders import build
from tests.compliance.command_line import Done, podium
from tests.compliance.judging.plugins.plugged import plug_in
from tests.compliance.trees import Submission, usual
from tests.locations import ROOT

TOKEN = "hf_" + "a1B2c3D4e5" * 3 + "f6G7"
"""A string that looks like a Hugging Face token."""

Edit = Callable[[Path, random.Random], None]


@dataclass
class Checks:
    """A tree, its cache, and the logs that each check has read."""

    tree: Path
    cache: Path
    read: list[str] = field(default_factory=list)

    def plain(self, *options: object) -> Done:
        return podium("check", self.tree, "--format", "json", "--jobs", "1", *options)

    def cached(self, *options: object) -> Done:
        self.read.clear()
        return self.plain("--cache", "--cache-dir", self.cache, *options)

    def same(self, *options: object) -> Done:
        """Check with the cache, and assert that the report equals that of a check without it."""
        plain, cached = self.plain(*options), self.cached(*options)
        assert cached == plain
        return cached

    @property
    def kept(self) -> list[Path]:
        return sorted((self.cache / "checks").glob("*.kept"))

    def bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.kept)


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checks:
    made = Checks(tmp_path / "round", tmp_path / "cache")
    read_log = files.read_log

    def noted(path: str, *words: Any) -> Log:
        made.read.append(Path(path).name)
        return read_log(path, *words)

    monkeypatch.setattr(files, "read_log", noted)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every file look as if it was changed long before the check."""
    clock = SimpleNamespace(time_ns=lambda: 1 << 62)
    monkeypatch.setattr(recall, "time", clock)


@pytest.fixture
def tree(checks: Checks) -> Submission:
    return usual(checks.tree)


def found(done: Done) -> list[tuple[str, str]]:
    return [(each["id"], each["path"]) for each in json.loads(done.stdout)["findings"]]


# --- equal reports ---


def _logs(tree: Path) -> list[Path]:
    return sorted(tree.rglob("result_*.txt"))


def _line_lost(tree: Path, chance: random.Random) -> None:
    path = chance.choice(_logs(tree))
    lines = path.read_text().splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    path.write_text("".join(lines))


def _digit(tree: Path, chance: random.Random) -> None:
    """Change a digit, but keep the size and the modification time of the file."""
    path = chance.choice(_logs(tree))
    status, data = path.stat(), bytearray(path.read_bytes())
    places = [at for at, each in enumerate(data) if chr(each).isdigit()]
    data[chance.choice(places)] = ord(chance.choice("123456789"))
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _cut(tree: Path, chance: random.Random) -> None:
    path = chance.choice(_logs(tree))
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def _gone(tree: Path, chance: random.Random) -> None:
    logs = _logs(tree)
    if len(logs) > 1:
        chance.choice(logs).unlink()


def _renamed(tree: Path, chance: random.Random) -> None:
    path = chance.choice(_logs(tree))
    path.rename(path.with_name(f"result_{chance.randrange(20)}.txt"))


def _swapped(tree: Path, chance: random.Random) -> None:
    one, other = chance.choice(_logs(tree)), chance.choice(_logs(tree))
    between = one.with_name("between")
    one.rename(between)
    if other != one:
        other.rename(one)
    between.rename(other)


def _copied(tree: Path, chance: random.Random) -> None:
    path = chance.choice(_logs(tree))
    new = path.with_name(f"result_{chance.randrange(20)}.txt")
    if new not in _logs(tree):
        shutil.copy2(path, new)


def _touched(tree: Path, chance: random.Random) -> None:
    os.utime(chance.choice(sorted(tree.rglob("*"))))


def _described(tree: Path, chance: random.Random) -> None:
    path = next(tree.rglob("systems/*.json"))
    description = json.loads(path.read_text())
    description[chance.choice(sorted(description))] = chance.choice(["", "N/A", 7, "closed"])
    path.write_text(json.dumps(description))


def _script(tree: Path, chance: random.Random) -> None:
    path = chance.choice(sorted(tree.rglob("*.sh")))
    lines = ["true", f"export HF_TOKEN={TOKEN}", "cd /home/jdoe/work", "echo 1"]
    path.write_text(f"{chance.choice(lines)}\n")


def _linked(tree: Path, chance: random.Random) -> None:
    """Replace a log by a link to another log."""
    one, other = chance.choice(_logs(tree)), chance.choice(_logs(tree))
    if one != other and not other.is_symlink():
        one.unlink()
        one.symlink_to(other.name)


EDITS: tuple[Edit, ...] = (
    *(_line_lost, _digit, _cut, _gone, _renamed, _swapped, _copied, _touched, _described),
    *(_script, _linked),
)


@pytest.mark.parametrize("clock", ["real", "later"])
@pytest.mark.parametrize("profile", ["policy", "verifier"])
def test_a_cached_check_gives_the_same_report_after_random_edits(
    profile: str, clock: str, checks: Checks, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if clock == "later":
        request.getfixturevalue("later")
    usual(tmp_path / "good")
    chance, hits = random.Random(f"{profile} {clock}"), 0
    for number in range(32):
        if number % 8 == 0:
            shutil.rmtree(checks.tree, ignore_errors=True)
            shutil.copytree(tmp_path / "good", checks.tree)
        chance.choice(EDITS)(checks.tree, chance)
        checks.same("--profile", profile, "--round", "5.1")
        hits += len(checks.read) < len(_logs(checks.tree))
    assert hits > 20


def test_an_unchanged_tree_is_not_judged_again(
    tree: Submission, checks: Checks, later: None
) -> None:
    first = checks.same("--round", "5.1")
    assert len(checks.read) == 3
    assert checks.cached("--round", "5.1") == first
    assert checks.read == []


def test_a_changed_file_with_the_same_metadata_is_judged_again(
    tree: Submission, checks: Checks, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two images may be mounted at one place: size, times and inode do not prove the content."""

    def same(status: os.stat_result) -> tuple[int, int, int, int]:
        return status.st_size, 1, 1, 1

    monkeypatch.setattr(recall, "state_of", same)
    assert checks.same("--round", "5.1").exit_code == 0
    path = _logs(checks.tree)[0]
    path.write_text(path.read_text().replace('"value": "closed"', '"value": "clos3d"', 1))
    assert checks.same("--round", "5.1").exit_code == 1
    script = next(checks.tree.rglob("setup.sh"))
    script.write_text(f"a={TOKEN}\n")
    checks.cached("--round", "5.1")
    script.write_text(f"a={'x' * len(TOKEN)}\n")
    checks.same("--round", "5.1")


def test_a_cache_file_of_an_older_version_is_rebuilt_without_a_message(
    tree: Submission, checks: Checks
) -> None:
    first = checks.cached("--round", "5.1")
    (kept,) = checks.kept
    kept.write_bytes(b"podium.kept/1\n" + bytes(100))
    assert checks.cached("--round", "5.1") == first


def test_a_file_with_a_new_time_and_equal_content_is_not_judged_again(
    tree: Submission, checks: Checks, later: None
) -> None:
    checks.cached("--round", "5.1")
    for path in checks.tree.rglob("*.txt"):
        os.utime(path, (1, 1))
    checks.same("--round", "5.1")
    assert checks.cached("--round", "5.1").exit_code == 0
    assert checks.read == []


def test_an_unchanged_compressed_log_is_not_judged_again(
    tree: Submission, checks: Checks, later: None, tmp_path: Path
) -> None:
    """Its hash is computed by a second read, because the file is never in memory as a whole."""
    loose = Checks(tmp_path / "loose", checks.cache, checks.read)
    loose.tree.mkdir()
    packed = loose.tree / "result_0.txt.gz"
    packed.write_bytes(gzip.compress(_logs(checks.tree)[0].read_bytes()))
    loose.same("--round", "5.1")
    assert loose.cached("--round", "5.1").exit_code == 0
    assert checks.read == []
    packed.write_bytes(gzip.compress(b"nothing"))
    assert loose.same("--round", "5.1").exit_code == 1


def test_a_change_within_one_tick_of_the_clock_is_detected(
    tree: Submission, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of the file system does not advance during the test."""
    tick = os.stat(checks.tree).st_mtime_ns

    def coarse(status: os.stat_result) -> tuple[int, int, int, int]:
        return status.st_size, tick, tick, 1

    monkeypatch.setattr(recall, "state_of", coarse)
    assert checks.same("--round", "5.1").exit_code == 0
    path = _logs(checks.tree)[0]
    text = path.read_text()
    path.write_text(text.replace('"opt_base_learning_rate"', '"opt_bose_learning_rate"'))
    assert checks.same("--round", "5.1").exit_code == 1
    script = next(checks.tree.rglob("setup.sh"))
    script.write_text(f"a={TOKEN}\n")
    checks.cached("--round", "5.1")
    script.write_text(f"a={'x' * len(TOKEN)}\n")
    checks.same("--round", "5.1")


def test_the_cache_distinguishes_paths_and_options(tree: Submission, checks: Checks) -> None:
    for options in ((), ("--score",), (checks.tree / "Acme",), ("--strict",), ("--ignore", "*")):
        for _ in range(2):
            checks.same("--round", "5.1", *options)


def test_waivers_apply_to_cached_findings(tree: Submission, checks: Checks, tmp_path: Path) -> None:
    tree.log(0, lambda log: log.drop("seed"))
    checks.cached("--round", "5.1")
    given = tmp_path / "waivers.toml"
    given.write_text('[[waiver]]\nrule = "*seed*"\nreason = "x"\n')
    checks.same("--round", "5.1", "--waivers", given)
    checks.same("--round", "5.1")


# --- invalidation ---


@pytest.fixture
def two(checks: Checks) -> Submission:
    """Two results of different benchmarks, with three and two runs."""
    tree = usual(checks.tree)
    other = Submission(checks.tree, build("training", "5.1", "closed", "llama2_70b_lora"))
    other.result(runs=2)
    return tree


def test_only_logs_affected_by_a_changed_rule_are_judged_again(
    two: Submission, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks.cached("--round", "5.1")
    rules = find_round("training", "5.1")
    own = rules.benchmarks["llama31_405b"]
    changed = {**rules.benchmarks, own.name: replace(own, closed=own.closed[1:])}
    fewer = replace(rules, benchmarks=changed)
    monkeypatch.setattr(recall, "find_round", lambda *_: fewer)
    checks.cached("--round", "5.1")
    assert checks.read == ["result_0.txt", "result_1.txt", "result_2.txt"]
    checks.cached("--round", "5.1")
    assert checks.read == []


def test_every_log_is_judged_again_after_a_check_changes(
    two: Submission, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks.cached("--round", "5.1")
    rules = find_round("training", "5.1")

    def find(*_: object) -> Iterator[Any]:
        yield from ()

    first, *rest = rules.checks
    fewer = replace(rules, checks=(replace(first, find=find), *rest))
    monkeypatch.setattr(recall, "find_round", lambda *_: fewer)
    checks.cached("--round", "5.1")
    assert len(checks.read) == 5


HOUSE = """\
round = "5.1"
[[rules]]
name = "few"
key = "global_batch_size"
bound = {{ at_most = 1 }}
severity = "error"
text = "small batches only"
benchmark = "{benchmark}"
"""


def test_only_logs_affected_by_a_project_rule_are_judged_again(
    two: Submission, checks: Checks
) -> None:
    config = checks.tree / "podium.toml"
    config.write_text('round = "5.1"\n')
    checks.cached()
    config.write_text(HOUSE.format(benchmark="llama2_70b_lora"))
    done = checks.cached()
    assert checks.read == ["result_0.txt", "result_1.txt"]
    assert ("house.few", "Acme/results/ex_n8/llama2_70b_lora/result_0.txt") in found(done)
    assert done == checks.plain()
    config.write_text(HOUSE.format(benchmark="bert"))
    assert "house.few" not in checks.same().stdout
    config.write_text('round = "5.0"\n')
    checks.same()


def test_another_version_of_podium_judges_every_log_again(
    tree: Submission, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks.cached("--round", "5.1")
    monkeypatch.setattr(recall, "tool_digest", lambda: b"of the next version")
    checks.cached("--round", "5.1")
    assert len(checks.read) == 3
    checks.cached("--round", "5.1")
    assert checks.read == []


def test_plugins_judge_cached_logs(
    tree: Submission, checks: Checks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks.cached("--round", "5.1")
    monkeypatch.syspath_prepend(plug_in(tmp_path / "site"))
    done = checks.same("--round", "5.1")
    assert "acme.seed.odd" in {rule for rule, _ in found(done)}


# --- the cache folder ---


def test_the_cache_is_private_and_the_tree_is_not_modified(
    tree: Submission, checks: Checks
) -> None:
    tree.write("benchmarks/notes.sh", f"export A={TOKEN}\n")
    noise = "this line is no record, and is nobody's business"
    log = _logs(checks.tree)[0]
    log.write_text(f"{noise}\n{log.read_text()}")
    before = {path: path.stat().st_mtime_ns for path in checks.tree.rglob("*")}
    checks.cached("--round", "5.1")
    assert {path: path.stat().st_mtime_ns for path in checks.tree.rglob("*")} == before
    assert (checks.cache / "checks").stat().st_mode & 0o777 == 0o700
    assert checks.cache.stat().st_mode & 0o777 == 0o700
    assert checks.bytes()
    assert TOKEN.encode() not in checks.bytes()
    assert noise.encode() not in checks.bytes()


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "flipped": _flipped,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_bytes(b""),
    "foreign": lambda path: path.write_bytes(b"\x80\x04\x95 a pickle."),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache_file_is_reported_and_rebuilt(
    damage: str, tree: Submission, checks: Checks
) -> None:
    good = checks.cached("--round", "5.1")
    (kept,) = checks.kept
    DAMAGE[damage](kept)
    done = checks.cached("--round", "5.1")
    assert (done.exit_code, done.stdout) == (good.exit_code, good.stdout)
    assert done.stderr.count("\n") == 1
    assert "is damaged, or not a file of podium; it is created again" in done.stderr
    assert len(checks.read) == 3
    assert checks.cached("--round", "5.1") == good
    assert checks.read == []


def test_a_link_in_place_of_the_cache_file_is_not_followed(
    tree: Submission, checks: Checks, tmp_path: Path
) -> None:
    good = checks.cached("--round", "5.1")
    (kept,) = checks.kept
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to(tmp_path / "elsewhere")
    done = checks.cached("--round", "5.1")
    assert (done.stdout, len(checks.read)) == (good.stdout, 3)
    assert not kept.is_symlink()


@pytest.mark.parametrize("why", ["other users can write", "it is no folder", "it is a link"])
def test_an_untrusted_cache_folder_is_not_used(
    why: str, tree: Submission, checks: Checks, tmp_path: Path
) -> None:
    plain = checks.cached("--round", "5.1")
    folder = checks.cache / "checks"
    if why == "other users can write":
        folder.chmod(0o777)
    else:
        folder.rename(tmp_path / "elsewhere")
    if why == "it is no folder":
        folder.write_text("")
    if why == "it is a link":
        folder.symlink_to(tmp_path / "elsewhere")
    done = checks.cached("--round", "5.1")
    assert (done.exit_code, done.stdout, len(checks.read)) == (0, plain.stdout, 3)
    assert done.stderr.startswith("podium: cache not used: ")
    assert done.stderr.count("\n") == 1


def test_a_cache_that_cannot_be_written_is_reported(
    tree: Submission, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = checks.plain("--round", "5.1")

    def full(*_: object) -> None:
        raise Refused("no space left on device")

    monkeypatch.setattr(Shelf, "write", full)
    done = checks.cached("--round", "5.1")
    assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout)
    assert done.stderr == "podium: cache not written: no space left on device\n"


def test_a_cache_in_the_tree_is_refused(tree: Submission, checks: Checks) -> None:
    done = podium("check", checks.tree, "--cache-dir", checks.tree / "cache")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is inside the tree being read" in done.stderr
    assert not (checks.tree / "cache").exists()


def test_environment_variables_set_the_cache_folder(
    tree: Submission, checks: Checks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PODIUM_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    podium("check", checks.tree, "--cache", "--jobs", "1")
    assert len([*(tmp_path / "xdg/podium/checks").iterdir()]) == 1
    monkeypatch.setenv("PODIUM_CACHE_DIR", str(tmp_path / "own"))
    podium("check", checks.tree, "--cache", "--jobs", "1")
    assert len([*(tmp_path / "own/checks").iterdir()]) == 1


def test_clear_cache_removes_all_cache_files(tree: Submission, checks: Checks) -> None:
    checks.cached("--round", "5.1")
    checks.cached("--round", "5.1", "--profile", "verifier")
    assert len(checks.kept) == 2
    checks.cached("--round", "5.1", "--clear-cache")
    assert (len(checks.kept), len(checks.read)) == (1, 3)


def test_the_least_recently_used_entry_is_removed_first(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, most=500)
    shelf.open()
    for number, name in enumerate(("a", "b", "c")):
        shelf.write(name, bytes(100))
        os.utime(tmp_path / f"checks/{name}.kept", (number, number))
    shelf.use("a")
    shelf.write("d", bytes(100))
    assert [name for name in "abcd" if shelf.read(name)] == ["a", "c", "d"]
    with pytest.raises(Refused, match="too many"):
        shelf.write("e", bytes(501))


def test_concurrent_checks_do_not_affect_each_other(tree: Submission, checks: Checks) -> None:
    plain = checks.plain("--round", "5.1")
    words = [sys.executable, "-m", "podium", "check", str(checks.tree), "--round", "5.1"]
    words += ["--format", "json", "--jobs", "1", "--cache-dir", str(checks.cache)]
    around = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"}
    running = [
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=around)
        for _ in range(3)
    ]
    for each in running:
        out, err = each.communicate()
        assert (out.decode(), err) == (plain.stdout, b"")
    assert checks.cached("--round", "5.1") == plain
    assert checks.read == []
