"""Bounds of a round that its checks read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podium.rules.model.schedule import Schedule


class Limits(msgspec.Struct, frozen=True):
    """Bounds of a round that checks read; in minutes unless the name states another unit.

    Sources: training rules, Run Results and its appendices per round; HPC rules.
    """

    init_closed: float | None = 30
    init_open: float | None = 240
    epochs_from: int = 1
    seeds_logged: bool = False
    staging_timed: bool | None = None
    evaluates: Mapping[str, Schedule] = msgspec.field(default_factory=dict)

    def offline(self, benchmark: str) -> bool:
        """Whether checkpoints of a benchmark may be evaluated after the run, off the clock."""
        schedule = self.evaluates.get(benchmark)
        return schedule is not None and schedule.offline
