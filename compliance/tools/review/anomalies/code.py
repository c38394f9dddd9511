"""Code compared with logs and with other code: settings that disagree, and shared files."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from podium.compliance.judging.inputs.source_files import Code, open_plain
from podium.compliance.judging.results.result import Result
from podium.compliance.tools.review.code.configurations import named_system
from podium.compliance.tools.review.code.model import OPAQUE
from podium.compliance.tools.review.code.reading_order import CodeFolder
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.review_rules import (
    CONFIG_DISAGREES,
    OPAQUE_FILE,
    SHARED_CODE,
)
from podium.rules.finding import Finding, Profile
from podium.rules.run import as_number

_PROFILE = Profile.POLICY

LARGEST = 1 << 20
"""Maximum size of a file that is read, in bytes."""

LEAST_BYTES, LEAST_FILES, MOST_APART = 200, 5, 0.5
"""Minimum bytes of a file that counts, minimum number of shared files, and their minimum share."""

CONFIGS = (".sh", ".env", ".conf", ".cfg", ".ini", ".yaml", ".yml", ".toml", ".json")
"""Files that may set hyperparameters."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_ASSIGNED = re.compile(
    rf"""^\s*(?:export\s+)?["']?([A-Za-z][\w.-]*)["']?\s*[:=]\s*"""
    rf"""(?:\$\{{\w+:[-=])?["']?({_NUMBER})["']?\}}?\s*,?\s*(?:[#;].*)?$"""
)


def code(material: Material) -> Iterator[Finding]:
    """Findings about the code of submissions, compared with their logs and with other code."""
    code_by_home = {home.path: Code(home.root) for home in material.homes}
    yield from _shared(material)
    yield from _opaque(material)
    by_home: dict[str, list[Result]] = defaultdict(list)
    roots = {home.root: home.path for home in material.homes}
    for result in material.results:
        home = next(
            (roots[parent] for parent in result.place.folder.parents if parent in roots), None
        )
        if home is not None:
            by_home[home].append(result)
    for path, results in by_home.items():
        yield from _disagreeing(code_by_home[path], path, results)


# --- settings -------------------------------------------------------------------------------------


def _disagreeing(files: Code, home: str, results: list[Result]) -> Iterator[Finding]:
    configs = [path for path in files.paths if path.endswith(CONFIGS)]
    reported: set[tuple[str, int]] = set()
    systems = {result.place.system for result in results}
    for result in results:
        for path in configs:
            if not _is_about(path, result, systems):
                continue
            for key, line, value in assignments(files.root / path):
                logged = _logged(result, key)
                if logged and all(abs(value - number) > 1e-9 * abs(number) for number in logged):
                    display_path = path if home in ("", ".") else f"{home}/{path}"
                    if (display_path, line) in reported:
                        continue
                    reported.add((display_path, line))
                    yield CONFIG_DISAGREES.found(
                        _PROFILE,
                        result.place.display_path,
                        key=key,
                        setting=key,
                        file=display_path,
                        at=line,
                        value=f"{value:g}",
                        logged=", ".join(f"{number:g}" for number in sorted({*logged})[:4]),
                    )


def _is_about(path: str, result: Result, systems: Iterable[str]) -> bool:
    """Whether a configuration is of this result: it is for its benchmark and names its system.

    A log may also name it; only the file name is compared, because folders differ among machines.
    """
    name = path.rpartition("/")[2]
    configs = {run.facts.config for run in result.runs}
    if name in {(label or "").rpartition("/")[2] for label in configs} - {""}:
        return True
    system = result.place.system
    return result.place.benchmark in path.split("/") and named_system(name, systems) == system


@lru_cache(maxsize=4096)
def assignments(path: Path) -> tuple[tuple[str, int, float], ...]:
    """(name in lower case, line, number) of the assignments of plain numbers in a small file.

    A name that is assigned twice is omitted: only the program knows which value applies.
    """
    try:
        with open_plain(path) as stream:
            text = stream.read(LARGEST).decode(errors="replace")
    except OSError:
        return ()
    assigned: list[tuple[str, int, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ASSIGNED.match(line)
        if match is not None:
            assigned.append((match[1].lower(), number, float(match[2])))
    counts = Counter(name for name, *_ in assigned)
    return tuple(assignment for assignment in assigned if counts[assignment[0]] == 1)


def _logged(result: Result, key: str) -> list[float]:
    """The values that the runs log under a key; empty if any of them is not a number."""
    values = [_setting(run.facts.settings.as_dict(), key) for run in result.runs]
    numbers = [value for value in values if value is not None]
    return numbers if len(numbers) == len(values) else []


def _setting(settings: Mapping[str, Any], key: str) -> float | None:
    return as_number(settings.get(key))


# --- files of code --------------------------------------------------------------------------------


def _shared(material: Material) -> Iterator[Finding]:
    """Code for a benchmark that is mostly another submitter's; the finding names the first."""
    first: dict[tuple[str, str], str] = {}
    for folder in material.code.folders:
        digests = {
            file.hash: file
            for file in folder.files
            if file.kind is None and LEAST_BYTES <= file.size <= LARGEST
        }
        # In reading order: the first submitter had the file first
        holders = Counter(
            first.setdefault((folder.benchmark, digest), folder.tree.submitter)
            for digest in digests
        )
        del holders[folder.tree.submitter]
        if folder.benchmark and holders:
            yield from _beside(folder, holders, len(digests))


def _beside(folder: CodeFolder, holders: Counter[str], total: int) -> Iterator[Finding]:
    (origin, common), *others = holders.most_common()
    if common < LEAST_FILES or common < MOST_APART * total:
        return
    suffix = f"; {len(others)} more submitters have some of them" if others else ""
    yield SHARED_CODE.found(
        _PROFILE,
        folder.tree.shown(f"benchmarks/{folder.benchmark}"),
        share=common / total,
        count=total,
        benchmark=folder.benchmark,
        other=origin,
        more=suffix,
    )


def _opaque(material: Material) -> Iterator[Finding]:
    for tree in material.code.trees:
        for file in tree.files:
            if file.kind in OPAQUE:
                yield OPAQUE_FILE.found(_PROFILE, tree.shown(file.path), kind=file.kind)
