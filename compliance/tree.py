"""The shape of a submission, as data: what lies where, by round. Shared by checks and packager."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rules.round import Round

Scaling = Literal["strong", "weak"]

RESULT_NAME = re.compile(r"result_(\d+)\.txt")
"""The name of a run's log: `result_<i>.txt`, i from 0."""

LOOSE_NAME = re.compile(r"result_.*\.txt", re.DOTALL)
"""What the official checker takes for a run's log."""

SCALINGS: tuple[Scaling, ...] = ("strong", "weak")
PRUNED, POWER = "pruned_results", "power"
PARAMS, SCALING_FILE, PRIVATE_ID = "package_checker_params", "scaling.json", "privateid.json"
KNOWN_FILES = frozenset({PARAMS, SCALING_FILE})
"""Files beside the logs of a result that belong there."""


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """All runs of one benchmark on one system; paths are relative to the submission."""

    system: str
    benchmark: str
    scaling: Scaling
    path: str
    logs: tuple[str, ...]
    pruned: tuple[str, ...] = ()
    power: bool = False
    strange: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Something below `results` that is no result: where, and what it seems to be."""

    path: str
    why: str
    hint: str
    benchmark: bool = False


@dataclass(slots=True)
class Tree:
    """One submission as it lies on disk. `shown` is put in front of paths in reports."""

    root: Path
    shown: str
    submitter: str
    systems: dict[str, str] = field(default_factory=dict)
    results: list[ResultFolder] = field(default_factory=list)
    misplaced: list[Misplaced] = field(default_factory=list)
    result_systems: tuple[str, ...] = ()

    def place(self, path: str) -> str:
        """A path of this submission as a report shows it."""
        return f"{self.shown}/{path}" if self.shown else path


def has_scalings(rules: Round) -> bool:
    """Whether results lie in `strong` and `weak` below their system: HPC from 1.0 on."""
    return rules.usage == "hpc" and rules.name != "0.7"


def scan(root: Path, shown: str, rules: Round) -> Tree:
    """Read the shape of a submission; links to folders are not followed."""
    tree = Tree(root, shown, root.absolute().name)
    for name in _names(root / "systems", files=True):
        if name.endswith(".json"):
            tree.systems[name[:-5]] = f"systems/{name}"
    tree.result_systems = tuple(_names(root / "results", files=False))
    for system in tree.result_systems:
        for place in _benchmark_places(tree, system, rules):
            _take(tree, *place, rules)
    for name in _names(root / "results", files=True):
        if LOOSE_NAME.fullmatch(name):
            tree.misplaced.append(
                Misplaced(
                    f"results/{name}",
                    "a log lies outside any result",
                    "move it to results/<system>/<benchmark>/",
                )
            )
    return tree


def _benchmark_places(tree: Tree, system: str, rules: Round) -> Iterator[tuple[str, Scaling, str]]:
    """(system, scaling, folder) of the folders that hold benchmark folders."""
    base = f"results/{system}"
    if not has_scalings(rules):
        yield system, "strong", base
        return
    for name in _names(tree.root / base, files=False):
        if name in SCALINGS:
            yield system, "weak" if name == "weak" else "strong", f"{base}/{name}"
        else:
            tree.misplaced.append(
                Misplaced(
                    f"{base}/{name}",
                    f"{name} is neither strong nor weak",
                    "HPC results lie in results/<system>/strong/<benchmark> or .../weak/...",
                )
            )


def _take(tree: Tree, system: str, scaling: Scaling, base: str, rules: Round) -> None:
    for name in _names(tree.root / base, files=True):
        if LOOSE_NAME.fullmatch(name):
            why = "a log lies outside any benchmark's folder"
            hint = f"move it to {base}/<benchmark>/"
            tree.misplaced.append(Misplaced(f"{base}/{name}", why, hint))
    names = benchmark_names(rules)
    for name in _names(tree.root / base, files=False):
        path = f"{base}/{name}"
        if name not in names:
            tree.misplaced.append(_not_a_benchmark(path, name, names, rules))
            continue
        files = _names(tree.root / path, files=True)
        folders = _names(tree.root / path, files=False)
        logs = tuple(f"{path}/{f}" for f in natural(files + folders) if LOOSE_NAME.fullmatch(f))
        strange = [f for f in files if not LOOSE_NAME.fullmatch(f) and f not in KNOWN_FILES]
        strange += [f for f in folders if f not in (POWER, PRUNED) and not LOOSE_NAME.fullmatch(f)]
        pruned = natural(_names(tree.root / path / PRUNED, files=True))
        tree.results.append(
            ResultFolder(
                system,
                name,
                scaling,
                path,
                logs,
                tuple(f"{path}/{PRUNED}/{f}" for f in pruned if LOOSE_NAME.fullmatch(f)),
                POWER in folders,
                tuple(strange),
            )
        )


def benchmark_names(rules: Round) -> tuple[str, ...]:
    """The folder names that results of the round may have."""
    return rules.listed("closed")


def _not_a_benchmark(path: str, name: str, names: tuple[str, ...], rules: Round) -> Misplaced:
    near = difflib.get_close_matches(name.lower(), names, 1, 0.6)
    listed = ", ".join(names)
    hint = f"did you mean {near[0]}?" if near else f"must be one of {listed}"
    return Misplaced(path, f"{name} is no benchmark of {rules.title}", hint, benchmark=True)


def natural(names: list[str]) -> list[str]:
    """Names in the order people count: result_2 before result_10."""
    parts = re.compile(r"(\d+)")
    return sorted(
        names, key=lambda n: [(int(p), "") if p.isdigit() else (-1, p) for p in parts.split(n)]
    )


def _names(folder: Path, *, files: bool) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = [
                e.name
                for e in entries
                if (e.is_dir(follow_symlinks=False) != files) or (files and e.is_symlink())
            ]
    except OSError:
        return []
    return sorted(found)
