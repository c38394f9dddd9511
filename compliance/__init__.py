"""podium's tool: reads logs and trees, judges them, reports, packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compliance.scoring import score as score
    from compliance.session import check as check
    from compliance.system_model import read_system as read_system

__all__ = ["check", "read_system", "score"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `import compliance.cli` stays quick.
    if name == "check":
        from compliance.session import check

        return check
    if name == "read_system":
        from compliance.system_model import read_system

        return read_system
    if name == "score":
        from compliance.scoring import score

        return score
    raise AttributeError(name)
