"""Power logs of one result: their files, their readings, and the energy of each run.

The official package checker checks only the names of the files, and the official summary only
their content. The policy has rules on both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.power.file_names import (
    NAME,
    SHOWN,
    official_findings,
    official_reading,
    policy_findings,
)
from podium.compliance.judging.power.meter import (
    Meter,
    amount_findings,
    read_meter,
    timing_findings,
    total,
)
from podium.compliance.judging.power.power_rules import (
    NO_SUMMARY,
    SURPLUS,
    TOO_EARLY,
    UNREADABLE,
    VERIFIER_CRASH,
)
from podium.compliance.judging.power.summed import NoSummary, node_as_summed, switch_as_summed
from podium.compliance.text.words import join_limited
from podium.logging_spec.reader.log import Log
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import rounds_of
from podium.rules.finding import Finding, Profile
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round
from podium.rules.quirks import QUIRKS

_LINK_OUT = "symbolic link points outside the result's folder; not followed"


class PoweredRun(msgspec.Struct, frozen=True):
    """One run of the result: its log's name without `.txt`, and its timed part."""

    stem: str
    run_start_ms: float | None
    run_stop_ms: float | None


class Metered(msgspec.Struct, frozen=True):
    """A run in one meter's log: the file, the line of the first reading, times and joules."""

    run: str
    path: str
    switch: bool
    line: int
    readings: int
    first_ms: float | None
    last_ms: float | None
    joules: float | None


class PowerVerdict(msgspec.Struct):
    """The verdict on one result's power logs.

    `energies` are the joules by run, None if they are not known. The official package checker
    counts the runs in `blamed` as failed, and allows one failed run (four for unet3d). If it
    `crashed`, it gives no verdict. `metered` exists only in the policy profile.
    """

    findings: list[Finding] = msgspec.field(default_factory=list)
    energies: dict[str, float | None] = msgspec.field(default_factory=dict)
    blamed: frozenset[str] = frozenset()
    crashed: bool = False
    metered: tuple[Metered, ...] = ()


def check_power(
    folder: Path,
    runs: Sequence[PoweredRun],
    nodes: int | None,
    rules: Round,
    profile: Profile,
    display_path: Callable[[Path], str],
) -> PowerVerdict:
    """Check the `power` folder in one result's folder; without it, nothing is reported.

    `nodes` is the system's number_of_nodes, if known. `display_path` returns a path as reports show
    it.
    """
    power = folder / "power"
    # lexists: a broken link named power is an error, not an absent folder
    if not runs or not os.path.lexists(power):
        return PowerVerdict()
    return _Judgement(power, runs, nodes, rules, profile, display_path).verdict()


class _Judgement:
    def __init__(
        self,
        power: Path,
        runs: Sequence[PoweredRun],
        nodes: int | None,
        rules: Round,
        profile: Profile,
        display_path: Callable[[Path], str],
    ) -> None:
        self.power, self.nodes, self.rules, self.display_path = power, nodes, rules, display_path
        # The official checker reads logs in the order of their names.
        self.runs = sorted(runs, key=lambda run: f"{run.stem}.txt")
        self.profile = profile
        self.quirks = QUIRKS[profile]
        # Resolved, because the result's folder itself may be reached through a link
        self.root = Path(os.path.realpath(power.parent))
        self.findings: list[Finding] = []
        self.metered: list[Metered] = []

    def verdict(self) -> PowerVerdict:
        listing = {run.stem: self._names(self.power / run.stem) for run in self.runs}
        official = official_reading(listing)
        for stem, names in listing.items():
            # The verifier lists anything with a run's name, and crashes on a file
            if names == [] and not (self.power / stem).is_dir():
                official.crash = f"{stem} is not a folder"
        if official.crash:
            self._add(VERIFIER_CRASH, self.power, problem=official.crash)
        display = self._shown
        if self.quirks.ignores_policy:
            self.findings += official_findings(official, display)
        else:
            self.findings += policy_findings(listing, self.nodes, official, display)
            self._surplus(set(listing))
            self._too_early()
        energies = {run.stem: self._energy(run, listing[run.stem] or []) for run in self.runs}
        crashed, metered = bool(official.crash), tuple(self.metered)
        return PowerVerdict(self.findings, energies, official.blamed, crashed, metered)

    # --- files ---

    def _names(self, folder: Path) -> list[str] | None:
        """The names in a folder, in order; None if it does not exist, empty if it is a file."""
        if not self._within(folder) or not folder.exists():
            return None
        try:
            return sorted(os.listdir(folder))
        except OSError:
            return []

    def _within(self, path: Path) -> bool:
        """Whether a path, with its links resolved, is inside the result's folder."""
        links = path.is_symlink() or self.power.is_symlink()
        return not links or Path(os.path.realpath(path)).is_relative_to(self.root)

    def _surplus(self, runs: set[str]) -> None:
        surplus = [name for name in self._names(self.power) or [] if name not in runs]
        if surplus:
            self._add(SURPLUS, self.power, names=join_limited(surplus, SHOWN))

    def _too_early(self) -> None:
        if not self.rules.package.power:
            rounds = rounds_of(self.rules.usage).items()
            first = next(name for name, rules in rounds if rules.package.power)
            self._add(TOO_EARLY, self.power, title=self.rules.title, first=first)

    # --- energy ---

    def _energy(self, run: PoweredRun, names: list[str]) -> float | None:
        if not self.quirks.sums_power_files:
            return self._by_policy(run, [name for name in names if NAME.fullmatch(name)])
        # The official summary reads any node_*.txt and sw_*.txt, numbered or not
        names = [n for n in names if n.startswith(("node_", "sw_")) and n.endswith(".txt")]
        if run.run_start_ms is None or run.run_stop_ms is None:
            return None
        return self._as_summed(run.stem, names, run.run_stop_ms - run.run_start_ms)

    def _by_policy(self, run: PoweredRun, names: list[str]) -> float | None:
        start, stop = run.run_start_ms, run.run_stop_ms
        parts: list[float | None] = []
        findings: list[Finding] = []
        for path, log in self._logs(run.stem, names):
            display_path = self.display_path(path)
            if log is None:
                findings.append(UNREADABLE.found(self.profile, display_path, problem=_LINK_OUT))
                parts.append(None)
                continue
            meter = read_meter(log, display_path, switch=path.name.startswith("sw"))
            findings += meter.findings
            findings += timing_findings(meter, start, stop)
            joules = None
            if start is not None and stop is not None and start < stop:
                joules = meter.joules(start, stop)
                findings += amount_findings(meter, joules, stop - start)
                parts.append(joules)
            self.metered.append(_metered(run, display_path, meter, joules))
        self.findings += _first_of_each_rule(findings)
        return total(parts) if any(name.startswith("node") for name in names) else None

    def _as_summed(self, stem: str, names: list[str], duration: float) -> float | None:
        parts = []
        for path, log in self._logs(stem, names):
            try:
                if log is None:
                    raise NoSummary(_LINK_OUT)
                summed = node_as_summed if path.name.startswith("node") else switch_as_summed
                parts.append(summed(log, duration))
            except NoSummary as error:
                self._add(NO_SUMMARY, path, line=error.line, problem=str(error))
                return None
        return total(parts) if any(name.startswith("node") for name in names) else None

    def _logs(self, stem: str, names: list[str]) -> Iterator[tuple[Path, Log | None]]:
        for name in names:
            path = self.power / stem / name
            yield path, read_log(path) if self._within(path) else None

    def _shown(self, run: str) -> str:
        return self.display_path(self.power / run)

    def _add(self, rule: FixedRule, path: Path, **fields: Any) -> None:
        self.findings.append(rule.found(self.profile, self.display_path(path), **fields))


def _metered(run: PoweredRun, path: str, meter: Meter, joules: float | None) -> Metered:
    readings = meter.ordered
    return Metered(
        run.stem,
        path,
        meter.switch,
        meter.line(readings[0].position) if readings else 1,
        len(readings),
        readings[0].time if readings else None,
        readings[-1].time if readings else None,
        joules,
    )


def _first_of_each_rule(findings: list[Finding]) -> Iterator[Finding]:
    """The first finding of each rule for a run, with the number of further findings."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.id, []).append(finding)
    for group in by_rule.values():
        finding = group[0]
        if len(group) > 1:
            files = len({member.path for member in group})
            location = "this file" if files == 1 else f"{files} files of this run"
            suffix = f" (and {len(group) - 1} more in {location})"
            finding = replace(finding, message=finding.message + suffix)
        yield finding
