"""Lines of the rounds before 0.7: parsers of their payloads, and the inverse for 0.5 and 0.6.

Every parser is total: text it cannot make sense of gives None, none makes it raise.
"""

from __future__ import annotations

import calendar
import json
import math
import re
import time
from dataclasses import dataclass
from typing import Final

LONGEST_LENIENT: Final = 1 << 16
"""Values longer than this many characters are read as JSON or not at all."""

V05_TOKEN: Final = ":::MLPv0.5.0"
V06_TOKEN: Final = ":::MLL"
ALIBABA_TOKEN: Final = "MLPerf: "


@dataclass(frozen=True, slots=True)
class Payload:
    """What one line says after its token.

    `strict` is true only where a reader made for the layout takes the line too: in 0.6 the
    official one, in 0.5 one that follows the documented grammar.
    """

    key: str
    seconds: float
    value: object
    metadata: dict[str, object]
    benchmark: str | None
    strict: bool


_SECONDS = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_V05 = re.compile(
    rf"(\s*)([\w.-]+)\s+{_SECONDS}\s+\(([^()]*|.*?):([0-9]{{1,9}})\)\s+(\w+)\s*(?::(.*))?", re.DOTALL
)
_V06_STRICT = re.compile(rf"{_SECONDS} ([A-Za-z0-9_]+) ?:\s+(.+)", re.DOTALL)
_V06 = re.compile(rf"\s*{_SECONDS}\s+([\w.-]+)\s*:\s*(.+)", re.DOTALL)
_ALIBABA = re.compile(
    r"(\w+) \[([0-9]{2}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})\], *(\w+)\s*(?::(.*)|,.*)?",
    re.DOTALL,
)


def seconds_to_ms(seconds: float) -> float:
    """Milliseconds of a time in seconds, as 0.5, 0.6 and the `time_s` field of some 0.7 logs hold it."""
    return seconds * 1000


def parse_v05(text: str) -> Payload | None:
    """Read what follows `:::MLPv0.5.0 `: benchmark, seconds, call site, key and perhaps a value.

    A value that is neither JSON nor a Python literal stays text, as does a deferred one
    (`DEFERRED: <id>`), which a later line of the same id replaces.
    """
