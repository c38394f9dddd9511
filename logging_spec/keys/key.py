"""A key of a log: its name, the type of its value, and its meaning."""

from __future__ import annotations

from typing import Literal, NamedTuple

ValueType = Literal["int", "float", "bool", "str", "list", "object", "none", "any"]
"""Type of a value: `int` is a whole number in any notation, `float` any number, `any` varies."""

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
"""Purpose of a key; a `point` or `statistic` may differ between the runs of a result."""


class Key(NamedTuple):
    """One log key: its name, the type of its value, and its meaning.

    `since` and `until` are the first and last round whose rules or constants name it; `until` is
    None if the newest training round has it. `formerly` has other names, from policy texts and
    older logs.
    """

    name: str
    type: ValueType
    meaning: str
    role: Role
    unit: str | None = None
    # Rounds from 0.6 on share this vocabulary; 0.5 has a separate one (legacy.py)
    since: str = "0.6"
    until: str | None = None
    formerly: tuple[str, ...] = ()
