"""The commands that are killed, with their targets and the allowed states afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compliance.tools.store.seen import seen

Content = dict[str, bytes]


def content(path: Path) -> Content:
    """Return the content of every file at or below a path."""
    if path.is_file():
        return {"": path.read_bytes()}
    found = sorted(each for each in path.rglob("*") if each.is_file())
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in found}


def as_a_whole(there: Content, versions: Sequence[Content]) -> bool:
    """Return whether the target is the old or the new version."""
    return there in versions


def file_by_file(there: Content, versions: Sequence[Content]) -> bool:
    """Return whether each file is the old or the new version, and no content is missing."""
    old, new = versions
    held = set(there.values())
    whole = all(data in (old.get(name), new.get(name)) for name, data in there.items())
    kept = {name: data for name, data in old.items() if data in new.values()}
    return whole and held.issuperset(kept.values()) and there.keys() >= old.keys() & new.keys()


@dataclass(frozen=True)
class Act:
    """A command that writes `target`. Its functions get the working folder."""

    name: str
    words: Callable[[Path], list[str]]
    target: Callable[[Path], Path]
    before: Callable[[Path], list[str]] | None = None
    """A command that is called once before, and writes what this command reads."""
    fresh: bool = False
    """The command refuses an existing target."""
    first: Callable[[Path], object] | None = None
    """A function that creates the old target if the command does not."""
    shown: Callable[[Path], Content] = content
    whole: Callable[[Content, Sequence[Content]], bool] = as_a_whole
    statuses: tuple[int, ...] = (0,)
    same: bool = False
    """The old and the new target are the same."""


def break_tree(at: Path) -> None:
    """Copy the tree and add mistakes that `podium fix` corrects."""
    target = at / "fixed"
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(at / "tree", target)
    (target / "more.txt").unlink()
    (target / "more.py").unlink(missing_ok=True)
    for path in target.glob("systems/*.json"):
        fields: Mapping[str, object] = json.loads(path.read_text())
        path.write_text(json.dumps({**fields, "division": "Closed"}, indent=2) + "\n")
    logs = next(target.glob("results/*/*"))
    (logs / "result_2.txt").rename(logs / "result_7.txt")
    for name in (".DS_Store", "results/.DS_Store", "systems/Thumbs.db"):
        (target / name).write_text("junk")


def check_words(at: Path, *more: str) -> list[str]:
    """Return the arguments of a check that writes its report to a file."""
    words = ["check", str(at / "tree"), "--round", "5.1", "--format", "json"]
    return [*words, "--output", str(at / "report.json"), "--jobs", "2", *more]


ACTS = (
    Act(
        "pack",
        lambda at: ["pack", str(at / "work"), "--replace", "."],
        lambda at: at / "work/packed",
    ),
    Act(
        "bundle",
        lambda at: ["bundle", str(at / "tree"), str(at / "Acme.tar.gz"), "--replace"],
        lambda at: at / "Acme.tar.gz",
    ),
    Act(
        "unpack",
        lambda at: ["unpack", str(at / "given.tar.gz"), "--output", str(at / "out")],
        lambda at: at / "out",
        fresh=True,
    ),
    Act(
        "init",
        lambda at: ["init", str(at / "new"), "--submitter", "A", "--round", "5.1", "--system", "n"],
        lambda at: at / "new",
        fresh=True,
    ),
    Act(
        "system init",
        lambda at: [
            *("system", "init", str(at / "n8.json"), "--round", "5.1"),
            *("--no-probe", "--replace"),
        ],
        lambda at: at / "n8.json",
        same=True,
    ),
    Act(
        "results build",
        lambda at: [
            *("results", "build", str(at / "tree"), "--round", "5.1"),
            *("--output", str(at / "store"), "--jobs", "2"),
        ],
        lambda at: at / "store",
        shown=lambda store: seen(content(store)),
    ),
    Act(
        "results site",
        lambda at: [
            *("results", "site", str(at / "made"), "--output", str(at / "site"), "--no-charts"),
        ],
        lambda at: at / "site",
        before=lambda at: [
            *("results", "build", str(at / "tree"), "--round", "5.1"),
            *("--output", str(at / "made")),
        ],
        fresh=True,
    ),
    Act(
        "review",
        lambda at: [
            *("review", str(at / "tree"), "--round", "5.1", "--quiet"),
            *("--output", str(at / "review"), "--jobs", "2"),
        ],
        lambda at: at / "review",
        fresh=True,
        statuses=(0, 1),
    ),
    Act(
        "check --output --cache",
        lambda at: check_words(at, "--cache", "--cache-dir", str(at / "cache")),
        lambda at: at / "report.json",
        statuses=(0, 1),
        same=True,
    ),
    Act(
        "fix",
        lambda at: ["fix", str(at / "fixed"), "--round", "5.1", "--write"],
        lambda at: at / "fixed",
        first=break_tree,
        whole=file_by_file,
    ),
)
