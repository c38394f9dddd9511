"""A system description for Python callers: a validated model of its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.systems.reader import read_description
from podium.compliance.judging.systems.values import SystemDescription, describe
from podium.compliance.reporting.models import Model, model_of

if TYPE_CHECKING:

    class System(SystemDescription, Model, frozen=True):  # type: ignore[metaclass]
        """A description; type checkers see the struct's fields and a model's methods."""

else:
    System = model_of(SystemDescription, module=__name__, name="System")


def read_system(path: Path | str) -> System:
    """The description in a file. `compliance.check` says whether it follows the rules.

    Raises NothingToJudge if the file cannot be read or is not one JSON object.
    """
    document = read_description(Path(path))
    # A description with NaN or a duplicate field is readable, also for the official verifier
    if not (document.is_object and document.sound):
        faults = "; ".join(fault.message for fault in document.faults)
        raise NothingToJudge(f"{path} is not a system description: {faults}")
    return System.model_validate(describe(document.fields))
