"""The first lines of logs: the start of the run, its settings and the configuration it names.

A review of code does not need verdicts, so it reads a log only up to the start of its run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.judging.inputs.source_files import open_plain
from podium.logging_spec.keys import CONFIG_FILENAME, RUN_START
from podium.logging_spec.reader.read import parse_log

_SIZES = (1 << 16, 1 << 20)
"""The bytes that are read of a log, and of a log whose run starts further down."""

_DEEPEST = 5
MOST_LOGS = 20_000


class LogHead(msgspec.Struct, frozen=True):
    """The beginning of one log; `result` is its folder below the submission."""

    result: str
    system: str
    benchmark: str
    started: float | None
    config: str
    settings: Mapping[str, Any]


def log_heads(root: Path) -> list[LogHead]:
    """The logs of a submission."""
    heads = []
    for path in _logs(root):
        folder = os.path.relpath(os.path.dirname(path), root)
        parts = folder.split(os.sep)
        heads.append(_head(Path(path), "/".join(parts), parts[1], parts[-1]))
    return heads


def _logs(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(root / "results"):
        depth = len(os.path.relpath(folder, root).split(os.sep))
        folders[:] = sorted(folders) if depth < _DEEPEST else []
        if depth < 3:
            continue
        for name in sorted(names):
            if name.startswith("result_") and name.endswith(".txt") and count < MOST_LOGS:
                count += 1
                yield os.path.join(folder, name)


def _head(path: Path, result: str, system: str, benchmark: str) -> LogHead:
    started: float | None = None
    settings: dict[str, Any] = {}
    for size in _SIZES:
        try:
            with open_plain(path) as stream:
                data = stream.read(size)
        except OSError:
            break
        settings = {}
        for record in parse_log(data[: data.rfind(b"\n") + 1]).records:
            if record.key == RUN_START.name:
                started = record.time_ms
                break
            settings.setdefault(record.key, record.value)
        if started is not None or len(data) < size:
            break
    config = settings.get(CONFIG_FILENAME.name)
    config_name = config if isinstance(config, str) else ""
    return LogHead(result, system, benchmark, started, config_name, settings)
