"""The guard of a round: the emitter gets it here, and the podium package registers it.

The log format must not import the rules, so a higher layer sets the function that makes guards.
`podium/__init__.py` sets it, whichever part of podium is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Unpack

    from podium.logging_spec.reader.record import Record

    Guard = Callable[[Record], Iterable[object]]
    """Checks a record when it is emitted; returns the findings."""


class RoundOptions(TypedDict, total=False):
    """Facts other than the round that decide which rules apply; a log may state them later."""

    division: str | None
    benchmark: str | None
    usage: str


class MakeGuard(Protocol):
    """Makes the guard of a round; ImportError if the rules are not installed."""

    def __call__(
        self,
        round: str,  # noqa: A002 - the name that rules go by
        **options: Unpack[RoundOptions],
    ) -> Guard: ...


_make: MakeGuard | None = None


def use(make: MakeGuard | None) -> None:
    """Set the function that makes the guards of rounds; None: no guards."""
    global _make
    _make = make


def guard_of(
    round: str,  # noqa: A002 - the name that rules go by
    **options: Unpack[RoundOptions],
) -> Guard:
    """The guard of a round; ImportError with advice if podium's rules are missing."""
    missing = f"a logger for round {round} needs podium's rules"
    if _make is None:
        raise ImportError(f"{missing}: install podium, or pass a guard")
    try:
        return _make(round, **options)
    except ImportError as error:
        raise ImportError(f"{missing}: {error}") from error
