"""`podium.read_log`: a log that must be there."""

from __future__ import annotations

import os
from pathlib import Path

from podium.logging_spec.reader.log import Generation
from podium.logging_spec.reader.read import Log
from podium.logging_spec.reader.read import read_log as read


def read_log(path: Path | str, prefer: Generation = "mllog") -> Log:
    """Read one file, also gzip- or zstd-compressed; what cannot be read of it becomes a fault.

    Raises OSError where there is no such file, or where it is a folder. A file is read by one line
    format: by `prefer` if it holds lines of it, else by the newest one that it holds.
    """
    os.stat(path)
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder; expected a log")
    return read(path, prefer)
