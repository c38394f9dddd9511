"""The fields of a system description: the meaning of each, and who requires it in which round."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from podium.rules.model.round import Round, version_of

Period = tuple[int, ...]

CITES = "submission rules, <system_desc_id>.json metadata"

TABLE_FROM: Period = (0, 7)
"""The policy of earlier rounds has no table of fields."""


class FieldKind(StrEnum):
    """The type of a field's value."""

    TEXT = "text"
    COUNT = "count"
    STATUS = "status"
    DIVISION = "division"
    SYSTEM_TYPE = "system type"
    ANY = "string, list or object"


class Field(msgspec.Struct, frozen=True):
    """One field.

    `since` is the first period whose policy requires a meaningful response, None if none does;
    `advised` is the period that recommends it earlier. `official`: the official verifier requires
    the key. `crashes`: it crashes if the value is not a string. `least` is the lowest value of a
    count. Fields that most published descriptions omit or leave empty are marked, because
    reviewers accept this: if only the policy requires such a field, its absence is a note.
    """

    name: str
    meaning: str
    since: Period | None = None
    kind: FieldKind = FieldKind.TEXT
    example: str = ""
    official: bool = True
    crashes: bool = False
    least: int = 0
    advised: Period | None = None
    seldom: bool = False

    def required(self, period: Period) -> bool:
        """Whether the policy requires a meaningful response."""
        return self.since is not None and period >= self.since

    def recommended(self, period: Period) -> bool:
        """Whether the policy announces the requirement for a later round."""
        return self.advised is not None and period == self.advised


OLD, V1, V11, V21, V20 = (0, 7), (1, 0), (1, 1), (2, 1), (2, 0)


# The submission rules of 2022-05-24, days after the 2.0 deadline, require these: binding from 2.1
def _late(name: str, meaning: str, example: str = "", *, official: bool = True) -> Field:
    return Field(name, meaning, V21, example=example, official=official, advised=V20, seldom=True)


CORES, VCPUS = "host_processor_core_count", "host_processor_vcpu_count"
EITHER = (CORES, VCPUS)
"""According to the policy, one of the two suffices; from 2.1 on a Preview needs neither."""

_COUNT = FieldKind.COUNT

# `official=False` marks keys that the verifier never requires, although the policy may
_TABLE = (
    Field("submitter", "submitting organization", OLD, example="Example Labs", crashes=True),
    Field("division", "closed or open", OLD, FieldKind.DIVISION, "closed"),
    Field("status", "availability of the system", OLD, FieldKind.STATUS, "Available on-premise"),
    Field(
        "system_type",
        "datacenter or edge",
        V1,
        FieldKind.SYSTEM_TYPE,
        "datacenter",
        official=False,
        seldom=True,
    ),
    Field("system_type_detail", "kind of installation", example="on-premise", official=False),
    Field("system_name", "displayed name of the system", OLD, example="ex_n8", crashes=True),
    Field("number_of_nodes", "nodes in the system", OLD, _COUNT, "8", least=1),
    Field("host_processors_per_node", "processors in a node", OLD, _COUNT, "2", least=1),
    Field("host_processor_model_name", "processor", OLD, example="CPU 9", crashes=True),
    Field(CORES, "cores of one processor", None, _COUNT, "64", crashes=True),
    Field(VCPUS, "virtual processors, if the number of cores is unknown", None, _COUNT, "128"),
    Field("host_processor_frequency", "clock rate of the processor", example="2000MHz"),
    Field("host_processor_caches", "caches of the processor", example="L3: 256 MB"),
    Field("host_processor_interconnect", "link between processors", example="UPI"),
    Field("host_memory_capacity", "memory of a node", OLD, example="384GB"),
    Field("host_storage_type", "kind of storage", OLD, example="SSD"),
    Field("host_storage_capacity", "storage of a node", OLD, example="2TB"),
    _late("host_networking", "network", "Infiniband"),
    _late("host_network_card_count", "network cards of a node", "1 100Gbe", official=False),
    _late("host_networking_topology", "topology of the network", "N/A"),
    _late("host_memory_configuration", "memory modules of a node", "24x 16GB"),
    # May be 0: a system may use only its processors
    Field("accelerators_per_node", "accelerators in a node", OLD, _COUNT, "8", crashes=True),
    Field("accelerator_model_name", "accelerator", OLD, example="ACC-100", crashes=True),
    _late("accelerator_host_interconnect", "link from host to accelerator", "PCIe 5.0 x16"),
    Field("accelerator_frequency", "clock rate of the accelerator", example="1230MHz"),
    # The hyphen is in the submission rules' own table
    Field("accelerator_on-chip_memories", "on-chip memories", example="L1: 32 KB"),
    Field(
        "accelerator_memory_configuration",
        "kind of accelerator memory",
        OLD,
        example="HBM3",
        seldom=True,
    ),
    Field("accelerator_memory_capacity", "memory of one accelerator", OLD, example="80 GB"),
    _late("accelerator_interconnect", "link between accelerators", "18x 25GT/s"),
    Field(
        "accelerator_interconnect_topology",
        "topology of the links between accelerators",
        example="mesh",
    ),
    _late("cooling", "cooling", "Liquid"),
    Field("hw_notes", "notes on the hardware"),
    Field("framework", "framework and its version", OLD, example="PyTorch 2.6", crashes=True),
    # Published descriptions have lists and objects here
    Field("other_software_stack", "other software and versions", OLD, FieldKind.ANY, "CUDA 12.8"),
    Field("operating_system", "operating system and version", OLD, example="Ubuntu 24.04"),
    Field("sw_notes", "notes on the software"),
)

FIELDS: Mapping[str, Field] = {field.name: field for field in _TABLE}

COUNTS = ("number_of_nodes", "host_processors_per_node", "accelerators_per_node")
"""Counts that the result summary multiplies, and without which it cannot be made."""

DIVISIONS = ("closed", "open")

SYSTEM_TYPES = ("datacenter", "edge")


@lru_cache(maxsize=64)
def may_be_empty(period: Period) -> frozenset[str]:
    """Fields whose text may be empty."""
    required = {field.name for field in FIELDS.values() if field.required(period)}
    return frozenset(FIELDS) - (required if period >= TABLE_FROM else set()) - {*COUNTS, "status"}


def period_of(rules: Round) -> Period:
    """The training round whose submission rules apply to a round."""
    return version_of(rules.package.submission_rules or rules.name)


_BETWEEN = re.compile(r"[\W_]+")


# --- availability ---------------------------------------------------------------------------------


class Category(StrEnum):
    """The availability categories, spelled as the official verifier requires from 4.0 on."""

    ON_PREMISE = "Available on-premise"
    CLOUD = "Available cloud"
    PREVIEW = "Preview"
    RDI = "Research, Development, or Internal (RDI)"
    AVAILABLE = "available"
    """Available, without a location: used before 4.0, never canonical."""


CANONICAL = (Category.ON_PREMISE, Category.CLOUD, Category.PREVIEW, Category.RDI)

# Published trees before 4.1 spell them in many ways; later trees have the four canonical spellings
_ALIASES: Mapping[str, Category] = {
    alias: category
    for category, aliases in {
        Category.ON_PREMISE: "onprem onpremise onpremises availableonpremise availableonprem "
        "availableonpremises",
        Category.CLOUD: "cloud availablecloud availableincloud availableinthecloud incloud",
        Category.PREVIEW: "preview",
        Category.RDI: "research rdi development internal researchdevelopmentorinternal "
        "researchdevelopmentinternal researchdevelopmentorinternalrdi",
        Category.AVAILABLE: "available",
    }.items()
    for alias in aliases.split()
}

_POLICY_WORDING = frozenset(
    (
        *("available", "availableonpremise", "availablecloud", "preview"),
        *("rdi", "researchdevelopmentorinternal", "researchdevelopmentorinternalrdi"),
    )
)
"""The names of the categories in the table, the headings and the text of the submission rules."""

LOG_STATUS: Mapping[Category, tuple[str, ...]] = {
    Category.ON_PREMISE: ("onprem",),
    Category.CLOUD: ("cloud",),
    Category.PREVIEW: ("preview",),
    Category.RDI: ("research",),
    Category.AVAILABLE: ("onprem", "cloud"),
}
"""The values of `submission_status` in the logs of a system of each category."""


@lru_cache(maxsize=4096)
def letters(text: str) -> str:
    """A text's letters and digits in lower case, for comparing spellings."""
    return _BETWEEN.sub("", text.casefold())


@lru_cache(maxsize=1024)
def misspelt_fields(names: tuple[str, ...]) -> dict[str, str]:
    """Fields that are not named, each with the unknown name that is most similar.

    It is cached because the descriptions of one submitter mostly name the same fields.
    """
    absent_names = {letters(name): name for name in FIELDS if name not in names}
    matches = {}
    for key in names:
        if key in FIELDS:
            continue
        # Published files have divison, sumitter and system-type: all have a similarity above 0.88
        close = difflib.get_close_matches(letters(key), absent_names, 1, 0.88)
        if close:
            matches[absent_names.pop(close[0])] = key
    return matches


def category_of(status: Any) -> Category | None:
    """The category that a status names in any spelling; None if it names none."""
    return _ALIASES.get(letters(status)) if isinstance(status, str) else None


def in_policy_wording(status: Any) -> bool:
    """Whether a status is a category as the submission rules name it, in any case of letters."""
    return isinstance(status, str) and letters(status) in _POLICY_WORDING


def status_listed(rules: Round) -> bool:
    """Whether the official verifier requires the canonical spellings in this round."""
    # In HPC descriptions it accepts any status
    return rules.usage == "training" and period_of(rules) >= (4, 0)


def status_intended(rules: Round) -> bool:
    """Whether the policy requires them: 4.0 does not, the verifier's condition is mistaken."""
    return rules.usage == "training" and period_of(rules) >= (4, 1)
