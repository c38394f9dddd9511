"""Formulas over logged values in rule tables: computed for a run and printed for a reader."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable
from functools import partial
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


def _arithmetic(
    sign: str, apply: Callable[[Any, Any], Any], *, swapped: bool = False
) -> Callable[[Formula, Formula | float], Formula]:
    """The method of an operator; `swapped`: the other operand is on the left."""

    def method(formula: Formula, other: Formula | float) -> Formula:
        a, b = formula, other if isinstance(other, Formula) else constant(other)
        return _combine(b, a, sign, apply) if swapped else _combine(a, b, sign, apply)

    return method


class Formula(msgspec.Struct, frozen=True):
    """Arithmetic over logged values that can be evaluated and printed."""

    text: str
    compute: Callable[[Run], float]
    needs: tuple[str, ...] = ()

    __add__ = _arithmetic("+", operator.add)
    __sub__ = _arithmetic("-", operator.sub)
    __mul__ = _arithmetic("*", operator.mul)
    __truediv__ = _arithmetic("/", operator.truediv)
    __radd__ = _arithmetic("+", operator.add, swapped=True)
    __rsub__ = _arithmetic("-", operator.sub, swapped=True)
    __rmul__ = _arithmetic("*", operator.mul, swapped=True)
    __rtruediv__ = _arithmetic("/", operator.truediv, swapped=True)

    def __eq__(self, other: object) -> bool:
        # Functions cannot be compared; the text states what they compute
        return isinstance(other, Formula) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _combine(a: Formula, b: Formula, sign: str, apply: Callable[[Any, Any], Any]) -> Formula:
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


def _applied(function: Callable[[Any], Any], inner: Formula) -> Formula:
    text = f"{function.__name__}({inner.text})"
    return Formula(text, lambda run: function(inner.compute(run)), inner.needs)


ceil, floor, sqrt = (partial(_applied, function) for function in (math.ceil, math.floor, math.sqrt))
"""A formula rounded up or down to a whole number, and its square root."""

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
