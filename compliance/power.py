"""Power logs of one result: their files, their content, and the energy of each run.

The official package checker looks at the names of the files only, its summary at their content;
the policy's rules are about both. Watts, milliseconds since 1970, joules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from logging_spec.read import CRASHING, Log, read_log
from logging_spec.record import Record
from rules.finding import Finding, Profile, Severity, StatedBy
from rules.round import Round
from rules.run import as_number, metadata_of

LONGEST_GAP_MS = 1500.0
"""One reading per second is asked for; this leaves room for clocks of whole seconds."""

FEWEST_READINGS = 60
"""Readings that the timed part of a run needs at least."""

CITES = "power measurement rules"
KINDS = ("node", "sw")

_NAME = re.compile(r"(node|sw)_(0|[1-9][0-9]*)\.txt")


@dataclass(frozen=True, slots=True)
class PoweredRun:
    """One run of the result: its log's name without `.txt`, and its timed part."""

    stem: str
    run_start_ms: float | None
    run_stop_ms: float | None


@dataclass(slots=True)
class PowerVerdict:
    """What is known of one result's power logs.

    `energies` gives joules by run, None where they cannot be told. The official package checker
    counts the runs `blamed` among those that fail, of which it lets one (four of unet3d's) pass;
    where it `crashed` it gives no verdict.
    """

    findings: list[Finding] = field(default_factory=list)
    energies: dict[str, float | None] = field(default_factory=dict)
    blamed: frozenset[str] = frozenset()
    crashed: bool = False


def check_power(
    folder: Path,
    runs: Sequence[PoweredRun],
    nodes: int | None,
    rules: Round,
    profile: Profile,
    shown: Callable[[Path], str],
) -> PowerVerdict:
    """Judge the `power` folder of one result's folder; no folder, nothing to say.

    `nodes` is the system's number_of_nodes where known; `shown` gives a path as reports show it.
    """
    power = folder / "power"
    if not os.path.lexists(power):
        return PowerVerdict()
    judgement = _Judgement(power, runs, nodes, rules, profile, shown)
    return judgement.verdict()


# --- the files ---


@dataclass(slots=True)
class _Official:
    """The official package checker's reading of the files' names.

    `misnumbered` and `miscounted` are (run, kind of file); the latter gives the run it blames.
    """

    missing: list[str] = field(default_factory=list)
    misnumbered: list[tuple[str, str]] = field(default_factory=list)
    miscounted: dict[tuple[str, str], str] = field(default_factory=dict)
    crash: str = ""

    @property
    def blamed(self) -> frozenset[str]:
        wrong = (*self.missing, *(stem for stem, _ in self.misnumbered))
        return frozenset((*wrong, *self.miscounted.values()))


def _official(listed: dict[str, list[str] | None]) -> _Official:
    """Judge as the official package checker; `listed` has file names by run, in its order."""
    found = _Official()
    stems = list(listed)
    present = [(stem, names) for stem, names in listed.items() if names is not None]
    found.missing = [stem for stem, names in listed.items() if names is None]
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
                found.crash = f"a file of {stem} has no number in its name"
                return found
            if any(not 0 <= number < len(mine) for number in numbers):
                found.misnumbered.append((stem, kind))
        usual = max(counts, key=counts.count)
        for index, (stem, _) in enumerate(present):
            if counts[index] != usual:
                # Missing folders shift its list: the run it blames may be an earlier one.
                found.miscounted[stem, kind] = stems[index]
    return found
