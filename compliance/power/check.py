"""Power logs of one result: their files, their readings, and the energy of each run.

The official package checker looks at the names of the files only, the official summary at what
they hold; the policy's rules are about both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from podium.compliance.power.file_names import (
    NAME,
    join_limited,
    official_faults,
    official_reading,
    policy_faults,
)
from podium.compliance.power.meter import (
    Fault,
    NoSummary,
    node_as_summed,
    read_meter,
    switch_as_summed,
    timing_faults,
    total,
)
from podium.logging_spec.reader.log import Log
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import rounds_of
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.round import Round

CITES = "power measurement rules"


class PoweredRun(msgspec.Struct, frozen=True):
    """One run of the result: its log's name without `.txt`, and its timed part."""

    stem: str
    run_start_ms: float | None
    run_stop_ms: float | None


class PowerVerdict(msgspec.Struct):
    """What is known of one result's power logs.

    `energies` gives joules by run, None where they cannot be told. The official package checker
    counts the runs `blamed` among those that fail, of which it lets one (four of unet3d's) pass;
    where it `crashed` it gives no verdict.
    """

    findings: list[Finding] = msgspec.field(default_factory=list)
    energies: dict[str, float | None] = msgspec.field(default_factory=dict)
    blamed: frozenset[str] = frozenset()
    crashed: bool = False


def check_power(
    folder: Path,
    runs: Sequence[PoweredRun],
    nodes: int | None,
    rules: Round,
    profile: Profile,
    display_path: Callable[[Path], str],
) -> PowerVerdict:
    """Judge the `power` folder of one result's folder; where there is none, nothing is wrong.

    `nodes` is the system's number_of_nodes where known; `shown` gives a path as reports show it.
    """
    power = folder / "power"
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
        # The official checker takes logs in the order of their names.
        self.runs = sorted(runs, key=lambda run: f"{run.stem}.txt")
        self.by_policy = profile is Profile.POLICY
        self.root = Path(os.path.realpath(power.parent))
        self.findings: list[Finding] = []

    def verdict(self) -> PowerVerdict:
        listed = {run.stem: self._names(self.power / run.stem) for run in self.runs}
        official = official_reading(listed)
        for stem, names in listed.items():
            if names == [] and not (self.power / stem).is_dir():
                official.crash = f"{stem} is no folder"
        if official.crash:
            said = f"the official verifier ends without a verdict on this folder: {official.crash}"
            crash = Fault("power.verifier-crash", None, None, said, None, StatedBy.VERIFIER)
            self._tell(self.power, crash)
        faults = official_faults(official)
        if self.by_policy:
            faults = policy_faults(listed, self.nodes, official)
        for stem, fault in faults:
            self._tell(self.power / stem, fault)
        if self.by_policy:
            self._surplus(set(listed))
            self._too_early()
        energies = {run.stem: self._energy(run, listed[run.stem] or []) for run in self.runs}
        return PowerVerdict(self.findings, energies, official.blamed, bool(official.crash))

    # --- files ---

    def _names(self, folder: Path) -> list[str] | None:
        """The names in a folder, in order: None where it is not there, none where it is a file."""
        if not self._within(folder) or not folder.exists():
            return None
        try:
            return sorted(os.listdir(folder))
        except OSError:
            return []

    def _within(self, path: Path) -> bool:
        """Whether a path leads to no other place than the result's folder."""
        links = path.is_symlink() or self.power.is_symlink()
        return not links or Path(os.path.realpath(path)).is_relative_to(self.root)

    def _surplus(self, runs: set[str]) -> None:
        surplus = [name for name in self._names(self.power) or [] if name not in runs]
        if surplus:
            said = f"{join_limited(surplus)}: not the name of a run of this result"
            self._tell(self.power, Fault("power.surplus", None, None, said))

    def _too_early(self) -> None:
        if not self.rules.package.power:
            later = rounds_of(self.rules.usage).items()
            first = next(name for name, rules in later if rules.package.power)
            said = f"{self.rules.title} has no rules on power; those of {first} are applied"
            self._tell(self.power, Fault("power.too-early", None, None, said))

    # --- energy ---

    def _energy(self, run: PoweredRun, names: list[str]) -> float | None:
        if self.by_policy:
            return self._by_policy(run, [name for name in names if NAME.fullmatch(name)])
        names = [n for n in names if n.startswith(("node_", "sw_")) and n.endswith(".txt")]
        if run.run_start_ms is None or run.run_stop_ms is None:
            return None
        return self._as_summed(run.stem, names, run.run_stop_ms - run.run_start_ms)

    def _by_policy(self, run: PoweredRun, names: list[str]) -> float | None:
        start, stop = run.run_start_ms, run.run_stop_ms
        parts: list[float | None] = []
        faults: list[tuple[Path, Fault]] = []
        for path, log in self._logs(run.stem, names):
            if log is None:
                said = "a link out of the result's folder is not followed"
                faults.append((path, Fault("power.unreadable", None, None, said)))
                parts.append(None)
                continue
            meter = read_meter(log, switch=path.name.startswith("sw"))
            faults += [(path, fault) for fault in meter.faults]
            faults += [(path, fault) for fault in timing_faults(meter, start, stop)]
            if start is not None and stop is not None and start < stop:
                parts.append(meter.joules(start, stop))
        self._tell_once(faults)
        return total(parts) if any(name.startswith("node") for name in names) else None

    def _as_summed(self, stem: str, names: list[str], duration: float) -> float | None:
        parts = []
        for path, log in self._logs(stem, names):
            try:
                if log is None:
                    raise NoSummary("a link out of the result's folder is not followed")
                summed = node_as_summed if path.name.startswith("node") else switch_as_summed
                parts.append(summed(log, duration))
            except NoSummary as error:
                said = f"the official summary ends in a traceback here: {error}"
                self._tell(path, Fault("power.no-summary", error.line, None, said))
                return None
        return total(parts) if any(name.startswith("node") for name in names) else None

    def _logs(self, stem: str, names: list[str]) -> Iterator[tuple[Path, Log | None]]:
        for name in names:
            path = self.power / stem / name
            yield path, read_log(path) if self._within(path) else None

    # --- findings ---

    def _tell_once(self, faults: list[tuple[Path, Fault]]) -> None:
        """Tell of each rule the first fault of a run, and how many more there are."""
        by_rule: dict[str, list[tuple[Path, Fault]]] = {}
        for path, fault in faults:
            by_rule.setdefault(fault.rule, []).append((path, fault))
        for same in by_rule.values():
            path, fault = same[0]
            if len(same) > 1:
                files = len({other for other, _ in same})
                where = "this file" if files == 1 else f"{files} files of this run"
                more = f" (and {len(same) - 1} more such in {where})"
                fault = fault._replace(message=fault.message + more)
            self._tell(path, fault)

    def _tell(self, path: Path, fault: Fault) -> None:
        stated_by = fault.stated_by
        severity = Severity.ERROR
        if stated_by is StatedBy.POLICY or (stated_by is StatedBy.VERIFIER and self.by_policy):
            severity = Severity.NOTE if fault.rule in _NOTES else Severity.WARNING
        if fault.rule == "power.no-summary":
            stated_by = StatedBy.VERIFIER
        expected, hint = REMEDIATION[fault.rule]
        self.findings.append(
            Finding(
                fault.rule,
                severity,
                self.display_path(path),
                fault.line,
                fault.key,
                fault.message,
                expected,
                fault.actual,
                hint,
                CITES,
                stated_by,
            )
        )


_NOTES = frozenset({"power.unordered", "power.too-early"})

_PER_RUN = ("power/<run>/node_<i>.txt", "give each run's folder one file per node, from node_0.txt")
_MARKS = "log one start before the first reading and one stop after the last"

REMEDIATION = {
    "power.verifier-crash": _PER_RUN,
    "power.no-run-folder": ("power/<run> for every run", "add the power logs of this run"),
    "power.numbering": ("numbers from 0 without gaps", "rename the files"),
    "power.file-count": ("as many files in every run", "add the missing files"),
    "power.node-count": ("one file for each node", "measure every node of the system"),
    "power.verifier-names": _PER_RUN,
    "power.stray-file": ("node_<i>.txt, sw_<i>.txt", "move other files out of the folder"),
    "power.surplus": ("folders named as the runs", "rename or remove them"),
    "power.too-early": ("no power folder", "remove it, or check that --round names its round"),
    "power.unreadable": ("log lines in the format of :::MLLOG", "write the log again"),
    "power.no-readings": ("one reading per second", "log power_reading in watts"),
    "power.bad-reading": ("a number of watts", "log watts as a JSON number"),
    "power.efficiency": ("a share: above 0, at most 1", "log the power supply's efficiency"),
    "power.measurement-type": ("AC or DC", "log metadata.measurement_type with conversion_eff"),
    "power.markers": ("one start, one stop", _MARKS),
    "power.unordered": ("readings in order of time", "write each reading when it is taken"),
    "power.clock": ("readings of this run", "set the meter's clock, or add the right log"),
    "power.coverage": ("from run_start to run_stop", "start metering before the run"),
    "power.cadence": ("one reading per second", "read the meter every second"),
    "power.too-few-readings": ("60 readings", "lengthen the training loop, or read more often"),
    "power.no-summary": ("a log that can be summed", _MARKS),
}
"""By rule: what is expected, and how to mend what was found."""
