"""Names of power logs: `power/<run>/node_<i>.txt` and `sw_<i>.txt`, numbered from 0.

The official package checker takes every name that begins with `node` or `sw` for a power log, and
whatever stands between its last underscore and its ending for the number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import msgspec

from podium.compliance.power.meter import Fault
from podium.rules.finding import StatedBy

KINDS = ("node", "sw")
NAME = re.compile(r"(node|sw)_(0|[1-9][0-9]*)\.txt")

Listed = dict[str, list[str] | None]
"""File names by run, runs in the order of their logs' names; None where a run has no folder."""

Told = tuple[str, Fault]
"""A fault, and the folder below `power` that has it (empty: `power` itself)."""

_Strict = dict[str, dict[str, list[int]]]


class Official(msgspec.Struct):
    """The official package checker's reading.

    `misnumbered` and `miscounted` are (run, kind of file); the latter gives the run it blames.
    """

    missing: list[str] = msgspec.field(default_factory=list)
    misnumbered: list[tuple[str, str]] = msgspec.field(default_factory=list)
    miscounted: dict[tuple[str, str], str] = msgspec.field(default_factory=dict)
    crash: str = ""

    @property
    def blamed(self) -> frozenset[str]:
        """The runs that it counts among the failing ones."""
        wrong = (*self.missing, *(stem for stem, _ in self.misnumbered))
        return frozenset((*wrong, *self.miscounted.values()))


def official_reading(listed: Listed) -> Official:
    """What the official package checker makes of the names."""
    found = Official([stem for stem, names in listed.items() if names is None])
    stems = list(listed)
    present = [(stem, names) for stem, names in listed.items() if names is not None]
    if not present:
        found.crash = "no run has a folder there"
        return found
    for kind in KINDS:
        counts = []
        for stem, names in present:
            mine = [name for name in names if name.startswith(kind)]
            counts.append(len(mine))
            try:
                numbers = [int(os.path.splitext(name)[0].split("_")[-1]) for name in mine]
            except ValueError:
                found.crash = f"a {kind} file of {stem} has no number in its name"
                return found
            if any(not 0 <= number < len(mine) for number in numbers):
                found.misnumbered.append((stem, kind))
        usual = max(counts, key=counts.count)
        for index, (stem, _) in enumerate(present):
            if counts[index] != usual:
                # Missing folders shift its list: the run it blames may be an earlier one.
                found.miscounted[stem, kind] = stems[index]
    return found


def official_faults(official: Official) -> Iterator[Told]:
    """What the official package checker rejects."""
    yield from _missing(official)
    for stem, kind in official.misnumbered:
        said = f"{kind} files must be numbered from 0 without gaps"
        yield stem, _fault("power.numbering", said, StatedBy.BOTH)
    for (stem, kind), blamed in official.miscounted.items():
        said = f"the run has another number of {kind} files than most runs"
        said += "" if blamed == stem else f"; the official verifier blames {blamed} for that"
        yield stem, _fault("power.file-count", said, StatedBy.BOTH)


def policy_faults(listed: Listed, nodes: int | None, official: Official) -> Iterator[Told]:
    """What the policy rejects, and what only the official package checker does."""
    yield from _missing(official)
    strict = {
        stem: {kind: _numbers(names, kind) for kind in KINDS}
        for stem, names in listed.items()
        if names is not None
    }
    told = set()
    for kind in KINDS if strict else ():
        for stem, rule, said in (*_numbered(strict, kind), *_counted(strict, kind)):
            told.add((stem, kind))
            known = official.misnumbered if rule == "power.numbering" else official.miscounted
            stated = StatedBy.BOTH if (stem, kind) in known else StatedBy.POLICY
            yield stem, _fault(rule, said, stated)
    if strict and nodes is not None:
        usual = _usual([len(kinds["node"]) for kinds in strict.values()])
        if usual != nodes:
            said = f"runs have {usual} node files; the system has {nodes} nodes"
            yield "", Fault("power.node-count", None, None, said, usual)
    for stem, kind in sorted({*official.misnumbered, *official.miscounted} - told):
        said = f"the official verifier rejects {stem}: it takes each name that begins with {kind} "
        yield stem, _fault("power.verifier-names", said + "for a power log", StatedBy.VERIFIER)
    for stem, names in listed.items():
        strays = [name for name in names or [] if not NAME.fullmatch(name)]
        if strays:
            said = f"{join_limited(strays)}: not named as power logs are"
            yield stem, _fault("power.stray-file", said, StatedBy.POLICY)


def _fault(rule: str, said: str, stated_by: StatedBy) -> Fault:
    return Fault(rule, None, None, said, None, stated_by)


def _missing(official: Official) -> Iterator[Told]:
    for stem in official.missing:
        said = f"{stem} has no folder of power logs; every run must be measured"
        yield stem, _fault("power.no-run-folder", said, StatedBy.BOTH)


def _numbers(names: list[str], kind: str) -> list[int]:
    found = (NAME.fullmatch(name) for name in names)
    return sorted(int(match[2]) for match in found if match and match[1] == kind)


def _numbered(strict: _Strict, kind: str) -> Iterator[tuple[str, str, str]]:
    for stem, kinds in strict.items():
        numbers = kinds[kind]
        if numbers != list(range(len(numbers))):
            given = join_limited([str(number) for number in numbers])
            said = f"{kind} files are numbered {given}; must be 0 to {len(numbers) - 1}"
            yield stem, "power.numbering", said


def _counted(strict: _Strict, kind: str) -> Iterator[tuple[str, str, str]]:
    counts = {stem: len(kinds[kind]) for stem, kinds in strict.items()}
    usual = _usual(list(counts.values()))
    for stem, count in counts.items():
        if count != usual:
            said = f"the run has {count} {kind} files; most runs have {usual}"
            yield stem, "power.file-count", said


def _usual(counts: list[int]) -> int:
    return max(counts, key=counts.count)


def join_limited(names: list[str]) -> str:
    """The first few names, and how many there are more."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
