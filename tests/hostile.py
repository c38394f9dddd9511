"""Hostile inputs from a grammar: logs and side files whose values go to, and beyond, the limits.

A value of the grammar is text, not an object: what it spells need not be possible in Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from podium.logging_spec.limits import DEEPEST, MOST_DIGITS, MOST_PARTS

DEPTHS = (1, 9, DEEPEST - 4, DEEPEST - 1, DEEPEST, DEEPEST + 1, 400, 900, 970, 1100, 5_000)
LENGTHS = (1, 20, 309, MOST_DIGITS, MOST_DIGITS + 1, 5_000, 20_000)
NAMES = (
    *("seed", "global_batch_size", "submission_benchmark", "submission_division", "eval_accuracy"),
    *("opt_base_learning_rate", "block_start", "run_start", "run_stop", "train_samples", "status"),
    *("max_steps", "x", "", "__proto__", "a.b", "*", "\\ud800", "www.evil.example", "\\u202e"),
)
TOML_FIELDS = (
    *("submitter", "round", "usage", "division", "into", "systems", "results", "code", "merge"),
    *("documents", "waivers", "waiver", "seed", "global_batch_size", "x"),
)
ODD = (
    *("null", "true", "NaN", "-Infinity", "1e999", "-0", "-0.0", "1e-400", ".5", "+7", "0x1"),
    *('""', '"\\u0000"', '"\\ud800"', '"\u202e"', '"<script>"', '"@team #1"', "{}", "[]", "[{}]"),
    *("2026-01-01", "00:61", '"""', "'''", "#", "\\", "\x00", "{", "]", ",", "(1,)", "75.98%"),
)


class Grammar:
    """Makes one hostile text after the other, the same ones for a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def value(self, sign: str = ":") -> str:
        """A value of JSON, or of TOML where `sign` is `=`; not always a valid one."""
        rng = self.rng
        kind = rng.randrange(7)
        if kind == 0:
            return self.nested(rng.choice(DEPTHS), sign)
        if kind == 1:
            return rng.choice(("", "-", "0.", "1e", "+")) + "9" * rng.choice(LENGTHS)
        if kind == 2:
            return '"' + rng.choice(("a", "[", "\\\\", '\\"', "é", "9")) * rng.choice(LENGTHS) + '"'
        if kind == 3:
            return f"[{', '.join(rng.choice(ODD) for _ in range(rng.randrange(4)))}]"
        if kind == 4:
            return f"{{{self.member(sign)}, {self.member(sign)}}}"
        return rng.choice(ODD)

    def nested(self, depth: int, sign: str = ":") -> str:
        """A value within so many brackets, some of which may be left open."""
        rng, name = self.rng, '{"a"' + sign
        pairs = rng.choice(
            ((("[", "]"),), ((name, "}"),), (("[", "]"), (name, "}")), (("[1, ", ', "]"]'),))
        )
        used = [pairs[level % len(pairs)] for level in range(depth)]
        inner = rng.choice(("", "1", "9" * rng.choice(LENGTHS), '"eval_accuracy"', '"\\""'))
        if used and used[-1][0] != "[":
            inner = inner or "0"
        close = "".join(end for _, end in reversed(used))
        if not rng.randrange(4):
            close = close[: rng.randrange(len(close) + 1)]
        return "".join(begin for begin, _ in used) + inner + close

    def member(self, sign: str = ":") -> str:
        """A name with a value."""
        return f'"{self.rng.choice(NAMES)}"{sign} {self.value(sign)}'

    # --- logs ---

    def line(self) -> str:
        """One line of a log, of any generation."""
        rng = self.rng
        key, time = rng.choice(NAMES), rng.choice(("1735689600000", "0", self.value()))
        record = (
            f'{{"namespace": "", "time_ms": {time}, "event_type": "POINT_IN_TIME", "key": "{key}", '
            f'"value": {self.value()}, "metadata": {self.value()}}}'
        )
        return rng.choice(
            (
                f":::MLLOG {record}",
                f":::MLLOG {record} :::MLLOG {record}",
                f":::MLLOG {self.value()}",
                f':::MLL 1735689600.5 {key}: {{"value": {self.value()}, "metadata": {{}}}}',
                f":::MLL 1735689600.5 {key}: {self.value()}",
                f":::MLPv0.5.0 resnet 1735689600.5 (a.py:3) {key}: {self.value()}",
                f"MLPerf: resnet [06/13/19 00:55:21], {key}: {self.value()}",
                self.value(),
            )
        )

    def lines(self) -> bytes:
        """A few such lines."""
        few = [self.line() for _ in range(self.rng.randrange(1, 6))]
        return _bytes("\n".join([*few, ""]))

    # --- side files ---

    def json(self) -> bytes:
        """A JSON file."""
        members = ", ".join(self.member() for _ in range(self.rng.randrange(4)))
        return _bytes(self.rng.choice((f"{{{members}}}", f"{{{members}", self.value())))

    def toml(self) -> bytes:
        """A TOML file."""
        rng = self.rng
        parts: list[Callable[[], str]] = [
            lambda: f"{rng.choice(TOML_FIELDS)} = {self.value('=')}",
            lambda: f"[{self.dotted()}]\nx = {self.value('=')}",
            lambda: f"[[{rng.choice(TOML_FIELDS)}]]\nrule = {self.value('=')}",
            lambda: f"{self.dotted()} = {self.value('=')}",
            lambda: f"# {self.value('=')}",
        ]
        return _bytes("\n".join(rng.choice(parts)() for _ in range(rng.randrange(1, 5))) + "\n")

    def dotted(self) -> str:
        """A key of many parts."""
        rng = self.rng
        count = rng.choice((1, 3, MOST_PARTS, MOST_PARTS + 1, DEEPEST, 900, 20_000))
        return rng.choice((".", " . ", '."b".')).join(rng.choice("ab_-") for _ in range(count))

    def yaml(self) -> bytes:
        """A file in the small part of YAML that is read."""
        rng = self.rng
        deep = range(rng.choice(DEPTHS[:-1]))
        nest = "\n".join(f"{' ' * level}a:" for level in deep)
        return _bytes(rng.choice((f"seed: {self.value()}\n", f"{nest} 1\n", f"a: {self.value()}")))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
