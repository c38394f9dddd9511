"""Logs in the line formats of rounds 0.5 and 0.6."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from podium.logging_spec.emitter.targets import open_sink
from podium.logging_spec.reader.dialects import render_v05, render_v06

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from podium.logging_spec.emitter.sink import Sink

LEGACY_ROUNDS = ("0.5", "0.6")


class LegacySink:
    """A file sink that writes each record in the line format of its round."""

    def __init__(self, path: Path, round_name: str, benchmark: str) -> None:
        self._sink: Sink = open_sink(str(path))
        self._round = round_name
        self._benchmark = benchmark

    def write(self, line: bytes) -> None:
        """Convert a line from the current format to that of the round, and write it."""
        self._sink.write(f"{self._legacy_line(line)}\n".encode("ascii"))

    def _legacy_line(self, line: bytes) -> str:
        record = json.loads(line.partition(b" ")[2])
        # Lines before 0.7 give seconds, later lines milliseconds
        seconds, metadata = record["time_ms"] / 1000, record["metadata"]
        if self._round == "0.6":
            return render_v06(seconds, record["key"], record["value"], metadata)
        file, number = metadata.pop("file", ""), metadata.pop("lineno", 0)
        key, value = v05_record(record["key"], record["value"], metadata)
        return render_v05(self._benchmark, seconds, file, number, key, value)

    def retry(self) -> None:
        """Write the lines that are still buffered."""
        self._sink.retry()

    def sync(self) -> None:
        """Flush the lines to disk."""
        self._sink.sync()

    def close(self) -> None:
        """Write the buffered lines and close the file."""
        self._sink.close()


def v05_record(key: str, value: Any, metadata: Mapping[str, Any]) -> tuple[str, Any]:
    """The key and value of a record in round 0.5, which has no metadata and counts epochs from 0.

    Records without a counterpart in that round keep their key and have their metadata in the value.
    """
    epoch = metadata.get("epoch_num")
    if key == "run_stop":
        return key, {"success": metadata.get("status") == "success"}
    if key == "epoch_start" and isinstance(epoch, int):
        return "train_epoch", epoch - 1
    if key == "eval_accuracy" and isinstance(epoch, int):
        return key, {"epoch": epoch - 1, "value": value}
    return key, {**metadata, "value": value} if metadata else value
