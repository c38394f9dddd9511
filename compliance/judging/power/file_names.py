"""Names of power logs: `power/<run>/node_<i>.txt` and `sw_<i>.txt`, numbered from 0.

The official package checker treats every name that begins with `node` or `sw` as a power log, and
reads the text between its last underscore and its extension as the number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from podium.compliance.judging.power.power_rules import (
    FILE_COUNT,
    NO_INTERCONNECT,
    NO_RUN_FOLDER,
    NODE_COUNT,
    NUMBERING,
    STRAY_FILE,
    VERIFIER_NAMES,
)
from podium.compliance.text.words import join_limited
from podium.rules.finding import Finding, Profile, StatedBy

KINDS = ("node", "sw")
SHOWN = 5
"""Number of invalid names that a message lists."""

# No leading zeros: node_00.txt and node_0.txt would both be node 0
NAME = re.compile(r"(node|sw)_(0|[1-9][0-9]*)\.txt")

Listed = dict[str, list[str] | None]
"""File names by run, in the order of the names of the logs; None if a run has no folder."""


Shown = Callable[[str], str]
"""Returns the path in reports of a run's folder below `power`, or of `power` for an empty name."""


class Miscount(NamedTuple):
    """The number of files of a kind in a run, the usual number, and the run that is blamed."""

    files: int
    usual: int
    blamed: str


_Strict = dict[str, dict[str, list[int]]]


class Official(msgspec.Struct):
    """The official package checker's reading.

    The keys of `misnumbered` and `miscounted` are (run, kind of file).
    """

    missing: list[str] = msgspec.field(default_factory=list)
    misnumbered: list[tuple[str, str]] = msgspec.field(default_factory=list)
    miscounted: dict[tuple[str, str], Miscount] = msgspec.field(default_factory=dict)
    crash: str = ""

    @property
    def blamed(self) -> frozenset[str]:
        """The runs that it counts as failed."""
        wrong = (*self.missing, *(stem for stem, _ in self.misnumbered))
        return frozenset((*wrong, *(found.blamed for found in self.miscounted.values())))


def official_reading(listed: Listed) -> Official:
    """The names as the official package checker reads them."""
    found = Official([stem for stem, names in listed.items() if names is None])
    stems = list(listed)
    present = [(stem, names) for stem, names in listed.items() if names is not None]
    if not present:
        # Without any folder it has no number of files to compare with
        found.crash = "no run has a folder in it"
        return found
    for kind in KINDS:
        counts = []
        for stem, names in present:
            # Plots such as nodes_1_to_8.png also count as logs, here with the number 8.
            mine = [name for name in names if name.startswith(kind)]
            counts.append(len(mine))
            try:
                numbers = [int(os.path.splitext(name)[0].split("_")[-1]) for name in mine]
            except ValueError:
                found.crash = f"a {kind} file of {stem} has no number in its name"
                return found
            # Repeated numbers pass: it never fills the set in which it looks for them.
            if any(not 0 <= number < len(mine) for number in numbers):
                found.misnumbered.append((stem, kind))
        usual = _usual(counts)
        for index, (stem, _) in enumerate(present):
            if counts[index] != usual:
                # Missing folders shift its list, so it may blame an earlier run.
                found.miscounted[stem, kind] = Miscount(counts[index], usual, stems[index])
    return found


def official_findings(official: Official, shown: Shown) -> Iterator[Finding]:
    """The findings of the official package checker, in the verifier profile."""
    profile = Profile.VERIFIER
    yield from _missing(official, profile, shown)
    for stem, kind in official.misnumbered:
        yield NUMBERING.found(profile, shown(stem), kind=kind, numbers="")
    for (stem, kind), found in official.miscounted.items():
        blames = found.blamed != stem
        yield FILE_COUNT.found(
            profile,
            shown(stem),
            kind=kind,
            count=found.files,
            usual=found.usual,
            detail=f"; the official verifier blames {found.blamed} for this" if blames else "",
        )


def policy_findings(
    listed: Listed, nodes: int | None, official: Official, shown: Shown
) -> Iterator[Finding]:
    """The findings of the policy, and findings that only the official package checker has."""
    profile = Profile.POLICY
    yield from _missing(official, profile, shown)
    strict = {
        stem: {kind: _numbers(names, kind) for kind in KINDS}
        for stem, names in listed.items()
        if names is not None
    }
    wrong: set[tuple[str, str]] = set()
    for kind in KINDS if strict else ():
        for stem, found in (
            *_numbered(strict, kind, official, shown),
            *_counted(strict, kind, official, shown),
        ):
            wrong.add((stem, kind))
            yield found
    if strict and nodes is not None:
        usual = _usual([len(kinds["node"]) for kinds in strict.values()])
        if usual != nodes:
            yield NODE_COUNT.found(profile, shown(""), count=usual, nodes=nodes)
    yield from _no_interconnect(strict, nodes or 0, shown)
    # Findings of the strict reading are not reported again as the verifier's
    for stem, kind in sorted({*official.misnumbered, *official.miscounted} - wrong):
        yield VERIFIER_NAMES.found(profile, shown(stem), run=stem, kind=kind)
    for stem, names in listed.items():
        strays = [name for name in names or [] if not NAME.fullmatch(name)]
        if strays:
            yield STRAY_FILE.found(profile, shown(stem), names=join_limited(strays, SHOWN))


def _no_interconnect(strict: _Strict, nodes: int, shown: Shown) -> Iterator[Finding]:
    # The description and the files may have different counts: the larger shows a network
    nodes = max([nodes, *(len(kinds["node"]) for kinds in strict.values())])
    lacking = [stem for stem, kinds in strict.items() if not kinds["sw"]]
    if nodes > 1 and lacking:
        yield NO_INTERCONNECT.found(
            Profile.POLICY,
            shown(""),
            count=len(lacking),
            total=len(strict),
            run=lacking[0],
            nodes=nodes,
        )


def _missing(official: Official, profile: Profile, shown: Shown) -> Iterator[Finding]:
    for stem in official.missing:
        yield NO_RUN_FOLDER.found(profile, shown(stem), run=stem)


def _numbers(names: list[str], kind: str) -> list[int]:
    found = (NAME.fullmatch(name) for name in names)
    return sorted(int(match[2]) for match in found if match and match[1] == kind)


def _numbered(
    strict: _Strict, kind: str, official: Official, shown: Shown
) -> Iterator[tuple[str, Finding]]:
    for stem, kinds in strict.items():
        numbers = kinds[kind]
        if numbers != list(range(len(numbers))):
            given = join_limited([str(number) for number in numbers], SHOWN)
            yield (
                stem,
                NUMBERING.found(
                    Profile.POLICY,
                    shown(stem),
                    stated_by=_stated_by((stem, kind) in official.misnumbered),
                    kind=kind,
                    numbers=f", but {given}",
                ),
            )


def _counted(
    strict: _Strict, kind: str, official: Official, shown: Shown
) -> Iterator[tuple[str, Finding]]:
    counts = {stem: len(kinds[kind]) for stem, kinds in strict.items()}
    usual = _usual(list(counts.values()))
    for stem, count in counts.items():
        if count != usual:
            yield (
                stem,
                FILE_COUNT.found(
                    Profile.POLICY,
                    shown(stem),
                    stated_by=_stated_by((stem, kind) in official.miscounted),
                    kind=kind,
                    count=count,
                    usual=usual,
                    detail="",
                ),
            )


def _stated_by(official: bool) -> StatedBy:
    return StatedBy.BOTH if official else StatedBy.POLICY


def _usual(counts: list[int]) -> int:
    # The first of equally frequent counts, because the verifier's choice of runs depends on it
    return max(counts, key=counts.count)
