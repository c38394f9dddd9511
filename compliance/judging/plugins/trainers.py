"""Trainers of plug-ins: where the package of one lies, so that `podium run` can import it."""

from __future__ import annotations

from podium.compliance.errors import UsageFault
from podium.compliance.judging.plugins.installed import TRAINERS, installed, left_out
from podium.compliance.judging.plugins.taking_part import described


def trainers() -> dict[str, str]:
    """The package of each trainer of a plug-in, by PLUGIN.NAME."""
    return {
        part.name: part.about
        for outcome in described([each for each in installed() if _trains(each.entries)])
        for part in outcome.loaded.trainers
    }


def package_of(name: str) -> str:
    """The package of the trainer PLUGIN.NAME; raises UsageFault where there is none."""
    found = trainers()
    if name not in found:
        there = ", ".join(sorted(found)) or ("they are left out" if left_out() else "none")
        raise UsageFault(f"no plug-in brings the trainer {name}; there are: {there}")
    return found[name]


def _trains(entries: tuple[tuple[str, str], ...]) -> bool:
    return any(group == TRAINERS for group, _ in entries)
