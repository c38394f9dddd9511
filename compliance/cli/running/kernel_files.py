"""Files that `podium kernels` writes and reads: measured kernels, and the state to resume."""

from __future__ import annotations

import re
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from podium.compliance.cli.running.profile_files import json_text, write
from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from podium.reference_runs.kernels.compare import DeviceTimes
    from podium.reference_runs.kernels.problems import Problem
    from podium.reference_runs.kernels.result import KernelRun, Measured
    from podium.reference_runs.kernels.session import Conditions

RESULT = "kernels.json"
LARGEST = 1 << 28
"""Maximum bytes of a kernels file."""


class Form(StrEnum):
    """Output formats of measured kernels."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    DEEPBENCH = "deepbench"


class KernelRequest:
    """The output of `run` and `from`: save, resume and print measured kernels."""

    def __init__(
        self, output: Path | None, form: Form, *, budget: str | None, resume: bool, quiet: bool
    ) -> None:
        self.output, self.form, self.quiet = output, form, quiet
        self.budget_s = None if budget is None else _seconds(budget)
        if resume and output is None:
            raise UsageFault("--resume needs --output, the folder of the earlier measurements")
        self._resume = resume
        if output is not None and not resume:
            from podium.compliance.files.atomic import refuse_occupied

            refuse_occupied(output)

    def known(self, conditions: Conditions) -> Mapping[Problem, Measured]:
        """The measurements of an earlier call under the same conditions; raises UsageFault."""
        if not self._resume or self.output is None:
            return {}
        run, current = _read(self.output), conditions.empty(self.budget_s)
        for name in ("source", "device_name", "precision", "threads", "ranks", "torch"):
            before, after = getattr(run, name), getattr(current, name)
            if before != after:
                raise UsageFault(f"--resume: {name} was {before} in {self.output}, now {after}")
        return {kernel.problem: kernel for kernel in run.kernels if kernel.status == "measured"}

    def keep(self, run: KernelRun) -> None:
        """Write the measurements so far; each file is written completely or not at all."""
        if self.output is None:
            return
        from podium.compliance.reporting.profiled.page import render_kernels
        from podium.reference_runs.kernels.text import deepbench_text, run_csv, run_rows

        files = {RESULT: _json(run)}
        if run.complete:
            files |= {
                "kernels.csv": run_csv(run),
                "kernels.html": render_kernels(asdict(run), run_rows(run)),
                "deepbench.txt": deepbench_text(run) + "\n",
            }
        write(self.output, files)

    def show(self, run: KernelRun) -> None:
        """Print a run."""
        from podium.reference_runs.kernels.text import deepbench_text, run_csv, run_text

        renderers: dict[Form, Callable[[KernelRun], str]] = {
            Form.TEXT: run_text,
            Form.JSON: _json,
            Form.CSV: run_csv,
            Form.DEEPBENCH: deepbench_text,
        }
        typer.echo(renderers[self.form](run).rstrip("\n"))


def entry(name: str) -> DeviceTimes:
    """A file of kernels, its folder, or a public sheet; raises UsageFault or RunFault."""
    from podium.reference_runs.kernels.compare import entry_of
    from podium.reference_runs.kernels.sheets import sheet

    path = Path(name)
    return entry_of(name, _read(path)) if path.exists() else sheet(name)


def _read(path: Path) -> KernelRun:
    """A run from its JSON or its folder; raises UsageFault if the file is not a run."""
    from pydantic import TypeAdapter, ValidationError

    from podium.reference_runs.kernels.result import FORMAT, KernelRun

    path = path / RESULT if path.is_dir() else path
    try:
        text = read_given(path, LARGEST + 1)
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    if len(text) > LARGEST:
        raise UsageFault(f"{path} is larger than {LARGEST:,} bytes")
    try:
        run = TypeAdapter(KernelRun).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        location = ".".join(map(str, first["loc"])) or "the file"
        raise UsageFault(f"{path} is not a kernels file: {location}: {first['msg']}") from None
    if run.format != FORMAT:
        raise UsageFault(f"{path} has format {run.format}; this podium reads {FORMAT}")
    return run


def _json(run: KernelRun) -> str:
    return json_text(asdict(run))


_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_UNITS = {"s": 1, "m": 60, "h": 3600}


def _seconds(text: str) -> float:
    """A duration in seconds; raises UsageFault for invalid text."""
    match = _TIME.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2] or "s"] if match else 0
    if not seconds:
        raise UsageFault(f"--budget: expected a time such as 60s, 5m or 1h, got {text!r}")
    return seconds
