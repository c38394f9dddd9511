"""The rules of every MLPerf Training and HPC round: pure data and functions, no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.rules.catalogue import Rounds

    rounds: Rounds


def __getattr__(name: str) -> Any:
    # Building every round takes a few milliseconds, which `podium --help` does not need.
    if name == "rounds":
        from podium.rules.catalogue import Rounds

        return Rounds()
    raise AttributeError(name)
