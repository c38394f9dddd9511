"""Checks, scores and packages MLPerf Training and HPC results; emits their logs.

The four parts `compliance`, `rules`, `logging_spec` and `reference_runs` are folders at the top of
the repository, linked here, so that what is installed is one package.
"""

# Not even `__future__` is imported before this: it is a module, and an interrupt may come up in it
import sys

# Asked before all that takes time to import, where an interrupt would be a traceback. A program
# that only imports podium keeps its own handling
if sys.argv[:1] and (
    sys.argv[0].endswith(("/podium", "\\podium"))
    or (sys.argv[0] == "-m" and "podium" in sys.orig_argv)
):

    def _end(kind: type[BaseException] | None) -> None:
        """End an interrupt of the imports below, which bring what handles all later ones."""
        if kind is KeyboardInterrupt:
            import os

            os.write(2, b"podium: interrupted\n")
            os._exit(130)

    def _one_line(kind: type[BaseException], error: BaseException, trace: object) -> None:
        _end(kind)
        sys.__excepthook__(kind, error, trace)  # type: ignore[arg-type]

    def _unraisable(event: "sys.UnraisableHookArgs") -> None:
        # Of what Python does beside an import an interrupt would be printed and forgotten
        _end(event.exc_type)
        sys.__unraisablehook__(event)

    sys.excepthook, sys.unraisablehook = _one_line, _unraisable
    from podium.compliance.interrupts import take_over

    take_over()

from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.logging_spec.emitter import round_guard

if TYPE_CHECKING:
    from typing import Unpack

    from podium import mllog as mllog
    from podium.compliance.errors import ComplianceError as ComplianceError
    from podium.compliance.judging.systems.model import read_system as read_system
    from podium.compliance.tools.checking import check as check
    from podium.compliance.tools.live.guard import Guard
    from podium.compliance.tools.scoring.session import score as score
    from podium.compliance.tools.store import results as results
    from podium.compliance.version import VERSION as __version__  # noqa: N811 - the name that Python expects
    from podium.logging_spec.emitter.emit import Logger as Logger
    from podium.logging_spec.mllog.mllog import MLLogger as MLLogger
    from podium.logging_spec.reader.existing import read_log as read_log
    from podium.rules.catalogue import Rounds

    rounds: "Rounds"

_HOMES = {
    "ComplianceError": "compliance.errors",
    "Logger": "logging_spec.emitter.emit",
    "MLLogger": "logging_spec.mllog.mllog",
    "check": "compliance.tools.checking",
    "read_log": "logging_spec.reader.existing",
    "read_system": "compliance.judging.systems.model",
    "results": "compliance.tools.store",
    "rounds": "rules",
    "score": "compliance.tools.scoring.session",
}
"""The module that has each public name."""

__all__ = [*sorted([*_HOMES, "mllog"]), "__version__"]


def _guard_of_round(
    round: str,  # noqa: A002 - the name that rules go by
    **options: "Unpack[round_guard.RoundOptions]",
) -> "Guard":
    from podium.compliance.tools.live.guard import Guard

    return Guard(round, **options)


# The emitter may not import the rules; this is the one place above both.
round_guard.use(_guard_of_round)


def __getattr__(name: str) -> Any:
    # Imported when asked for: a training program that logs needs neither rules nor reports.
    if name == "__version__":
        return import_module("podium.compliance.version").VERSION
    if name == "mllog":
        return import_module("podium.mllog")
    if name in _HOMES:
        return getattr(import_module(f"podium.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'podium' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
