"""The values of convergence that are read from a log, and the reported success of a run."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.run import as_number, metadata_of


class Reading(msgspec.Struct):
    """Batch size, convergence and final quality that one of the two profiles reads from a log."""

    batch_size: float | None = None
    benchmark: Any = None
    to_converge: float | None = None
    converged: bool = False
    quality: float | None = None
    problem: str = ""


def says_success(stop: Record) -> bool | None:
    """Whether a run_stop reports success; None if it reports nothing (one submitter of 0.6).

    Since 0.6 the metadata has `status`; in 0.5 the value is `{"success": …}`, in some logs a word.
    """
    status = metadata_of(stop).get("status")
    if status == "success":
        return True
    if status is None and isinstance(stop.value, dict):
        status = stop.value.get("success")
    if isinstance(status, bool) or status is None:
        return status
    # Public logs of 0.5 have true in most files and the string "true" in 40
    return str(status).strip().lower() in {"success", "true"}


def quality_number(value: Any) -> float | None:
    """A quality that is one number, also in the format of 0.5: `{"epoch": …, "value": …}`."""
    if isinstance(value, dict) and "value" in value:
        value = value["value"]
    return as_number(value)
