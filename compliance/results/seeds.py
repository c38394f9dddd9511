"""Seeds of one result's runs: as the official checker compares them, and as the policy asks.

The official checker wants a seed in every run of a closed result from 1.0 on, and no two records
with the same source file, source line and seed. The policy asks that only from 4.1 on, and only of
different runs: the ranks of one run may share a seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from podium.logging_spec.reader.log import Fault, Log
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.round import Round
from podium.rules.run import metadata_of

SOURCE_EXTENSIONS = frozenset(
    ".py .cc .cpp .cxx .c .h .hh .hpp .hxx .sh .sub .cu .cuh".split()  # noqa: SIM905
)
"""Endings of the files in which a seed may be logged."""

CITES = "training rules, Random Numbers"
CITES_PRUNED = "HPC rules, Throughput"

_WHOLE = r"\s*([+-]?)(\d+)\s*"
_HARMLESS = frozenset({Fault.GLUED, Fault.KEY, Fault.DIALECT, Fault.IGNORED})

SeedRecord = tuple[Any, int, Any, Any]
"""A seed as logged: value, line of the log, source file and source line (None: not given)."""

_Seen = dict[tuple[Any, Any, int], tuple["SeededRun", SeedRecord]]


class SeededRun(msgspec.Struct, frozen=True):
    """The seeds of one log. `broken` says why the official reader refuses the log, if it does."""

    path: str
    seeds: Sequence[SeedRecord]
    broken: str = ""
    broken_line: int | None = None


def seeded_run(log: Log, path: str) -> SeededRun:
    """What one log says of its seeds, as the official reader of 0.7 and later takes it."""
    if log.generation != "mllog":
        return SeededRun(path, ())
    seeds = []
    for index, record in enumerate(log.records):
        if record.key == "seed":
            said = metadata_of(record)
            seeds.append((record.value, log.line(index), said.get("file"), said.get("lineno")))
    for fault in log.faults:
        if fault.kind not in _HARMLESS:
            line = None if fault.position < 0 else log.line_at(fault.position)
            return SeededRun(path, tuple(seeds), fault.message, line)
    return SeededRun(path, tuple(seeds))


def check_seeds(
    runs: Sequence[SeededRun],
    rules: Round,
    division: str,
    profile: Profile,
    source_files: Callable[[], Iterable[str]] | None = None,
    *,
    weak: bool = False,
) -> list[Finding]:
    """What is wrong with the seeds of one result.

    `division` is the system description's. `source_files` gives the paths of the submission's
    files; without it nothing is looked up. `weak` marks the instances of a throughput result.
    """
    return list(_Judgement(runs, rules, division, profile, weak).findings(source_files))


class _Judgement:
    def __init__(
        self,
        runs: Sequence[SeededRun],
        rules: Round,
        division: str,
        profile: Profile,
        weak: bool,
    ) -> None:
        self.runs, self.rules, self.profile = runs, rules, profile
        self.by_policy = profile is Profile.POLICY
        self.pruned = rules.usage == "hpc" and weak and rules.version >= (2, 0)
        # The official checker skips a result whose division is not spelled exactly so.
        self.official = rules.verified and rules.version >= (1, 0) and division == "closed"
        self.demanded = division.strip().lower() == "closed" and rules.limits.seeds_logged
        self.asked = StatedBy.BOTH if self.demanded else StatedBy.VERIFIER

    def findings(self, source_files: Callable[[], Iterable[str]] | None) -> Iterator[Finding]:
        """Everything, by the profile."""
        found: list[Finding] = []
        if self.official or (self.by_policy and self.demanded):
            found += self._compared()
            yield from found
        if self.demanded or (self.official and not self.by_policy):
            yield from self._several()
        if self.by_policy and (self.demanded or self.pruned):
            yield from self._shared({f.path for f in found if f.id == "seeds.repeated"})
        if self.by_policy and self.demanded:
            yield from self._sources(source_files)

    # --- as the official checker ---

    def _compared(self) -> Iterator[Finding]:
        """Every run logs a seed, and no two records share file, line and truncated value."""
        first: _Seen = {}
        for run in self.runs:
            unusable = self._unusable(run)
            if unusable is not None:
                yield unusable
                continue
            try:
                yield from self._clashes(run, first)
            except TypeError:
                said = "the official verifier ends in a traceback on this seed's file or lineno"
                yield self._tell("seeds.verifier-crash", run, run.seeds[0][1], said)
                return

    def _unusable(self, run: SeededRun) -> Finding | None:
        if run.broken:
            said = f"the official verifier cannot compare this run's seeds: {run.broken}"
            return self._tell("seeds.unreadable-log", run, run.broken_line, said)
        for value, line, file, lineno in run.seeds:
            try:
                int(value)
            except (TypeError, ValueError, OverflowError):
                said = f"seed is {_shown(value)}; must be an integer"
                return self._tell("seeds.not-integer", run, line, said, self.asked, _shown(value))
            if file is None or lineno is None:
                absent = "metadata.file" if file is None else "metadata.lineno"
                said = f"the seed's record lacks {absent}, the place where it was logged"
                return self._tell("seeds.no-place", run, line, said, self.asked)
        if not run.seeds:
            said = "the run logs no seed; must log at least one"
            return self._tell("seeds.none", run, None, said, self.asked)
        return None

    def _clashes(self, run: SeededRun, first: _Seen) -> Iterator[Finding]:
        inside: list[SeedRecord] = []
        across: list[tuple[SeedRecord, SeededRun, SeedRecord]] = []
        for seed in run.seeds:
            key = (seed[2], seed[3], int(seed[0]))
            other, before = first.get(key, (None, seed))
            if other is None:
                first[key] = (run, seed)
            elif other is run:
                inside.append(seed)
            else:
                across.append((seed, other, before))
        if inside:
            value, line, file, lineno = inside[0]
            said = f"seed {_shown(value)} of {file}:{lineno} is logged again in the same run"
            said += f" ({len(inside)} such records)" if len(inside) > 1 else ""
            said += "; the official verifier rejects that, though a run's processes may share it"
            yield self._tell("seeds.repeated-in-run", run, line, said, actual=_shown(value))
        if across:
            yield self._about_across(run, *across[0], len(across) - 1)

    def _about_across(
        self, run: SeededRun, seed: SeedRecord, other: SeededRun, before: SeedRecord, more: int
    ) -> Finding:
        value, line, file, lineno = seed
        said = f"seed {_shown(value)} of {file}:{lineno} was already logged there by {other.path}"
        said += f", line {before[1]}" + _and(more)
        stated = self.asked
        if _spelled(value) != _spelled(before[0]):
            stated = StatedBy.VERIFIER
            said += f"; the official verifier takes {_shown(before[0])} for the same"
        elif self.pruned:
            stated = StatedBy.BOTH
            said += "; instances with equal seeds must be pruned"
        return self._tell("seeds.repeated", run, line, said, stated, _shown(value))

    # --- what is only told, or only the policy's ---

    def _several(self) -> Iterator[Finding]:
        for run in self.runs:
            count = len(run.seeds)
            if self.by_policy:
                count = len({_spelled(seed[0]) for seed in run.seeds})
            if count > 1:
                said = f"the run logs {count} seeds; one is enough"
                yield self._tell("seeds.several", run, run.seeds[1][1], said, StatedBy.BOTH)

    def _shared(self, told: set[str]) -> Iterator[Finding]:
        """Equal seeds of several runs, wherever they are logged; a run's own repeats are one."""
        first: dict[str, SeededRun] = {}
        for run in self.runs:
            own: dict[str, SeedRecord] = {}
            for seed in run.seeds:
                own.setdefault(_spelled(seed[0]), seed)
            again = [key for key in own if key in first]
            if again and run.path not in told:
                value, line, *_ = own[again[0]]
                said = f"seed {_shown(value)} is also a seed of {first[again[0]].path}"
                said += _and(len(again) - 1)
                said += "; instances with equal seeds must be pruned" if self.pruned else ""
                said += "" if self.pruned else "; each run must draw its own"
                yield self._tell("seeds.shared", run, line, said, StatedBy.POLICY, _shown(value))
            for key in own:
                first.setdefault(key, run)

    def _sources(self, source_files: Callable[[], Iterable[str]] | None) -> Iterator[Finding]:
        """Each place where seeds are logged is named once: the runs mostly share it."""
        places: dict[str, tuple[SeededRun, int]] = {}
        for run in self.runs:
            for _, line, file, _ in run.seeds:
                if isinstance(file, str):
                    places.setdefault(file, (run, line))
        known = None
        if places and source_files is not None:
            known = {_name(path) for path in source_files()}
        for file, (run, line) in places.items():
            if PurePosixPath(_name(file)).suffix not in SOURCE_EXTENSIONS:
                said = f"the seed was logged in {file}, which is no source file by its ending"
            elif known is not None and _name(file) not in known:
                said = f"the seed was logged in {file}; the submission has no file of that name"
            else:
                continue
            yield self._tell("seeds.source", run, line, said, StatedBy.POLICY, file)

    # --- findings ---

    def _tell(
        self,
        rule: str,
        run: SeededRun,
        line: int | None,
        said: str,
        stated_by: StatedBy = StatedBy.VERIFIER,
        actual: str | None = None,
    ) -> Finding:
        expected, hint = REMEDIATION[rule]
        severity = Severity.ERROR
        if stated_by is StatedBy.POLICY or rule == "seeds.several":
            severity = Severity.WARNING
        elif stated_by is StatedBy.VERIFIER and self.by_policy:
            severity = Severity.WARNING
            if "official verifier" not in said:
                said += f"; in {self.rules.title} only the official verifier rejects that"
        cites = CITES_PRUNED if self.pruned else CITES
        return Finding(
            rule, severity, run.path, line, "seed", said, expected, actual, hint, cites, stated_by
        )


_OWN = ("a seed that no other run has", "give each run its own seed, and repeat the run")

REMEDIATION = {
    "seeds.none": ("at least one", "log the seed that the run's random generators were given"),
    "seeds.not-integer": ("an integer", "log the seed as the random generator takes it"),
    "seeds.no-place": ("file and lineno", "log seeds through mllog, which adds both"),
    "seeds.repeated": _OWN,
    "seeds.shared": _OWN,
    "seeds.repeated-in-run": ("one record of a seed", "log the seed from one process only"),
    "seeds.several": ("one seed", "log the one seed from which the others are drawn"),
    "seeds.unreadable-log": ("a log that can be read", "mend the line"),
    "seeds.verifier-crash": ("a text, a number", "log seeds through mllog"),
    "seeds.source": (
        "a file of the submission, ending in " + ", ".join(sorted(SOURCE_EXTENSIONS)),
        "submit the code that ran, and log the seed in it",
    ),
}
"""By rule: what is expected, and how to mend what was found."""


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _and(more: int) -> str:
    return f" (and {more} more seeds)" if more else ""


def _spelled(value: Any) -> str:
    """One spelling of equal seeds: an integer and a text that spells it are the same."""
    if isinstance(value, str) and (whole := re.fullmatch(_WHOLE, value, re.ASCII)):
        digits = whole[2].lstrip("0") or "0"
        return f"-{digits}" if whole[1] == "-" and digits != "0" else digits
    return repr(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
