"""Formulas over logged values in rule tables: computed for a run and printed for a reader."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import msgspec

from podium.logging_spec.keys import Key
from podium.rules.run import NotLogged, Run


def show(value: Any) -> str:
    """A value as a finding shows it: short, on one line; whole floats as integers."""
    return _shown(value, number_shown)


def show_logged(value: Any) -> str:
    """A logged value as a finding shows it: like `show`, but 7.0 and 7 differ."""
    return _shown(value, _logged_number)


def _logged_number(value: float) -> str:
    # The reader keeps times as floats: times in milliseconds look the same as integers
    return number_shown(value) if abs(value) >= 1e9 else repr(value)


def number_shown(value: float) -> str:
    """A computed or measured float, shown as an integer if it is whole."""
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _shown(value: Any, number: Callable[[float], str]) -> str:
    if isinstance(value, str):
        text = value if len(value) <= 60 else value[:57] + "..."
        return f'"{text}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        ellipsis = "" if len(value) <= 8 else ", …"
        text = f"[{', '.join(_shown(item, number) for item in value[:8])}{ellipsis}]"
    elif isinstance(value, dict):
        items = list(value.items())[:6]
        text = "{" + ", ".join(f"{name}: {_shown(item, number)}" for name, item in items) + "}"
    else:
        text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


class Formula(msgspec.Struct, frozen=True):
    """Arithmetic over logged values that can be evaluated and printed."""

    text: str
    compute: Callable[[Run], float]
    needs: tuple[str, ...] = ()

    def __add__(self, other: Formula | float) -> Formula:
        return _combine(self, other, "+", lambda a, b: a + b)

    def __sub__(self, other: Formula | float) -> Formula:
        return _combine(self, other, "-", lambda a, b: a - b)

    def __rsub__(self, other: float) -> Formula:
        return _combine(other, self, "-", lambda a, b: a - b)

    def __mul__(self, other: Formula | float) -> Formula:
        return _combine(self, other, "*", lambda a, b: a * b)

    def __rmul__(self, other: float) -> Formula:
        return _combine(other, self, "*", lambda a, b: a * b)

    def __truediv__(self, other: Formula | float) -> Formula:
        return _combine(self, other, "/", lambda a, b: a / b)

    def __rtruediv__(self, other: float) -> Formula:
        return _combine(other, self, "/", lambda a, b: a / b)

    def __radd__(self, other: float) -> Formula:
        return _combine(other, self, "+", lambda a, b: a + b)

    def __eq__(self, other: object) -> bool:
        # Functions cannot be compared; the text states what they compute
        return isinstance(other, Formula) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _combine(
    left: Formula | float, right: Formula | float, sign: str, apply: Callable[[Any, Any], Any]
) -> Formula:
    a, b = _formula(left), _formula(right)

    def bracket(formula: Formula) -> str:
        loose = sign in "*/" and any(f" {symbol} " in formula.text for symbol in "+-")
        tight = sign in "/-" and formula is b and any(f" {m} " in formula.text for m in "+-*/")
        plain = formula.text.endswith(")") and formula.text.count("(") == 1 and "(" in formula.text
        return f"({formula.text})" if (loose or tight) and not plain else formula.text

    return Formula(
        f"{bracket(a)} {sign} {bracket(b)}",
        lambda run: apply(a.compute(run), b.compute(run)),
        tuple(dict.fromkeys((*a.needs, *b.needs))),
    )


def _formula(operand: Formula | float) -> Formula:
    return operand if isinstance(operand, Formula) else constant(operand)


def constant(value: float) -> Formula:
    """A number as a formula."""
    return Formula(number_text(value), lambda _: value)


def number_text(value: float) -> str:
    """A constant as tables print it, with grouped digits: 1_200_000, 8e-05."""
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:_}"
    return repr(value)


def logged(key: Key) -> Formula:
    """The value that the run logs for `key`."""
    return Formula(key.name, lambda run: run.logged(key.name), (key.name,))


def _applied(name: str, function: Callable[[Any], Any], inner: Formula) -> Formula:
    return Formula(f"{name}({inner.text})", lambda run: function(inner.compute(run)), inner.needs)


def ceil(inner: Formula) -> Formula:
    """Rounded up to a whole number."""
    return _applied("ceil", math.ceil, inner)


def floor(inner: Formula) -> Formula:
    """Rounded down to a whole number."""
    return _applied("floor", math.floor, inner)


def sqrt(inner: Formula) -> Formula:
    """Square root."""
    return _applied("sqrt", math.sqrt, inner)


Bound = float | int | str | bool | None | Formula


def bound_text(bound: Bound) -> str:
    """A bound as tables print it."""
    if isinstance(bound, Formula):
        return bound.text
    if isinstance(bound, str | bool) or bound is None:
        return show(bound)
    return number_text(bound)


def _computed(number: Any, run: Run) -> str:
    """A computed number: all digits if floats are compared exactly, else twelve."""
    if not isinstance(number, float) or not math.isfinite(number):
        return show(number)
    return number_shown(number if run.exact else float(f"{number:.12g}"))


def worked_out(bound: Bound, run: Run | None) -> str:
    """A bound as findings print it: with the value of its formula for this run."""
    if not isinstance(bound, Formula):
        return bound_text(bound)
    if run is None:
        return bound.text
    try:
        return f"{bound.text} (= {_computed(bound.compute(run), run)})"
    except NotLogged as missing:
        suffix = " before this record" if run.ordered else ""
        return f"{bound.text} ({missing.key} is not logged{suffix})"
    # Logged values may have any type, and the finding must be printed anyway
    except Exception:
        return f"{bound.text} (which cannot be computed from the logged values)"


def as_of(key: Key, inner: Formula) -> Formula:
    """The last value that a formula had when `key` was logged before this record.

    The official verifier computes such values when it reads `key` and keeps them. A record for
    which the computation fails leaves the earlier value in place.
    """

    def compute(run: Run) -> float:
        position = run.position
        indices = run.where.get(key.name, [])
        try:
            for index in reversed([i for i in indices if i < position]):
                run.position = index + 1
                with contextlib.suppress(Exception):
                    return inner.compute(run)
            # The policy does not require an order of lines
            if indices and not run.ordered:
                return inner.compute(run)
        finally:
            run.position = position
        raise NotLogged(key.name)

    return Formula(inner.text, compute, tuple(dict.fromkeys((*inner.needs, key.name))))
