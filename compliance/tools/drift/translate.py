"""Translate tests of official rule files: simple ones to rows of our tables, others to remarks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from podium.compliance.tools.drift.installed import KeyRule
from podium.logging_spec import keys as k

_BOUNDS: dict[type[ast.cmpop], str] = {
    ast.Eq: "equals",
    ast.Gt: "above",
    ast.GtE: "at_least",
    ast.Lt: "below",
    ast.LtE: "at_most",
}

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.Eq,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
}

_TIMES = {
    "EXACTLY_ONE": "",
    "AT_LEAST_ONE": "times=AT_LEAST_ONCE",
    "OPTIONAL": "times=OPTIONAL",
    "": "times=OPTIONAL",
}


class Drafted(msgspec.Struct, frozen=True):
    """A row as the arguments of `row`, and the tests that remain to be written."""

    words: tuple[str, ...]
    remarks: tuple[str, ...]


def drafted_row(key: str, rule: KeyRule) -> Drafted:
    """The row of our tables for an entry of a rule file, as far as it can be translated."""
    words = [f"k.{constant_of(key)}"]
    remarks: list[str] = []
    for test in rule.each:
        constraints, untranslated = translated(test)
        words += constraints
        remarks += untranslated
    for test in rule.first:
        remarks.append(f"of the first record: {test}")
    times = _times(rule.times)
    words += [times] if times else []
    alternatives: list[str] = []
    for test in rule.some:
        constraints, untranslated = translated(test)
        alternatives += constraints
        remarks += [f"of some record: {part}" for part in untranslated]
    if alternatives:
        words.append(
            f"some=({alternatives[0]},)"
            if len(alternatives) == 1
            else f"some=({', '.join(alternatives)})"
        )
    return Drafted(tuple(words), tuple(remarks))


def constant_of(key: str) -> str:
    """The name of a key in the vocabulary; for an unknown key, the name that it would get."""
    known_key = k.known(key)
    names = (
        name for name, value in vars(k).items() if value is known_key and known_key is not None
    )
    return next(names, re.sub(r"\W", "_", key).upper())


def _times(text: str) -> str:
    if text in _TIMES:
        return _TIMES[text]
    if match := re.fullmatch(r"AT_LEAST\((\d+)\)", text):
        return f"times=at_least_times({match[1]})"
    if match := re.fullmatch(r"AT_LEAST_ONE_OR\((.*)\)", text):
        keys = ", ".join(repr(key.strip()) for key in match[1].split(","))
        return f"times=AT_LEAST_ONCE.otherwise({keys})".replace("'", '"')
    return ""


def translated(test: str) -> tuple[list[str], list[str]]:
    """The constraints of a test, and its parts that cannot be translated."""
    try:
        tree = ast.parse(test, mode="eval").body
    except SyntaxError:
        return [], [test]
    constraints: list[str] = []
    untranslated: list[str] = []
    for part in _parts(tree):
        translation = _constraint(part)
        if translation is None:
            untranslated.append(ast.unparse(part))
        else:
            constraints += translation
    return constraints, untranslated


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """The operands of `and`, or of `&`, which most rule files use."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for value in tree.values:
            yield from _parts(value)
    elif isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitAnd):
        yield from _parts(tree.left)
        yield from _parts(tree.right)
    else:
        yield tree


def _constraint(part: ast.expr) -> list[str] | None:
    """The constraint for a test of the value or of a metadata member; None for other tests."""
    if isinstance(part, ast.Call) and ast.unparse(part) == "is_integer(v['value'])":
        return ["whole()"]
    if not isinstance(part, ast.Compare):
        return None
    constraints: list[str] = []
    # A chain such as 0 <= value <= 1 is one test per operator
    sides = [part.left, *part.comparators]
    for left, sign, right in zip(sides, part.ops, sides[1:], strict=False):
        comparison = _comparison(left, sign, right)
        if comparison is None:
            return None
        constraints.append(comparison)
    return constraints


def _comparison(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> str | None:
    if isinstance(sign, ast.In):
        if ast.unparse(right) == "v['metadata']" and isinstance(left, ast.Constant):
            return f"has({_text(left.value)})"
        options = right.elts if isinstance(right, ast.List | ast.Tuple | ast.Set) else []
        values = [option.value for option in options if isinstance(option, ast.Constant)]
        if _is_value(left) and values and len(values) == len(options):
            return f"one_of({', '.join(map(_text, values))})"
        return None
    if not _is_value(left) and _is_value(right) and type(sign) in _TURNED:
        left, sign, right = right, _TURNED[type(sign)](), left
    if not _is_value(left):
        return None
    try:
        bound = ast.literal_eval(right)
    except ValueError:
        return None
    if isinstance(sign, ast.NotEq) and bound == "":
        return "not_empty()"
    name = _BOUNDS.get(type(sign))
    return None if name is None else f"{name}({_text(bound)})"


def _is_value(side: ast.expr) -> bool:
    return ast.unparse(side) == "v['value']"


def _text(value: object) -> str:
    """A literal in the style of our source."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10_000:
        return f"{value:_}"
    return repr(value)
