"""A key of a log: its name, the type of its value, and what it means."""

from __future__ import annotations

from typing import Literal, NamedTuple

ValueType = Literal["int", "float", "bool", "str", "list", "object", "none", "any"]
"""Type of a value: `int` is a whole number however written, `float` any number, `any` varies."""

Role = Literal[
    "submission",
    "interval_start",
    "interval_end",
    "point",
    "hyperparameter",
    "disclosure",
    "power",
    "statistic",
]
"""What a key is for; a `point` or `statistic` may differ between the runs of one result."""


class Key(NamedTuple):
    """One log key: its name, the type of its value, and what it means.

    `since` and `until` are the first and last round whose rules or constants name it; `until` is
    None while the newest training round knows it. `formerly` holds other names, of policy texts
    and of older logs.
    """

    name: str
    type: ValueType
    meaning: str
    role: Role
    unit: str | None = None
    # Rounds from 0.6 on share this vocabulary; 0.5 has one of its own (legacy.py)
    since: str = "0.6"
    until: str | None = None
    formerly: tuple[str, ...] = ()
