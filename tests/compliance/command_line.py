"""Calls of the command `podium` in this process, as from a shell."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from podium.compliance.cli import entry as cli


@dataclass(frozen=True)
class Done:
    """The output of a call, and its exit status."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Both streams, standard output first."""
        return self.stdout + self.stderr


def podium(*arguments: object, columns: int = 80) -> Done:
    """Call the command on a terminal with this number of columns."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with (
        patch.dict(os.environ, {"COLUMNS": str(columns)}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = cli.run([*map(str, arguments)])
    return Done(status, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
