"""What a reading of a log yields about convergence, and how a run says that it succeeded."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.run import as_number, metadata_of


class Reading(msgspec.Struct):
    """Batch size, convergence and final quality as one of the two texts reads them off a log."""

    batch_size: float | None = None
    benchmark: Any = None
    to_converge: float | None = None
    converged: bool = False
    quality: float | None = None
    problem: str = ""


def says_success(stop: Record) -> bool | None:
    """Whether a run_stop reports success; None where it reports nothing (one submitter of 0.6).

    Since 0.6 the metadata has `status`; in 0.5 the value was `{"success": …}`, in some logs a word.
    """
    status = metadata_of(stop).get("status")
    if status == "success":
        return True
    if status is None and isinstance(stop.value, dict):
        status = stop.value.get("success")
    if isinstance(status, bool) or status is None:
        return status
    # Public logs of 0.5 say true in most files and the string "true" in 40
    return str(status).strip().lower() in {"success", "true"}


def quality_number(value: Any) -> float | None:
    """A quality value that is one number, also in the form of 0.5: `{"epoch": …, "value": …}`."""
    if isinstance(value, dict) and "value" in value:
        value = value["value"]
    return as_number(value)
