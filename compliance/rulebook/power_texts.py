"""What people are told about the rules of power logs."""

from __future__ import annotations

from collections.abc import Mapping

from podium.compliance.power.check import REMEDIATION
from podium.compliance.rulebook.package_texts import FixedText
from podium.rules.finding import Severity, StatedBy

_OFFICIAL = {
    "power.no-run-folder": (
        "every run of a result with power logs has a folder of them",
        "the energy of a result is the mean over the very runs that its time is the mean of",
    ),
    "power.numbering": (
        "the files of a run are numbered from 0 without gaps",
        "a gap is a node or a switch that nobody measured",
    ),
    "power.file-count": (
        "every run of a result has as many power logs",
        "energies of different numbers of nodes cannot be averaged",
    ),
}
_VERIFIER = {
    "power.verifier-crash": (
        "the official verifier can read the names in the power folder",
        "it ends in a traceback on names it does not expect, and gives no verdict",
    ),
    "power.verifier-names": (
        "no other file's name begins as those of power logs do",
        "the official verifier counts every such name as a log, plots among them",
    ),
    "power.no-summary": (
        "the official summary can work out an energy",
        "it divides by the time between the marks, and ends where there is none",
    ),
}
_POLICY = {
    "power.node-count": (
        "there is a log for each node of the system",
        "power counts for the whole system, not for the nodes that were convenient",
    ),
    "power.stray-file": (
        "the power folder holds power logs only",
        "programs that count files take others for measurements",
    ),
    "power.surplus": (
        "each folder of power logs belongs to a run",
        "logs of a run that is not submitted prove nothing",
    ),
    "power.unreadable": (
        "every line of a power log can be read",
        "energy that cannot be read is energy left out",
    ),
    "power.no-readings": (
        "a power log holds readings",
        "a file without readings measures nothing",
    ),
    "power.bad-reading": (
        "each reading is a number of watts",
        "a sum over what is no number is none",
    ),
    "power.efficiency": (
        "the efficiency of a power supply is above 0 and at most 1",
        "a supply gives out no more than it takes in",
    ),
    "power.measurement-type": (
        "it is told whether power was measured before or behind the supply",
        "the efficiency counts only where it was measured before",
    ),
    "power.markers": (
        "one mark begins the measurement and one ends it",
        "without marks nobody can tell what the readings cover",
    ),
    "power.clock": (
        "readings come from the time of the run",
        "a meter's clock that is off leaves the timed part unmeasured",
    ),
    "power.coverage": (
        "readings cover all of the timed part",
        "the policy counts the energy from run_start to run_stop",
    ),
    "power.cadence": (
        "power is read at least once a second",
        "peaks between rarer readings go unseen",
    ),
    "power.too-few-readings": (
        "a run has at least 60 readings",
        "a mean over few readings says little",
    ),
}
_NOTES = {
    "power.too-early": (
        "power logs belong to rounds that measure power",
        "before training 3.1 and HPC 3.0 nobody looks at them",
    ),
    "power.unordered": (
        "readings stand in order of time",
        "sums are taken over neighbours in time, so readings are sorted first",
    ),
}


def _texts(
    rules: Mapping[str, tuple[str, str]],
    stated_by: StatedBy,
    severity: Severity,
) -> dict[str, FixedText]:
    return {
        rule: FixedText(
            says, why, hint=REMEDIATION[rule][1], severity=severity, stated_by=stated_by
        )
        for rule, (says, why) in rules.items()
    }


POWER_TEXTS: Mapping[str, FixedText] = {
    **_texts(_OFFICIAL, StatedBy.BOTH, Severity.ERROR),
    **_texts(_VERIFIER, StatedBy.VERIFIER, Severity.WARNING),
    **_texts(_POLICY, StatedBy.POLICY, Severity.WARNING),
    **_texts(_NOTES, StatedBy.POLICY, Severity.NOTE),
}
"""By rule: what it says and why."""
