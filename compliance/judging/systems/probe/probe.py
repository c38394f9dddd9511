"""The probe of one node, and the file that transports its results to another machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given
from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.judging.systems.probe.accelerators import probe_accelerators
from podium.compliance.judging.systems.probe.finding import ProbedFields
from podium.compliance.judging.systems.probe.host import (
    probe_disks,
    probe_host,
    probe_network,
    probe_software,
)

SCHEMA: Literal["podium.probe/1"] = "podium.probe/1"

LARGEST_PROBE = 1 << 20

Text = Annotated[str, StringConstraints(max_length=4096)]


class Probe(BaseModel):
    """The probe of one node: values by field of the system description, and notes."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True
    )

    schema_: Literal["podium.probe/1"] = Field(default=SCHEMA, alias="schema")
    host: Text = ""
    fields: dict[str, Text] = {}
    notes: tuple[Text, ...] = ()

    def to_json(self) -> str:
        """The probe as JSON."""
        return self.model_dump_json(indent=2) + "\n"


def probe_node(root: Path = Path("/")) -> Probe:
    """Probe this machine; a part that fails becomes a note, and the other parts continue."""
    result = ProbedFields()
    parts: tuple[Callable[[Path], ProbedFields], ...] = (
        probe_host,
        probe_disks,
        probe_network,
        probe_accelerators,
    )
    for part in parts:
        try:
            result.add(part(root))
        except (OSError, ValueError, KeyError, AttributeError) as error:
            name = part.__name__.removeprefix("probe_")
            result.notes.append(f"probing {name} failed: {type(error).__name__}")
    # Two parts fill this field, and `add` keeps only the later value
    driver_stack = result.fields.get("other_software_stack", "")
    result.add(probe_software(os.environ))
    stack = (driver_stack, result.fields["other_software_stack"])
    result.set("other_software_stack", ", ".join(filter(None, stack)))
    return Probe(host=platform.node(), fields=result.fields, notes=tuple(result.notes))


def read_probe(path: Path) -> Probe:
    """The probe in a file; raises UsageFault if the file is not a probe."""
    try:
        probe = Probe.model_validate_json(read_given(path, LARGEST_PROBE))
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise UsageFault(f"{path} is not a podium probe: {field}: {first['msg'].lower()}") from None
    if unknown_fields := [name for name in probe.fields if name not in FIELDS]:
        raise UsageFault(f"{path} is not a podium probe: unknown field {unknown_fields[0]}")
    return probe
