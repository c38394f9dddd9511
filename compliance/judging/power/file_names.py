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
        stems = (*self.missing, *(stem for stem, _ in self.misnumbered))
        return frozenset((*stems, *(miscount.blamed for miscount in self.miscounted.values())))


def official_reading(listing: Listed) -> Official:
    """The names as the official package checker reads them."""
    reading = Official([stem for stem, names in listing.items() if names is None])
    stems = list(listing)
    present_runs = [(stem, names) for stem, names in listing.items() if names is not None]
    if not present_runs:
        # Without any folder it has no number of files to compare with
        reading.crash = "no run has a folder in it"
        return reading
    for kind in KINDS:
        counts = []
        for stem, names in present_runs:
            # Plots such as nodes_1_to_8.png also count as logs, here with the number 8.
            kind_names = [name for name in names if name.startswith(kind)]
            counts.append(len(kind_names))
            try:
                numbers = [int(os.path.splitext(name)[0].split("_")[-1]) for name in kind_names]
            except ValueError:
                reading.crash = f"a {kind} file of {stem} has no number in its name"
                return reading
            # Repeated numbers pass: it never fills the set in which it looks for them.
            if any(not 0 <= number < len(kind_names) for number in numbers):
                reading.misnumbered.append((stem, kind))
        usual_count = _usual(counts)
        for index, (stem, _) in enumerate(present_runs):
            if counts[index] != usual_count:
                # Missing folders shift its list, so it may blame an earlier run.
                reading.miscounted[stem, kind] = Miscount(counts[index], usual_count, stems[index])
    return reading


def official_findings(official: Official, display: Shown) -> Iterator[Finding]:
    """The findings of the official package checker, in the verifier profile."""
    profile = Profile.VERIFIER
    yield from _missing(official, profile, display)
    for stem, kind in official.misnumbered:
        yield NUMBERING.found(profile, display(stem), kind=kind, numbers="")
    for (stem, kind), miscount in official.miscounted.items():
        blames = miscount.blamed != stem
        yield FILE_COUNT.found(
            profile,
            display(stem),
            kind=kind,
            count=miscount.files,
            usual=miscount.usual,
            detail=f"; the official verifier reports this for {miscount.blamed}" if blames else "",
        )


def policy_findings(
    listing: Listed, nodes: int | None, official: Official, display: Shown
) -> Iterator[Finding]:
    """The findings of the policy, and findings that only the official package checker has."""
    profile = Profile.POLICY
    yield from _missing(official, profile, display)
    kinds_by_run = {
        stem: {kind: _numbers(names, kind) for kind in KINDS}
        for stem, names in listing.items()
        if names is not None
    }
    reported: set[tuple[str, str]] = set()
    for kind in KINDS if kinds_by_run else ():
        for stem, finding in (
            *_numbered(kinds_by_run, kind, official, display),
            *_counted(kinds_by_run, kind, official, display),
        ):
            reported.add((stem, kind))
            yield finding
    if kinds_by_run and nodes is not None:
        usual_count = _usual([len(kinds["node"]) for kinds in kinds_by_run.values()])
        if usual_count != nodes:
            yield NODE_COUNT.found(profile, display(""), count=usual_count, nodes=nodes)
    yield from _no_interconnect(kinds_by_run, nodes or 0, display)
    # Findings of the strict reading are not reported again as the verifier's
    for stem, kind in sorted({*official.misnumbered, *official.miscounted} - reported):
        yield VERIFIER_NAMES.found(profile, display(stem), run=stem, kind=kind)
    for stem, names in listing.items():
        strays = [name for name in names or [] if not NAME.fullmatch(name)]
        if strays:
            yield STRAY_FILE.found(profile, display(stem), names=join_limited(strays, SHOWN))


def _no_interconnect(kinds_by_run: _Strict, nodes: int, display: Shown) -> Iterator[Finding]:
    # The description and the files may have different counts: the larger shows a network
    nodes = max([nodes, *(len(kinds["node"]) for kinds in kinds_by_run.values())])
    lacking_runs = [stem for stem, kinds in kinds_by_run.items() if not kinds["sw"]]
    if nodes > 1 and lacking_runs:
        yield NO_INTERCONNECT.found(
            Profile.POLICY,
            display(""),
            count=len(lacking_runs),
            total=len(kinds_by_run),
            run=lacking_runs[0],
            nodes=nodes,
        )


def _missing(official: Official, profile: Profile, display: Shown) -> Iterator[Finding]:
    for stem in official.missing:
        yield NO_RUN_FOLDER.found(profile, display(stem), run=stem)


def _numbers(names: list[str], kind: str) -> list[int]:
    matches = (NAME.fullmatch(name) for name in names)
    return sorted(int(match[2]) for match in matches if match and match[1] == kind)


def _numbered(
    kinds_by_run: _Strict, kind: str, official: Official, display: Shown
) -> Iterator[tuple[str, Finding]]:
    for stem, kinds in kinds_by_run.items():
        numbers = kinds[kind]
        if numbers != list(range(len(numbers))):
            number_list = join_limited([str(number) for number in numbers], SHOWN)
            yield (
                stem,
                NUMBERING.found(
                    Profile.POLICY,
                    display(stem),
                    stated_by=_stated_by((stem, kind) in official.misnumbered),
                    kind=kind,
                    numbers=f", but {number_list}",
                ),
            )


def _counted(
    kinds_by_run: _Strict, kind: str, official: Official, display: Shown
) -> Iterator[tuple[str, Finding]]:
    counts = {stem: len(kinds[kind]) for stem, kinds in kinds_by_run.items()}
    usual_count = _usual(list(counts.values()))
    for stem, count in counts.items():
        if count != usual_count:
            yield (
                stem,
                FILE_COUNT.found(
                    Profile.POLICY,
                    display(stem),
                    stated_by=_stated_by((stem, kind) in official.miscounted),
                    kind=kind,
                    count=count,
                    usual=usual_count,
                    detail="",
                ),
            )


def _stated_by(official: bool) -> StatedBy:
    return StatedBy.BOTH if official else StatedBy.POLICY


def _usual(counts: list[int]) -> int:
    # The first of equally frequent counts, because the verifier's choice of runs depends on it
    return max(counts, key=counts.count)
