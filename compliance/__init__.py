"""podium's tool: reads logs and trees, judges them, reports, packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compliance.scoring import score as score
    from compliance.session import check as check

__all__ = ["check", "score"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `import compliance.cli` stays quick.
    if name == "check":
        from compliance.session import check

        return check
    if name == "score":
        from compliance.scoring import score

        return score
    raise AttributeError(name)
