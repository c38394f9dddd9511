"""Hostile inputs from a grammar: files with values, names and sizes at and beyond the limits.

A value of the grammar is text, not an object: it need not be a possible value in Python.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
from collections.abc import Callable

import zstandard

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
FILE_NAMES = (
    *("result_0.txt", "result_00.txt", "result_-1.txt", "RESULT_0.TXT", "a" * 255, "é", "e\u0301"),
    *("a\nb", "\x1b[2J", "\u202etxt", "-rf", "$(id)", "<b>", "a|b", " ", "CON", "x.json", "@me"),
)
PATHS = (
    *(
        "../out",
        "/etc/out",
        "a/../../out",
        "./a",
        "a//b",
        "",
        ".",
        "a/",
        "\\\\a\\b",
        "C:\\a",
        "\udcff",
    ),
    *("a/" * 200 + "a", "a" * 300, "Acme/results", "Acme/a\nb", "acme/A", "Acme/a", "\x00"),
)
COMPRESSIONS: tuple[Callable[[bytes], bytes], ...] = (
    *(bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.compress),
)
MEMBERS = (
    *(tarfile.REGTYPE, tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE),
    *(tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.CONTTYPE, b"S", b"\xff"),
)


class Grammar:
    """Generates hostile texts; the same seed gives the same texts."""

    def __init__(self, seed: int | str) -> None:
        self.rng = random.Random(seed)

    def value(self, sign: str = ":") -> str:
        """A value of JSON, or of TOML if `sign` is `=`; not always a valid value."""
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
        """A value inside nested brackets, some of which may stay open."""
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
        """A line of a log, of any generation."""
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
        """A few lines of a log."""
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
        """A key of several parts."""
        rng = self.rng
        count = rng.choice((1, 3, MOST_PARTS, MOST_PARTS + 1, DEEPEST, 900, 20_000))
        return rng.choice((".", " . ", '."b".')).join(rng.choice("ab_-") for _ in range(count))

    def yaml(self) -> bytes:
        """A file in the subset of YAML that podium reads."""
        rng = self.rng
        deep = range(rng.choice(DEPTHS[:-1]))
        nest = "\n".join(f"{' ' * level}a:" for level in deep)
        return _bytes(rng.choice((f"seed: {self.value()}\n", f"{nest} 1\n", f"a: {self.value()}")))

    def broken(self, text: str, sign: str = ":") -> bytes:
        """A good file with some values replaced; values follow `sign`."""
        rng = self.rng
        lines = text.split("\n")
        places = [number for number, line in enumerate(lines) if sign in line] or [0]
        for place in rng.sample(places, min(len(places), rng.choice((1, 1, 1, 2, 5)))):
            name, _, value = lines[place].partition(sign)
            end = "," if value.rstrip().endswith(",") else ""
            lines[place] = f"{name}{sign} {self.value(sign)}{end}"
        return _bytes("\n".join(lines))

    # --- files and archives ---

    def name(self) -> str:
        """A file name that a file system may contain."""
        return self.rng.choice(FILE_NAMES)

    def damaged(self, data: bytes) -> bytes:
        """Bytes with parts changed, cut off or repeated, or without a change."""
        rng, made = self.rng, bytearray(data)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 8)) if made else 0):
            at, edit = rng.randrange(len(made)), rng.randrange(4)
            if edit == 0:
                made[at] = rng.randrange(256)
            elif edit == 1:
                made[at : at + 8] = rng.randbytes(8)
            elif edit == 2:
                del made[at + 1 :]
            else:
                made[at:at] = made[at : at + 512]
        return bytes(made)

    def compressed(self, data: bytes) -> bytes:
        """Compressed bytes, possibly compressed twice, possibly damaged."""
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            data = self.damaged(self.rng.choice(COMPRESSIONS)(data))
        return data

    def archive(self) -> bytes:
        """An archive with members, names and sizes that tar may or may not support."""
        rng, out = self.rng, io.BytesIO()
        form = rng.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            for _ in range(rng.choice((0, 1, 3, 12))):
                name = rng.choice((rng.choice(PATHS), f"Acme/{self.name()}", "Acme/a"))
                member = tarfile.TarInfo(name)
                member.type, member.mode = rng.choice(MEMBERS), rng.choice((0o644, 0o7777, 0, 0o40))
                member.linkname = rng.choice(("a", *PATHS))
                member.mtime = rng.choice((0, -1, 2**33, 1.5))
                if form == tarfile.PAX_FORMAT and not rng.randrange(3):
                    wrong = ("path", "size", "mtime", "linkpath", "GNU.sparse.map", "x")
                    member.pax_headers = {rng.choice(wrong): self.value()[:20_000] or "1"}
                data = self.line().encode("utf-8", "replace")[: rng.choice((0, 10, 70_000))]
                member.size = len(data)
                try:
                    archive.addfile(member, io.BytesIO(data))
                except (ValueError, OverflowError, OSError):  # this form of tar does not support it
                    continue
        data = self.damaged(out.getvalue())
        return rng.choice((data, self.compressed(data), self.compressed(data)))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
