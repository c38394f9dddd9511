"""A system description as Python callers get it: a validated model of what its file says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from podium.compliance.errors import NothingToJudge
from podium.compliance.systems.document import read_description
from podium.compliance.systems.values import describe

Count = Field(default=None, ge=0)


class System(BaseModel):
    """One system, its counts as numbers however they were written; None where there is none.

    `given` holds the fields as written; names that are no fields are in it, too.
    """

    model_config = ConfigDict(frozen=True, from_attributes=True)

    submitter: str = ""
    division: Literal["closed", "open"] | None = None
    status: str = ""
    system_type: str = ""
    system_name: str = ""
    number_of_nodes: int | None = Count
    host_processors_per_node: int | None = Count
    host_processor_model_name: str = ""
    host_processor_core_count: int | None = Count
    host_processor_vcpu_count: int | None = Count
    accelerators_per_node: int | None = Count
    accelerator_model_name: str = ""
    framework: str = ""
    operating_system: str = ""
    given: Mapping[str, Any] = {}
    nodes: int | None = Field(default=None, description="nodes of the whole system")
    processors: int | None = Field(default=None, description="host processors of all nodes")
    accelerators: int | None = Field(default=None, description="accelerators of all nodes")
    category: str | None = Field(
        default=None, description="the availability category that `status` means"
    )


def read_system(path: Path | str) -> System:
    """The description in a file; whether it is right is for `compliance.check` to say.

    Raises NothingToJudge where the file cannot be read or is not one JSON object.
    """
    document = read_description(Path(path))
    if not (document.is_object and document.sound):
        faults = "; ".join(fault.message for fault in document.faults)
        raise NothingToJudge(f"{path} holds no system description: {faults}")
    return System.model_validate(describe(document.fields))
