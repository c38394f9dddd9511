"""A memory plan as text: a line for each mesh, and the options for those that fit."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from podium.reference_runs.catalogue import task_of
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.planning.propose import Planned

COLUMNS = ("weights", "gradients", "optimizer", "buffers", "activations", "peak")
UNPLANNED = ("buffers", "activations")
"""Columns without a size in the row of a lower bound."""
BOUND = "* a lower bound: weights, gradients and optimizer state alone; no step was planned"

GIB = 1 << 30
_UNITS = {"mib": 1 << 20, "gib": GIB, "tib": 1 << 40, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def parse_size(text: str) -> int:
    """Bytes of a size such as 80GiB; raises RunFault."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2].lower() not in _UNITS or not float(match[1]):
        raise RunFault(f"--memory is {text!r}; expected a size such as 80GiB or 80GB")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def plan_text(request: RunRequest, planned: Sequence[Planned], bytes_each: int) -> str:
    """The table; the last lines are options for `podium run`."""
    setting = request.setting
    wide = max(4, *(len(str(candidate.mesh or "none")) for candidate in planned))
    lines = [
        f"{request.benchmark.name} at {setting.scale} scale, {setting.precision}: memory of a rank",
        f"at the peak of {_counted(request)}, out of {_size(bytes_each)}",
        "",
        f"{'mesh':<{wide}}" + "".join(f"{name:>12}" for name in COLUMNS),
    ]
    lines += [f"{candidate.mesh or 'none'!s:<{wide}}{_row(candidate)}" for candidate in planned]
    if any(candidate.need.is_bound for candidate in planned):
        lines.append(BOUND)
    lines += ["", *(_options(candidate, request) for candidate in planned if candidate.fits)]
    if not any(candidate.fits for candidate in planned):
        lines.append("none fits; try more accelerators, or more and smaller micro-batches")
    lines.append("no mesh: each rank has the whole model. Not counted: memory outside of tensors")
    return "\n".join(lines)


def _row(planned: Planned) -> str:
    need = planned.need
    omitted = UNPLANNED if need.is_bound else ()
    cells = ("-" if name in omitted else _size(getattr(need, name)) for name in COLUMNS)
    verdict = "fits" if planned.fits else "too large*" if need.is_bound else "too large"
    return "".join(f"{cell:>12}" for cell in cells) + f"  {verdict}"


def _counted(request: RunRequest) -> str:
    if task_of(request.benchmark.name).plans_evaluation:
        return "a step or an evaluation"
    return "a step; evaluations are not counted"


def _options(planned: Planned, request: RunRequest) -> str:
    setting, settings = request.setting, dict(request.settings)
    if planned.micro_batches != request.config().gradient_accumulation_steps:
        settings["gradient_accumulation_steps"] = str(planned.micro_batches)
    words = [
        f"podium run {request.benchmark.name} --scale {setting.scale}",
        f"--precision {setting.precision}",
        *([f"--mesh {planned.mesh}"] if planned.mesh else ()),
        *(f"--set {shlex.quote(f'{name}={value}')}" for name, value in settings.items()),
    ]
    return " ".join(words)


def _size(count: int) -> str:
    if count >= GIB:
        return f"{count / GIB:.2f} GiB"
    return f"{count / (1 << 20):.2f} MiB"
