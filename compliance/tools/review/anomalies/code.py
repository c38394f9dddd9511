"""Code beside its logs: settings that disagree, and files that submitters share."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.judging.inputs.source_files import Code, open_plain
from podium.compliance.judging.results.result import Result
from podium.compliance.tools.review.material import Home, Material
from podium.compliance.tools.review.review_rules import CONFIG_DISAGREES, SHARED_CODE
from podium.rules.finding import Finding, Profile
from podium.rules.run import as_number

_PROFILE = Profile.POLICY

LARGEST, MOST_FILES = 1 << 20, 5000
"""Bytes of a file, and files of a submission, that are looked at."""

LEAST_BYTES, LEAST_FILES, MOST_APART = 200, 5, 0.5
"""Shorter files say nothing; so many must be shared, and at least this share of all."""

CONFIGS = (".sh", ".env", ".conf", ".cfg", ".ini", ".yaml", ".yml", ".toml", ".json")
"""Files that may set hyperparameters."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_ASSIGNED = re.compile(
    rf"""^\s*(?:export\s+)?["']?([A-Za-z][\w.-]*)["']?\s*[:=]\s*"""
    rf"""(?:\$\{{\w+:[-=])?["']?({_NUMBER})["']?\}}?\s*,?\s*(?:[#;].*)?$"""
)


def code(material: Material) -> Iterator[Finding]:
    """What the code of submissions says, beside their logs and beside each other's code."""
    held = {home.path: Code(home.root) for home in material.homes}
    yield from _shared(material, held)
    by_home: dict[str, list[Result]] = defaultdict(list)
    roots = {home.root: home.path for home in material.homes}
    for result in material.results:
        home = next((roots[up] for up in result.place.folder.parents if up in roots), None)
        if home is not None:
            by_home[home].append(result)
    for path, results in by_home.items():
        yield from _disagreeing(held[path], path, results)


# --- settings -------------------------------------------------------------------------------------


def _disagreeing(files: Code, home: str, results: list[Result]) -> Iterator[Finding]:
    configs = [path for path in files.paths[:MOST_FILES] if path.endswith(CONFIGS)]
    told: set[tuple[str, int]] = set()
    for result in results:
        for path in configs:
            if not _is_about(path, result):
                continue
            for key, line, value in assignments(files.root / path):
                logged = _logged(result, key)
                if logged and all(abs(value - each) > 1e-9 * abs(each) for each in logged):
                    shown = path if home in ("", ".") else f"{home}/{path}"
                    if (shown, line) in told:
                        continue
                    told.add((shown, line))
                    yield CONFIG_DISAGREES.found(
                        _PROFILE,
                        result.place.display_path,
                        key=key,
                        setting=key,
                        file=shown,
                        at=line,
                        value=f"{value:g}",
                        logged=", ".join(f"{each:g}" for each in sorted({*logged})[:4]),
                    )


def _is_about(path: str, result: Result) -> bool:
    """Whether a configuration is of this result: it lies with its benchmark and names its system.

    A log may name it, too; its name alone is compared, as folders differ from machine to machine.
    """
    name = path.rpartition("/")[2]
    named = {run.facts.config for run in result.runs}
    if name in {(each or "").rpartition("/")[2] for each in named} - {""}:
        return True
    return result.place.benchmark in path.split("/") and result.place.system in name


@lru_cache(maxsize=4096)
def assignments(path: Path) -> tuple[tuple[str, int, float], ...]:
    """(name in lower case, line, number) of the assignments of plain numbers in a small file.

    A name that is assigned twice is left out: which of the two holds, only the program knows.
    """
    try:
        with open_plain(path) as stream:
            text = stream.read(LARGEST).decode(errors="replace")
    except OSError:
        return ()
    found: list[tuple[str, int, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ASSIGNED.match(line)
        if match is not None:
            found.append((match[1].lower(), number, float(match[2])))
    counts = Counter(name for name, *_ in found)
    return tuple(each for each in found if counts[each[0]] == 1)


def _logged(result: Result, key: str) -> list[float]:
    """The values that the runs log under a key; none where any of them is no number."""
    values = [_setting(run.facts.settings.as_dict(), key) for run in result.runs]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _setting(settings: Mapping[str, Any], key: str) -> float | None:
    return as_number(settings.get(key))


# --- shared code ----------------------------------------------------------------------------------


class _Files(msgspec.Struct, frozen=True):
    """The code of one benchmark in a submission: the hash of each file, by its path."""

    home: Home
    benchmark: str
    hashes: Mapping[str, bytes]


def _shared(material: Material, held: Mapping[str, Code]) -> Iterator[Finding]:
    benchmarks: dict[str, list[_Files]] = defaultdict(list)
    for home in material.homes:
        for name, hashes in _hashed(held[home.path]).items():
            benchmarks[name].append(_Files(home, name, hashes))
    first = _first_runs(material)
    for name, held_by in sorted(benchmarks.items()):
        # Who has the earliest logs had the code first
        held_by.sort(key=lambda each: first.get((each.home.path, name), math.inf))
        for index, here in enumerate(held_by):
            yield from _beside(here, held_by[:index], name)


def _first_runs(material: Material) -> dict[tuple[str, str], float]:
    """When the first run of each submission began, by its path and the benchmark."""
    found: dict[tuple[str, str], float] = {}
    roots = {home.root: home.path for home in material.homes}
    for result in material.results:
        home = next((roots[up] for up in result.place.folder.parents if up in roots), "")
        starts = (run.facts.run.start_ms for run in result.runs)
        key = (home, result.place.benchmark)
        began = (start for start in starts if start is not None)
        found[key] = min(found.get(key, math.inf), min(began, default=math.inf))
    return found


def _beside(here: _Files, others: list[_Files], benchmark: str) -> Iterator[Finding]:
    mine = {*here.hashes.values()}
    shares = []
    for other in others:
        common = mine & {*other.hashes.values()}
        if len(common) >= LEAST_FILES and len(common) >= MOST_APART * len(mine):
            shares.append((len(common) / len(mine), other))
    if not shares:
        return
    share, other = max(shares, key=lambda each: each[0])
    more = f", and {len(shares) - 1} other submitters have them" if len(shares) > 1 else ""
    above = "" if here.home.path in ("", ".") else f"{here.home.path}/"
    yield SHARED_CODE.found(
        _PROFILE,
        f"{above}benchmarks/{benchmark}",
        share=share,
        count=len(mine),
        benchmark=benchmark,
        other=other.home.submitter,
        more=more,
    )


def _hashed(files: Code) -> dict[str, dict[str, bytes]]:
    """The hash of each file of code, by benchmark and path; short and huge ones are left out."""
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for path in files.paths[:MOST_FILES]:
        parts = path.split("/")
        if len(parts) < 3:
            continue
        try:
            with open_plain(files.root / path) as stream:
                data = stream.read(LARGEST + 1)
        except OSError:
            continue
        if LEAST_BYTES <= len(data) <= LARGEST:
            found[parts[1]][path] = hashlib.blake2b(data, digest_size=16).digest()
    return found
