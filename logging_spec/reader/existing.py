"""`podium.read_log`: a log that must exist."""

from __future__ import annotations

import os
from pathlib import Path

from podium.logging_spec.reader.log import Generation
from podium.logging_spec.reader.read import Log
from podium.logging_spec.reader.read import read_log as read


def read_log(path: Path | str, prefer: Generation = "mllog") -> Log:
    """Read one file, plain or compressed with gzip or zstd; unreadable parts become faults.

    Raises OSError if the file does not exist or is a folder. A file is read in one line format: in
    `prefer` if it has such lines, else in the newest format that it has.
    """
    os.stat(path)
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder; expected a log")
    return read(path, prefer)
