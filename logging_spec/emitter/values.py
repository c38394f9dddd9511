"""Values as JSON text in the style of log lines: ASCII, a blank after each comma and colon."""

from __future__ import annotations

import enum
import json
import json.encoder
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from podium.logging_spec.keys import Key, ValueType

quote: Callable[[str], str] = json.encoder.encode_basestring_ascii
"""A string as a JSON string."""


class UnloggableValueError(ValueError):
    """A value that cannot be logged, or not under this key."""


def encoder(default: Callable[[Any], Any], *, nonfinite: bool) -> Callable[[object], str]:
    """A function that returns JSON text; with `nonfinite`, NaN and Infinity become bare words.

    A JSONEncoder creates its C encoder for every text; this function keeps it. Values that it
    refuses go to a new JSONEncoder, whose errors are more precise (for example a circular
    reference).
    """
    thorough = json.JSONEncoder(default=default, allow_nan=nonfinite).encode
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return thorough
    try:
        fast = make(None, default, quote, None, ": ", ", ", False, False, nonfinite)
    except TypeError:  # an interpreter whose C encoder has other parameters
        return thorough

    def encode(value: object) -> str:
        try:
            return "".join(fast(value, 0))
        except Exception:
            return thorough(value)

    return encode


def plain(value: Any) -> Any:
    """The JSON value of a tensor, array, NumPy scalar, enum member or path.

    Frameworks are recognized by their methods, so none is imported.
    """
    to_list = getattr(value, "tolist", None)
    if callable(to_list):
        return to_list()
    as_array = getattr(value, "numpy", None)
    if callable(as_array):
        return as_array().tolist()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_PLAIN: Final = (str, int, float, list, tuple, dict, type(None))

_EXACT: Final[Mapping[ValueType, frozenset[type]]] = {
    "int": frozenset({int}),
    "float": frozenset({float, int}),
    "bool": frozenset({bool}),
    "str": frozenset({str}),
    "list": frozenset({list, tuple}),
    "object": frozenset({dict}),
    "none": frozenset({type(None)}),
    "any": frozenset(),
}

_WANTED: Final[Mapping[ValueType, str]] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a string",
    "list": "a list",
    "object": "an object",
    "none": "null",
    "any": "any value",
}


def exact_types(key: Key | None) -> frozenset[type]:
    """Types of values that fit `key` without further tests."""
    return _EXACT[key.type] if key is not None else frozenset()


def fitted(key: Key | None, value: Any) -> Any:
    """`value` as a plain value that is valid for `key`, or UnloggableValueError."""
    if not isinstance(value, _PLAIN):
        try:
            value = plain(value)
        except Exception as error:  # the conversion of a framework may fail in any way
            raise UnloggableValueError(f"value is {_printable(value)}; {error}") from error
    if key is None or key.type == "any" or _fits(key.type, value):
        return value
    unit = f" of {key.unit}" if key.unit else ""
    raise UnloggableValueError(f"value is {_printable(value)}; must be {_WANTED[key.type]}{unit}")


def _fits(value_type: ValueType, value: Any) -> bool:
    # Whole floats are valid: published logs have them (9600.0) and rules compare by value
    if value_type == "int":
        # A NaN gets a separate, clearer message later.
        is_whole = isinstance(value, float) and (value.is_integer() or not math.isfinite(value))
        return is_whole or (isinstance(value, int) and not isinstance(value, bool))
    if value_type == "float":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, tuple(_EXACT[value_type]))


def _printable(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = "an object without a repr"
    return f"{text:.80} ({type(value).__name__})"


def members(config: object) -> Iterator[tuple[str, Any]]:
    """Names and values of a mapping, a dataclass or a pydantic model."""
    if isinstance(config, Mapping):
        yield from config.items()
        return
    import dataclasses

    if dataclasses.is_dataclass(config):
        names = [field.name for field in dataclasses.fields(config)]
    elif isinstance(getattr(type(config), "model_fields", None), Mapping):
        names = list(type(config).model_fields)  # type: ignore[attr-defined]
    else:
        type_name = type(config).__name__
        raise TypeError(f"a {type_name} is not a mapping, dataclass or pydantic model")
    for name in names:
        yield name, getattr(config, name)
