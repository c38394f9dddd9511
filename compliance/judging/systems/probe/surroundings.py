"""The environment variables in which submitters keep what their descriptions say."""

from __future__ import annotations

from collections.abc import Mapping

from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.judging.systems.probe.finding import ProbedFields
from podium.compliance.judging.systems.values import is_placeholder

_OTHERS = {
    "submitter": ("MLPERF_SUBMISSION_ORG",),
    "system_name": ("MLPERF_SUBMISSION_PLATFORM",),
    "number_of_nodes": ("MLPERF_NUM_NODES", "DGXNNODES", "SLURM_JOB_NUM_NODES"),
    "operating_system": ("MLPERF_HOST_OS",),
}
"""Names beside `MLPERF_` and the field's own in capitals; the first that says something counts."""


def variables_of(field: str) -> tuple[str, ...]:
    """The variables that may hold a field, in order."""
    own = f"MLPERF_{field.upper().replace('-', '_')}"
    return (own, *_OTHERS.get(field, ()))


def read_surroundings(variables: Mapping[str, str]) -> tuple[ProbedFields, dict[str, str]]:
    """Values by field, and the variable that each came from; placeholders count as nothing."""
    found, sources = ProbedFields(), {}
    for field in FIELDS:
        for name in variables_of(field):
            value = variables.get(name, "").strip()
            if not value:
                continue
            if is_placeholder(field, value):
                found.notes.append(f"{name} still holds a placeholder")
                continue
            found.set(field, value)
            sources[field] = f"${name}"
            break
    return found, sources
