"""The configurations of a benchmark's code as one table: variables that differ, and used ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podium.compliance.judging.inputs.source_files import read_plain
from podium.compliance.judging.repository.secrets import secret_lines
from podium.compliance.tools.review.code.inventory import CodeFile, CodeTree
from podium.compliance.tools.review.code.log_heads import LogHead
from podium.compliance.tools.review.code.model import Configuration, Variable
from podium.rules.run import as_number

MOST_CONFIGURATIONS, MOST_VARIABLES, LEAST_VARIABLES = 200, 60, 2
"""Limits of one table; a file with fewer assignments is not a configuration."""

_BYTES = 1 << 16
_LONGEST, _LONGEST_LINE = 60, 1000
"""Maximum number of characters of a value that is shown, and of a line that is read."""

HIDDEN = "(hidden: possible secret)"

_NAMED = re.compile(r"(?:^|/)(?:config|conf|hparams|params)[^/]*\.(?:sh|env|conf|cfg|ini|ya?ml)$")
_ENDINGS = (".env", ".conf", ".cfg", ".ini")
_ASSIGNED = re.compile(
    r"""^\s*(?:export\s+|declare\s+-x\s+|:\s*["']?\$\{)?([A-Za-z_][\w.-]*)\s*:?=\s*(.*?)\s*$"""
)
_YAML = re.compile(r"^\s*([A-Za-z_][\w.-]*)\s*:\s+(\S.*?)\s*$")
_DEFAULT = re.compile(r"^\$\{\w+:?[-=](.*?)\}?$")


def configurations(
    tree: CodeTree, files: Sequence[CodeFile], logs: Sequence[LogHead], benchmark: str
) -> list[Configuration]:
    """The configurations in some files, used ones first, with the variables that differ."""
    candidates = [file for file in files if file.kind is None and _is_configuration(file.path)]
    benchmark_logs = [log for log in logs if log.benchmark == benchmark]
    values: dict[str, dict[str, str]] = {}
    for file in candidates[:MOST_CONFIGURATIONS]:
        variables = assignments(tree, file)
        if len(variables) >= LEAST_VARIABLES:
            values[file.path] = variables
    systems = {log.system for log in logs}
    used = {
        path: [log for log in benchmark_logs if _is_used(path, log, systems)] for path in values
    }
    columns = _differing(values.values())
    rows = [
        Configuration(
            path=tree.shown(path),
            used_by=sorted({tree.shown(log.result) for log in used[path]}),
            values={
                name: Variable(
                    value=variables[name], logged=_logged(name, variables[name], used[path])
                )
                for name in columns
                if name in variables
            },
        )
        for path, variables in values.items()
    ]
    return sorted(rows, key=lambda row: (not row.used_by, row.path)) if len(rows) > 1 else rows


def _is_configuration(path: str) -> bool:
    return path.endswith(_ENDINGS) or bool(_NAMED.search(path.lower()))


def assignments(tree: CodeTree, file: CodeFile) -> dict[str, str]:
    """The variables that a configuration assigns; the last assignment applies."""
    try:
        data = read_plain(tree.root / file.path, _BYTES)
    except OSError:
        return {}
    pattern = _YAML if file.path.endswith((".yaml", ".yml")) else _ASSIGNED
    hidden = secret_lines(data)
    variables = {}
    for number, content in enumerate(data.split(b"\n"), 1):
        line = content.decode(errors="replace").rstrip("\r")
        match = pattern.match(line) if len(line) <= _LONGEST_LINE else None
        if match is not None:
            variables[match[1]] = HIDDEN if number in hidden else _value(match[2])
    return variables


def _value(text: str) -> str:
    text = re.split(r"\s+#", text, maxsplit=1)[0].rstrip(";, ")
    text = text.strip("\"'")
    default = _DEFAULT.match(text)
    text = default[1] if default else text.removesuffix("}")
    text = text.strip("\"'")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _differing(rows: Iterable[Mapping[str, str]]) -> list[str]:
    all_rows = [*rows]
    names = {name: None for row in all_rows for name in row}
    differing = [name for name in names if len({row.get(name) for row in all_rows}) > 1]
    # A single configuration differs from no other: all of it is shown
    return (differing if len(all_rows) > 1 else [*names])[:MOST_VARIABLES]


def named_system(file_name: str, systems: Iterable[str]) -> str:
    """The system that a file name contains; the longest of several, empty for none."""
    found = (
        name
        for name in systems
        # The configuration of n16 is not that of n1
        if name and re.search(rf"(?<!\d(?=\d)){re.escape(name)}(?<!\d(?=\d))", file_name)
    )
    return max(found, key=len, default="")


def _is_used(path: str, log: LogHead, systems: Iterable[str]) -> bool:
    """Whether a log names a configuration, or the configuration names the log's system."""
    name = path.rpartition("/")[2]
    if log.config:
        return log.config.replace("\\", "/").rpartition("/")[2] == name
    return bool(log.system) and named_system(name, systems) == log.system


def _logged(name: str, value: str, logs: Sequence[LogHead]) -> str:
    """The value in the logs if it is different; empty if they agree or have no value."""
    logged = {
        str(log.settings[key]) for log in logs for key in (name.lower(),) if key in log.settings
    }
    differing = sorted(logged_value for logged_value in logged if not _equal(logged_value, value))
    return ", ".join(differing[:3]) if differing and len(differing) == len(logged) else ""


def _equal(first: Any, second: str) -> bool:
    if str(first).strip().lower() == second.strip().lower():
        return True
    numbers = [_number(value) for value in (first, second)]
    return None not in numbers and numbers[0] == numbers[1]


def _number(value: Any) -> float | None:
    number = as_number(value)
    if number is not None:
        return number
    try:
        return float(str(value))
    except ValueError:
        return None
