"""The seeds of one result's runs, according to the official checker and to the policy.

From 1.0 on, the official checker requires a seed in every run of a closed result, and no two
records with the same source file, source line and seed. The policy requires this only from 4.1 on,
and only for different runs: the ranks of one run may share a seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.logs.seeds import SeededRun, SeedRecord
from podium.compliance.judging.results.consistency import shortened
from podium.compliance.judging.results.rules.seed_rules import (
    NO_PLACE,
    NONE,
    NOT_INTEGER,
    REPEATED,
    REPEATED_IN_RUN,
    RUN_INDEX,
    SEVERAL,
    SHARED,
    SOURCE,
    SOURCE_EXTENSIONS,
    UNREADABLE_LOG,
    VERIFIER_CRASH,
)
from podium.rules.constraints.formula import show_logged
from podium.rules.finding import Finding, Profile, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round
from podium.rules.quirks import QUIRKS

CITES_PRUNED = "HPC rules, Throughput"

_LEAST_COUNTED = 3
"""The least number of runs to compare: two runs may have drawn 0 and 1 at random."""

_WHOLE = r"\s*([+-]?)(\d+)\s*"

_FirstLogged = dict[tuple[Any, Any, int], tuple[SeededRun, SeedRecord]]


def check_seeds(
    runs: Sequence[SeededRun],
    rules: Round,
    division: str,
    profile: Profile,
    source_files: Callable[[], Iterable[str]] | None = None,
    *,
    weak: bool = False,
) -> list[Finding]:
    """Findings about the seeds of one result.

    `division` is the system description's. `source_files` returns the paths of the submission's
    files; without it, files are not checked. `weak`: instances of a throughput result.
    """
    by_policy = not QUIRKS[profile].ignores_policy
    # The official checker skips a result whose division has another spelling.
    official = rules.verified and rules.package.seeds_compared and division == "closed"
    demanded = division.strip().lower() == "closed" and rules.limits.seeds_logged
    # HPC rules from 2.0 on: instances with equal seeds must be pruned
    pruned = weak and rules.package.pruned_instances
    asked = StatedBy.BOTH if demanded else StatedBy.VERIFIER
    judgement = _Judgement(runs, rules, profile, by_policy, pruned, asked)
    findings: list[Finding] = []
    if official or (by_policy and demanded):
        findings += judgement.compared()
    repeated = {finding.path for finding in findings if finding.id == "seeds.repeated"}
    if demanded or (official and not by_policy):
        findings += judgement.several()
    if by_policy and (demanded or pruned):
        findings += judgement.shared(repeated)
    if by_policy and demanded:
        findings += judgement.sources(source_files)
        findings += judgement.counted()
    return findings


class _Judgement(msgspec.Struct):
    """The seeds of a result; `asked` is who requires them, `pruned` says that none may repeat."""

    runs: Sequence[SeededRun]
    rules: Round
    profile: Profile
    by_policy: bool
    pruned: bool
    asked: StatedBy

    # --- as the official checker ---

    def compared(self) -> Iterator[Finding]:
        """Findings about runs without a seed, and records with equal file, line and integer."""
        first: _FirstLogged = {}
        for run in self.runs:
            unusable = self._unusable(run)
            if unusable is not None:
                yield unusable
                continue
            try:
                yield from self._clashes(run, first)
            except TypeError:
                # The verifier uses seeds as keys of a dict, and a list cannot be a key.
                yield self._found(VERIFIER_CRASH, run, run.seeds[0][1])
                return

    def _unusable(self, run: SeededRun) -> Finding | None:
        if run.broken:
            return self._found(UNREADABLE_LOG, run, run.broken_line, problem=run.broken)
        # int() as in the verifier: it accepts 1.9 and true, and rejects the string `1.5`
        for value, line, file, lineno in run.seeds:
            try:
                int(value)
            except (TypeError, ValueError, OverflowError):
                return self._found(NOT_INTEGER, run, line, self.asked, seed=show_logged(value))
            if file is None or lineno is None:
                missing = "metadata.file" if file is None else "metadata.lineno"
                return self._found(NO_PLACE, run, line, self.asked, missing=missing)
        return None if run.seeds else self._found(NONE, run, None, self.asked)

    def _clashes(self, run: SeededRun, first: _FirstLogged) -> Iterator[Finding]:
        repeats: list[SeedRecord] = []
        clashes: list[tuple[SeedRecord, SeededRun, SeedRecord]] = []
        for seed in run.seeds:
            # The path as logged: for the verifier, the same seed with another path is not a clash
            key = (seed[2], seed[3], int(seed[0]))
            other, other_seed = first.get(key, (None, seed))
            if other is None:
                first[key] = (run, seed)
            elif other is run:
                repeats.append(seed)
            else:
                clashes.append((seed, other, other_seed))
        if repeats:
            value, line, file, lineno = repeats[0]
            count = f" ({len(repeats)} such records)" if len(repeats) > 1 else ""
            source = f"{file}:{lineno}"
            yield self._found(
                REPEATED_IN_RUN, run, line, seed=shortened(repr(value)), source=source, count=count
            )
        if clashes:
            seed, other, other_seed = clashes[0]
            yield self._about_across(run, seed, other, other_seed, extra=len(clashes) - 1)

    def _about_across(
        self, run: SeededRun, seed: SeedRecord, other: SeededRun, other_seed: SeedRecord, extra: int
    ) -> Finding:
        value, line, file, lineno = seed
        remark, stated_by = _more_seeds(extra), self.asked
        if _canonical(value) != _canonical(other_seed[0]):
            # The verifier compares int(seed), so 1.5 and 1.9 are the same seed.
            stated_by = StatedBy.VERIFIER
            remark += f"; the official verifier treats {shortened(repr(other_seed[0]))} as equal"
        elif self.pruned:
            stated_by = StatedBy.BOTH
            remark += _PRUNE
        return self._found(
            REPEATED,
            run,
            line,
            stated_by,
            remark,
            seed=shortened(repr(value)),
            source=f"{file}:{lineno}",
            other=other.path,
            other_line=other_seed[1],
        )

    # --- warnings, and rules of the policy alone ---

    def several(self) -> Iterator[Finding]:
        """Findings about runs with several seeds."""
        for run in self.runs:
            count = len(run.seeds)
            if not QUIRKS[self.profile].counts_seed_records:
                count = len({_canonical(seed[0]) for seed in run.seeds})
            if count > 1:
                yield self._found(SEVERAL, run, run.seeds[1][1], count=count)

    def shared(self, repeated: set[str]) -> Iterator[Finding]:
        """Findings about equal seeds in several runs, at any source line.

        Repeats within a run count once. `repeated` are the runs that are reported already.
        """
        first: dict[str, SeededRun] = {}
        for run in self.runs:
            run_seeds: dict[str, SeedRecord] = {}
            for seed in run.seeds:
                run_seeds.setdefault(_canonical(seed[0]), seed)
            repeats = [key for key in run_seeds if key in first]
            if repeats and run.path not in repeated:
                value, line, *_ = run_seeds[repeats[0]]
                remark = _more_seeds(len(repeats) - 1)
                remark += _PRUNE if self.pruned else "; each run must draw a different seed"
                other_path = first[repeats[0]].path
                yield self._found(
                    SHARED, run, line, None, remark, seed=shortened(repr(value)), other=other_path
                )
            for key in run_seeds:
                first.setdefault(key, run)

    def sources(self, source_files: Callable[[], Iterable[str]] | None) -> Iterator[Finding]:
        """Findings about files in which seeds are logged, each once: runs mostly share the file."""
        logged_in: dict[str, tuple[SeededRun, int]] = {}
        for run in self.runs:
            for _, line, file, _ in run.seeds:
                if isinstance(file, str):
                    logged_in.setdefault(file, (run, line))
        known_names = None
        if logged_in and source_files is not None:
            # Only by name: logs have paths inside a container
            known_names = {_name(path) for path in source_files()}
        for file, (run, line) in logged_in.items():
            if PurePosixPath(_name(file)).suffix not in SOURCE_EXTENSIONS:
                problem = ", which does not have the extension of a source file"
            elif known_names is not None and _name(file) not in known_names:
                problem = "; the submission has no file with that name"
            else:
                continue
            yield self._found(SOURCE, run, line, file=file, problem=problem)

    def counted(self) -> Iterator[Finding]:
        """A finding if the seeds only number the runs, in any order."""
        sets = [{_canonical(seed[0]) for seed in run.seeds} for run in self.runs]
        if len(sets) < _LEAST_COUNTED or any(len(seed_set) != 1 for seed_set in sets):
            return
        seeds = {seed for seed_set in sets for seed in seed_set}
        for first in (0, 1):
            if seeds == {str(first + index) for index in range(len(sets))}:
                run, last = self.runs[0], first + len(sets) - 1
                line = run.seeds[0][1]
                yield self._found(RUN_INDEX, run, line, count=len(sets), first=first, last=last)

    # --- findings ---

    def _found(
        self,
        rule: FixedRule,
        run: SeededRun,
        line: int | None,
        stated_by: StatedBy | None = None,
        remark: str = "",
        **fields: Any,
    ) -> Finding:
        overruled = self.by_policy and stated_by is StatedBy.VERIFIER
        if overruled and "official verifier" not in remark:
            remark += f"; in {self.rules.title} only the official verifier rejects that"
        finding = rule.found(
            self.profile,
            run.path,
            line=line,
            key="seed",
            stated_by=stated_by,
            remark=remark,
            **fields,
        )
        pruned = self.pruned and finding.stated_by is not StatedBy.VERIFIER
        return replace(finding, cites=CITES_PRUNED) if pruned else finding


_PRUNE = "; instances with equal seeds must be pruned"


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _more_seeds(count: int) -> str:
    return f" (and {count} more seeds)" if count else ""


def _canonical(value: Any) -> str:
    """One spelling of equal seeds: an integer and a string of the same integer are equal."""
    # Not int(): it rejects more than 4300 digits, and makes 1.5 and 1.9 equal
    if isinstance(value, str) and (match := re.fullmatch(_WHOLE, value, re.ASCII)):
        digits = match[2].lstrip("0") or "0"
        return f"-{digits}" if match[1] == "-" and digits != "0" else digits
    return repr(value)
