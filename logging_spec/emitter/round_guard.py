"""The guard of a round: the emitter asks for it here, and podium's rules are put here from above.

The log format knows no rules and must not import any, so that the maker of guards is set from
above. `podium/__init__.py` sets it, whichever part of podium is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Unpack

    from podium.logging_spec.reader.record import Record

    Guard = Callable[[Record], Iterable[object]]
    """Judges a record when it is emitted; what it returns are its findings."""


class RoundOptions(TypedDict, total=False):
    """What, beside the round, decides which rules apply; a log may say all of it later."""

    division: str | None
    benchmark: str | None
    usage: str


class MakeGuard(Protocol):
    """Makes the guard of a round; ImportError where the rules are not installed."""

    def __call__(
        self,
        round: str,  # noqa: A002 - the name that rules go by
        **options: Unpack[RoundOptions],
    ) -> Guard: ...


_make: MakeGuard | None = None


def use(make: MakeGuard | None) -> None:
    """Have the guards of rounds made so from now on; None: not at all."""
    global _make
    _make = make


def guard_of(
    round: str,  # noqa: A002 - the name that rules go by
    **options: Unpack[RoundOptions],
) -> Guard:
    """The guard of a round; ImportError with what to do where podium's rules are missing."""
    missing = f"a logger for round {round} needs podium's rules"
    if _make is None:
        raise ImportError(f"{missing}: install podium, or give a guard of your own")
    try:
        return _make(round, **options)
    except ImportError as error:
        raise ImportError(f"{missing}: {error}") from error
