"""Values of system descriptions that no official program looks at: one value for each rule."""

from __future__ import annotations

from podium.compliance.judging.systems.fields import CITES
from podium.rules.fixed.edits import SYSTEM, set_to
from podium.rules.fixed.fixed_rule import FixedRule, note, policy

COUNTED_NONE = policy(
    "system.accelerators-not-counted",
    says="a system that has an accelerator has at least one in a node",
    why="results are compared by the number of accelerators, which would be none",
    message="`accelerators_per_node` is 0, and `accelerator_model_name` is {name!r}",
    help="count the accelerators of a node, or write N/A for the model",
    cites=CITES,
    expected="at least 1",
    actual="given",
    bad=(set_to(SYSTEM, "accelerators_per_node", "0"),),
)

BAD_CAPACITY = policy(
    "system.bad-capacity",
    says="a capacity is a number with its unit",
    why="readers compare systems by it: 256 may be of any unit, and a word of any size",
    message="`{field}` is {value!r}: must have a number and a unit",
    help="write it as in {example!r}",
    cites=CITES,
    expected="a number and a unit",
    actual="given",
    bad=(set_to(SYSTEM, "host_memory_capacity", "lots"),),
)

UNUSUAL_DETAIL = note(
    "system.unusual-detail",
    says="system_type_detail tells what kind of installation it is",
    why="the policy names cloud, on-premise and edge-server as examples",
    message="`system_type_detail` is {value!r}, which names no kind of installation",
    help="write the kind of installation, such as on-premise or cloud, or N/A",
    cites=CITES,
    actual="given",
    bad=(set_to(SYSTEM, "system_type_detail", "banana"),),
)

PRIVATE_SOFTWARE = policy(
    "system.private-software",
    says="a system that is Available uses only software that is available",
    why="private source, redacted source and private binaries are for Preview and RDI systems",
    message="`{field}` tells of software that is not available ({word!r}), and the system is "
    "Available",
    help="name the public release, commit or tag, or submit the system as Preview or RDI",
    cites="submission rules, Source code requirements for replication",
    actual="given",
    bad=(set_to(SYSTEM, "framework", "PyTorch 2.9 (private build)"),),
)

PREVIEW_DUE = note(
    "system.preview-due",
    says="a Preview system is submitted as Available in time",
    why="a Preview that is not followed up is withdrawn from the published results",
    message="`status` is Preview: the system must be submitted and published as Available at the "
    "next submission date, or at the first after {days} days if that is later",
    help="plan to submit the smallest and the largest scale again, at most 2 % slower",
    cites="submission rules, Preview Systems",
    actual="given",
    bad=(set_to(SYSTEM, "status", "Preview"),),
)

RULES: tuple[FixedRule, ...] = (
    COUNTED_NONE,
    BAD_CAPACITY,
    UNUSUAL_DETAIL,
    PRIVATE_SOFTWARE,
    PREVIEW_DUE,
)
