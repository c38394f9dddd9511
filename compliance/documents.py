"""Code and documents of a submission: is there an implementation, a README, what the logs name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

from compliance.package import By, Run
from compliance.tree import ResultFolder, Tree
from rules.finding import Finding, StatedBy

MOST_FILES = 200_000
"""A tree of code beyond this many files is not listed in full."""

PLACES = ("benchmarks", "code")
"""Folders of a submission that may hold implementations: submission rules, Directory structure."""

README_WORDS = {
    "the command that runs a benchmark": ("run_and_time", "bash ", "sbatch", "python", "docker"),
    "how to get the dataset": ("data",),
}
"""What a README must tell a reviewer, and words of which one is found where it does."""


class Code:
    """The code and documents that came with a submission, listed once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def files(self) -> dict[str, list[str]]:
        """Paths (relative to the submission) of code files by base name."""
        found: dict[str, list[str]] = {}
        count = 0
        for place in PLACES:
            for folder, _, names in os.walk(self.root / place):
                for name in names:
                    relative = os.path.relpath(os.path.join(folder, name), self.root)
                    found.setdefault(name, []).append(relative)
                count += len(names)
                if count > MOST_FILES:
                    return found
        return found

    @property
    def present(self) -> bool:
        """Whether any code came along at all: published copies often leave it out."""
        return any((self.root / place).is_dir() for place in PLACES)

    def lines_of(self, path: str) -> int:
        """How many lines a file has; a large number where it cannot be read."""
        try:
            with (self.root / path).open("rb") as stream:
                return (
                    sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b"")) + 1
                )
        except OSError:
            return 1 << 30


def judge_documents(
    tree: Tree, results: Iterable[tuple[ResultFolder, list[Run]]], by: By
) -> Iterator[Finding]:
    """What is missing of code and documents; the policy's demands only, so never in `verifier`."""
    if by.verifier:
        return
    code = Code(tree.root)
    if not code.present:
        yield _missing(
            by,
            "code.none",
            tree.place("benchmarks"),
            "the submission holds no code; reviewers must be able to read each implementation",
            "add benchmarks/<benchmark>/implementations/<implementation>/",
        )
        return
    seen = set()
    for folder, runs in results:
        if folder.benchmark not in seen:
            seen.add(folder.benchmark)
            yield from _implementation(tree, folder, code, by)
        yield from _named_files(folder, runs, code, by)


def _missing(by: By, rule: str, path: str, message: str, hint: str) -> Finding:
    return by.finding(rule, path, message, hint, stated_by=StatedBy.POLICY)


def _implementation(tree: Tree, folder: ResultFolder, code: Code, by: By) -> Iterator[Finding]:
    base = f"benchmarks/{folder.benchmark}"
    if not (tree.root / base).is_dir():
        yield _missing(
            by,
            "code.no-implementation",
            tree.place(base),
            f"{folder.path} has results, but there is no {base}",
            f"add the implementation under {base}/implementations/",
        )
        return
    readmes = [
        path
        for name, paths in code.files.items()
        if name.lower().startswith("readme")
        for path in paths
        if path.startswith(f"{base}/")
    ]
    if not readmes:
        yield _missing(
            by,
            "code.no-readme",
            tree.place(base),
            f"{base} has no README",
            "describe the run command, the dataset and the model in README.md",
        )
        return
    text = " ".join(_head(tree.root / path) for path in readmes[:20])
    for what, words in README_WORDS.items():
        if not any(word in text for word in words):
            yield _missing(
                by,
                "code.thin-readme",
                tree.place(readmes[0]),
                f"the README of {folder.benchmark} does not tell {what}",
                f"add {what} to {readmes[0]}",
            )


def _head(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(1 << 16).lower()
    except OSError:
        return ""


def _named_files(folder: ResultFolder, runs: list[Run], code: Code, by: By) -> Iterator[Finding]:
    """Files that logs name: `metadata.file` at its line, and `config_filename`."""
    told: set[tuple[str, str]] = set()
    for run in runs:
        for file, lineno in run.facts.sources.items():
            finding = _source(file, lineno, run, code, by)
            if finding is not None and (finding.id, file) not in told:
                told.add((finding.id, file))
                yield finding
        config = run.facts.config
        if config and PurePosixPath(config).name not in code.files and ("", config) not in told:
            told.add(("", config))
            yield _missing(
                by,
                "code.no-config",
                run.shown,
                f"config_filename is {config}; no file of that name came with the code",
                f"add the configuration under benchmarks/{folder.benchmark}/",
            )


def _source(file: str, lineno: int, run: Run, code: Code, by: By) -> Finding | None:
    name = PurePosixPath(file.replace("\\", "/")).name
    if not name or name.startswith("<"):
        return None
    candidates = code.files.get(name)
    if not candidates:
        return _missing(
            by,
            "code.source-not-found",
            run.shown,
            f"the log names the source file {file}; no {name} came with the code",
            "add the file, or the redacted version of it with the same line numbers",
        )
    if max(code.lines_of(path) for path in candidates) < lineno:
        return _missing(
            by,
            "code.source-too-short",
            run.shown,
            f"the log names line {lineno} of {file}; {candidates[0]} is shorter",
            "submit the version of the file that the runs used",
        )
    return None
