"""Draft the module of a round: the differences of an official release from the previous round."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from podium.compliance.errors import UsageFault
from podium.compliance.tools.drift.installed import KeyRule
from podium.compliance.tools.drift.text import NAMES, Comparison, Disagreement
from podium.compliance.tools.drift.translate import constant_of, drafted_row
from podium.rules.catalogue import rounds_of
from podium.rules.model.benchmark import line_name
from podium.rules.model.round import DIVISIONS, Round, version_of
from podium.rules.table import Line

WIDTH = 100

_MODULES = {
    "checks.catalogue": (),
    "constraints.bounds": (
        *("above", "at_least", "at_most", "below", "equals", "not_empty", "one_of", "whole"),
    ),
    "constraints.members": ("has",),
    "model.benchmark": ("Amend", "Benchmark", "TableChange"),
    "table": ("AT_LEAST_ONCE", "OPTIONAL", "at_least_times", "row"),
}
"""The modules below `podium.rules` from which a draft imports its names."""


def draft(comparison: Comparison, usage: str, name: str) -> str:
    """The module of a round from its rule files; the missing parts are marked with `to write`.

    Raises UsageFault for the first round.
    """
    before = [
        candidate for candidate in rounds_of(usage).values() if candidate.version < version_of(name)
    ]
    if not before:
        raise UsageFault(f"{usage} {name} cannot be drafted: podium has no earlier round")
    rows = [row for row in comparison.rows if (row.usage, row.round) == (usage, name) and row.key]
    return _Draft(comparison, before[-1], name, rows).text()


class _Draft:
    def __init__(
        self, comparison: Comparison, base: Round, name: str, rows: list[Disagreement]
    ) -> None:
        self.made, self.base, self.name = comparison, base, name
        self.files = comparison.about.files(base.usage, name)
        self.constant = f"V{name.replace('.', '_')}"
        benchmarks = _names(self.files)
        base_listed = base.listed
        self.retired = [
            benchmark for benchmark in base_listed if benchmarks and benchmark not in benchmarks
        ]
        self.new = [benchmark for benchmark in benchmarks if benchmark not in base_listed]
        self.rows = [row for row in rows if row.key != NAMES and row.benchmark not in self.retired]

    def text(self) -> str:
        base = f"V{self.base.name.replace('.', '_')}"
        body = [
            f"{self.constant} = {base}.next(",
            f'    "{self.name}",',
            *_member("retires", [f'"{benchmark}"' for benchmark in self.retired]),
            *_member("introduces", [benchmark.upper() for benchmark in self.new]),
        ]
        for table, division in (("common", ""), *((division, division) for division in DIVISIONS)):
            table_rows = [
                row for row in self.rows if not row.benchmark and row.division == division
            ]
            body += self._change(table, table_rows, getattr(self.base, table), 4)
        body += [*self._amends(), ")"]
        content = "\n".join([*self._benchmarks(), *body])
        return f"{self._head(base, content)}\n\n{content}\n"

    # --- parts ---

    def _head(self, base: str, body: str) -> str:
        summary = (
            f"{self.base.usage.capitalize()} {self.name}: what changed since {self.base.name}."
        )
        lines = [
            f'"""{summary}"""',
            "",
            f"# A draft from the rule files of mlperf-logging {self.made.about.version}: compare",
            "# it with the written rules, and complete the parts marked with `to write`",
            "",
        ]
        used = set(re.findall(r"\w+", "\n".join(re.sub(r"#.*", "", x) for x in body.split("\n"))))
        imports = ["from podium.logging_spec import keys as k"] if "k" in used else []
        for module, names in _MODULES.items():
            used_names = sorted(used & {*names}, key=lambda name: (not name.isupper(), name))
            if used_names:
                imports.append(f"from podium.rules.{module} import {', '.join(used_names)}")
        imports.append(f"from podium.rules.{self.base.usage}.{base.lower()} import {base}")
        return "\n".join([*lines, *imports])

    def _amends(self) -> Iterator[str]:
        by_benchmark: dict[str, list[Disagreement]] = {}
        for row in self.rows:
            if row.benchmark:
                by_benchmark.setdefault(row.benchmark, []).append(row)
        if not by_benchmark:
            return
        yield "    amends={"
        for name, rows in by_benchmark.items():
            base_benchmark = self.base.benchmarks[name]
            yield f'        "{name}": Amend('
            for division, table in (
                ("closed", base_benchmark.closed),
                ("open", base_benchmark.open or ()),
            ):
                table_rows = [row for row in rows if row.division in (division, "")]
                yield from self._change(division, table_rows, table, 12)
            yield "        ),"
        yield "    },"

    def _change(
        self, table: str, rows: list[Disagreement], lines: tuple[Line, ...], indent: int
    ) -> Iterator[str]:
        """The change of one table, with the indentation of a member."""
        if not rows:
            return
        pad = " " * indent
        line_names = {line_name(line) for line in lines}
        parts: dict[str, list[str]] = {"change": [], "add": [], "drop": []}
        for row in rows:
            rule = self.files.get(row.file, {}).get(row.key)
            if rule is None:
                parts["drop"].append(f"{pad}        k.{constant_of(row.key)},")
            else:
                part = "change" if row.key in line_names else "add"
                parts[part] += _row(row.key, rule, indent + 8)
        yield f"{pad}{table}=TableChange("
        for part, part_lines in parts.items():
            if part_lines:
                yield f"{pad}    {part}=("
                yield from part_lines
                yield f"{pad}    ),"
        yield f"{pad}),"

    def _benchmarks(self) -> Iterator[str]:
        """The new benchmarks, each to be moved to a separate module."""
        runs = self.made.about.runs.get(self.base.usage, {})
        for name in self.new:
            yield f"# To write: title and target; move it to benchmarks/{name}.py"
            yield f"{name.upper()} = Benchmark("
            yield f'    name="{name}",'
            yield f'    title="{name}",'
            yield f"    runs={runs.get(name, 10)},"
            yield '    target="",'
            for division in DIVISIONS:
                yield f"    {division}=("
                for key, rule in self.files.get(f"{division}_{name}", {}).items():
                    yield from _row(key, rule, 8)
                yield "    ),"
            yield ")"
            yield ""


def _names(files: Mapping[str, Mapping[str, KeyRule]]) -> list[str]:
    """The benchmarks that the rule files of a round list, in their order."""
    benchmarks: dict[str, None] = {}
    for file in ("common", "closed_common"):
        rule = files.get(file, {}).get(NAMES, KeyRule())
        for test in rule.each:
            for text in re.findall(r"\[[^\]]*\]", test):
                try:
                    values = ast.literal_eval(text)
                except (SyntaxError, ValueError):
                    continue
                # The subscript of a value is in brackets too
                benchmarks |= dict.fromkeys(
                    benchmark for benchmark in values if f"closed_{benchmark}" in files
                )
    return [*benchmarks]


def _member(name: str, values: Iterable[str]) -> list[str]:
    text = "".join(f"{value}, " for value in values).rstrip()
    single = text.count(",") == 1
    return [f"    {name}=({text if single else text.rstrip(',')}),"] if text else []


def _row(key: str, rule: KeyRule, indent: int) -> Iterator[str]:
    """A row on one or several lines, after the remarks on its missing parts."""
    pad = " " * indent
    drafted = drafted_row(key, rule)
    for remark in drafted.remarks:
        yield from textwrap.wrap(
            f"To write: {remark}", WIDTH, initial_indent=f"{pad}# ", subsequent_indent=f"{pad}#   "
        )
    line = f"{pad}row({', '.join(drafted.words)}),"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{pad}row("
    yield from (f"{pad}    {word}," for word in drafted.words)
    yield f"{pad}),"
