"""The tool: reads logs and trees, judges them, reports, packages."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes time to load, which delays the handling of interrupts
    from typing import Any

    from podium.compliance.judging.systems.model import read_system as read_system
    from podium.compliance.tools.checking import check as check
    from podium.compliance.tools.scoring.session import score as score

__all__ = ["check", "read_system", "score"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `import podium.compliance.cli.entry` stays quick.
    if name == "check":
        from podium.compliance.tools.checking import check

        return check
    if name == "read_system":
        from podium.compliance.judging.systems.model import read_system

        return read_system
    if name == "score":
        from podium.compliance.tools.scoring.session import score

        return score
    raise AttributeError(name)
