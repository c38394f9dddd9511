"""The values of a system description: counts, placeholders, and the parsed description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from podium.compliance.judging.systems.fields import (
    CANONICAL,
    DIVISIONS,
    FIELDS,
    SYSTEM_TYPES,
    Category,
    FieldKind,
    category_of,
    letters,
)

IDENTITY = ("submitter", "system_name", "framework", "operating_system")
"""Fields for which `N/A` is not a valid answer."""

# --- counts ---------------------------------------------------------------------------------------

# ASCII digits only: \d and int() would accept the digits of every script
_COUNT = re.compile(r"(\d{1,9})(?:\.0+)?", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:[,_ ]\d{3})+", re.ASCII)

MOST = 999_999_999


class Count(msgspec.Struct, frozen=True):
    """A count as read: `value` is None if it is not a count, `odd` names an unusual spelling."""

    value: int | None
    odd: str = ""


def read_count(value: Any) -> Count:
    """The whole number that a value represents: 8 and "8" are plain, 8.0 and " 8 " are odd."""
    # bool is an int in Python: true would count as one node
    if isinstance(value, bool) or value is None:
        return Count(None)
    if isinstance(value, int):
        return Count(value) if value <= MOST else Count(None)
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) <= MOST
        return Count(int(value), "written as a fraction") if is_whole else Count(None)
    if not isinstance(value, str):
        return Count(None)
    text = value.strip()
    match = _COUNT.fullmatch(text)
    if match is not None and match[1] != text:
        return Count(int(match[1]), "written as a fraction")
    if match is not None:
        return Count(int(text), "with spaces around it" if text != value else "")
    if _GROUPED.fullmatch(text):
        return Count(int(re.sub(r"\D", "", text)), "with its digits in groups")
    return Count(None)


def int_reads(value: Any) -> bool:
    """Whether int(), with which the official result summary reads a count, can read it."""
    try:
        int(value)
    except (TypeError, ValueError):
        return False
    return True


# --- placeholders ---------------------------------------------------------------------------------

_PLACEHOLDERS = {
    "tb": r"tb[acd]|tbd\b[^\w].*",
    "to": r"to ?do|todo\b[^\w].*"
    r"|to be (?:determined|announced|defined|decided|confirmed|filled|added)\b.*",
    "fi": r"fix ?me|fixme\b[^\w].*|fill[ _-]?(?:me|in|this|out)?\b.*",
    "xx": r"xx+|xxx\b[^\w].*",
    "?": r"\?+",
    "ch": r"change[ _-]?me\b.*",
    "your": r"your[ _-].*",
    "my": r"my[ _-](?:system|name|org|organization|submitter|cluster|company)\b.*",
    "insert": r"insert[ _-].*",
    "enter": r"enter[ _-].*",
    "<": r"<[^<>]*>",
    "[": r"\[[^\[\]]*\]",
    "{": r"\{\w{3,}\}",
    "#": r"#\w+#",
    # What a vendor of mainboards left in the firmware
    "default": r"default string",
    "system": r"system (?:product name|manufacturer|serial number|version)",
    "$": r"\$\w+",
    "%": r"%%?\w+%%?",
    # MLPerf's own programs log and write these if a variable is not set
    "unknown": r"unknown[_-]\w+",
    "lorem": r"lorem ipsum.*",
}
"""Placeholders by their first letters. A pattern is compiled when a text begins with them."""

_UNEXPANDED = re.compile(r"\$\{[^{}]*\}|\$\(\w[^()]*\)|\{\{.*?\}\}|(?<!\w)@\w+@")
"""A variable that a template did not expand, anywhere in a text."""

_UNDERSCORED = re.compile(r"__\w+__")

_UNFILLED = re.compile(
    r"not[ _-](?:available|provided|specified|known|found|detected|set)|unavailable|undefined"
    r"|unspecified",
    re.IGNORECASE,
)
"""Texts that generators of descriptions write if they find nothing."""

NAMES = (*IDENTITY, "framework_name", "host_processor_model_name", "accelerator_model_name")
"""Fields for names: a bare number is the index of a device, or a mistake."""

_ENDS, _NAMED_SO = "placeholder", r"(?:.*[_ ])?placeholder"

_NOTHING = frozenset({"na", "none", "null", "nil", "unknown", "notavailable"})


def is_placeholder(key: str, value: Any) -> bool:
    """Whether a value is a placeholder: TBD, TODO, xxx, or the name of the key itself."""
    return isinstance(value, str) and _keeps_place(key, value)


@lru_cache(maxsize=4096)
def _keeps_place(key: str, value: str) -> bool:
    text = value.strip().strip(".:;!*-_ ")
    lowered = text.lower()
    patterns = [pattern for begin, pattern in _PLACEHOLDERS.items() if lowered.startswith(begin)]
    patterns += [_NAMED_SO] if lowered.endswith(_ENDS) else []
    if any(re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL) for pattern in patterns):
        return True
    if _UNEXPANDED.search(text) or _UNDERSCORED.fullmatch(value.strip()):
        return True
    text_letters = letters(text)
    # Templates repeat a field's name or its end as the value; a single word may be a real value
    return "_" in text and bool(text_letters) and letters(key).endswith(text_letters)


def is_unfilled(value: Any) -> bool:
    """Whether a text means that a value was not found, such as "Not available"."""
    return isinstance(value, str) and _UNFILLED.fullmatch(value.strip(" .")) is not None


def is_bare_number(key: str, value: Any) -> bool:
    """Whether a field for a name has only a number or a device's index, such as "0" or cuda:0."""
    if key not in NAMES or not isinstance(value, str):
        return False
    return bool(_INDEX.fullmatch(value)) or not any(char.isalpha() for char in value)


_INDEX = re.compile(r"\s*(?:(?:cuda|gpu|hip|xpu|npu|tpu|device)[\s:_#-]*\d+|gpu)\s*", re.IGNORECASE)


def says_nothing(value: Any) -> bool:
    """Whether a text means that a value is missing, such as N/A."""
    return isinstance(value, str) and letters(value) in _NOTHING


# People write a single dash for a missing value
_SAYS = re.compile(r"[^\s-]")


def is_empty(value: Any) -> bool:
    """Whether a field is present without a value."""
    if isinstance(value, str):
        return _SAYS.search(value) is None
    return value is None or value == [] or value == {}


# --- any value -----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def is_good(name: str, text: str) -> bool:
    """Whether a field's text is valid in every round, as nearly all are."""
    field = FIELDS[name]
    if is_empty(text) or is_placeholder(name, text) or is_unfilled(text):
        return False
    if is_bare_number(name, text):
        return False
    if field.kind is FieldKind.COUNT:
        count = read_count(text)
        return count.value is not None and count.value >= field.least and not count.odd
    if field.kind is FieldKind.STATUS:
        # Other spellings are valid in some rounds only, and need the round's own rules
        return text in CANONICAL
    if field.kind is FieldKind.DIVISION:
        return text in DIVISIONS
    if field.kind is FieldKind.SYSTEM_TYPE:
        return text in SYSTEM_TYPES
    return not (name in IDENTITY and says_nothing(text))


def short(value: Any) -> Any:
    """A value, shortened for a message."""
    if value is None or (isinstance(value, str) and len(value) <= 80):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def kind_of(value: Any) -> str:
    """The JSON type of a value that is not the expected string."""
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "an object", list: "a list", type(None): "null", str: "a string"}
    return names.get(type(value), f"the number {value}")


# --- the description ------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else ""


Division = Literal["closed", "open"]


def read_division(value: Any) -> Division | None:
    """`closed` or `open` in any case of letters; None for any other value."""
    text = value.strip().casefold() if isinstance(value, str) else ""
    return _DIVISIONS.get(text)


_DIVISIONS: Mapping[str, Division] = {"closed": "closed", "open": "open"}

_Number = Annotated[int | None, msgspec.Meta(ge=0)]


class SystemDescription(msgspec.Struct, frozen=True):
    """One system, with its counts as numbers however they were written; None if unreadable.

    `given` has the fields as written, unknown names included.
    """

    submitter: str = ""
    division: Division | None = None
    status: str = ""
    system_type: str = ""
    system_name: str = ""
    number_of_nodes: _Number = None
    host_processors_per_node: _Number = None
    host_processor_model_name: str = ""
    host_processor_core_count: _Number = None
    host_processor_vcpu_count: _Number = None
    accelerators_per_node: _Number = None
    accelerator_model_name: str = ""
    framework: str = ""
    operating_system: str = ""
    given: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def processors(self) -> int | None:
        """Host processors of the whole system."""
        return self._in_all_nodes(self.host_processors_per_node)

    @property
    def accelerators(self) -> int | None:
        """Accelerators of the whole system."""
        return self._in_all_nodes(self.accelerators_per_node)

    @property
    def category(self) -> Category | None:
        """The availability category that `status` names in any spelling."""
        return category_of(self.status)

    def _in_all_nodes(self, number: int | None) -> int | None:
        nodes = self.number_of_nodes
        return None if nodes is None or number is None else nodes * number


_COUNTS = (
    *("number_of_nodes", "host_processors_per_node", "host_processor_core_count"),
    *("host_processor_vcpu_count", "accelerators_per_node"),
)
_TEXTS = (
    *("submitter", "status", "system_type", "system_name", "host_processor_model_name"),
    *("accelerator_model_name", "framework", "operating_system"),
)


def describe(fields: Mapping[str, Any]) -> SystemDescription:
    """The description with these fields; never raises."""
    values: dict[str, Any] = {name: _text(fields.get(name)) for name in _TEXTS}
    counts = {name: read_count(fields.get(name)).value for name in _COUNTS}
    values |= {name: count for name, count in counts.items() if count is None or count >= 0}
    division = read_division(fields.get("division"))
    return SystemDescription(**values, division=division, given=dict(fields))
