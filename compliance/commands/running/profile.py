"""`podium profile`: where a trainer's time goes, level by level, and what measuring costs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.compliance.commands.help import examples
from podium.compliance.commands.running.run import (
    CompileOption,
    DataOption,
    DeviceOption,
    Precision,
    PrecisionOption,
    Scale,
    ScaleOption,
    SetOption,
    ThreadsOption,
    pairs,
    reported,
)
from podium.reference_runs.engine.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from podium.reference_runs.profiling.profile import Profile

EXAMPLES = examples(
    "podium profile llama31_8b",
    "podium profile resnet --precision bf16 --output profiles/resnet",
)

TrainerArgument = Annotated[
    str,
    typer.Argument(
        help="A benchmark; podium run --list names them.", metavar="TRAINER", show_default=False
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="New folder for profile.json, profile.html, tables as CSV and trace.json.",
        metavar="DIR",
    ),
]
TurnsOption = Annotated[
    int, typer.Option("--turns", min=1, help="Turns of bare and measured steps.", metavar="N")
]
StepsOption = Annotated[
    int, typer.Option("--steps", min=3, help="Steps of a level in each turn.", metavar="N")
]


def profile(
    trainer: TrainerArgument,
    scale: ScaleOption = Scale.SMOKE,
    precision: PrecisionOption = Precision.FP32,
    compile: CompileOption = False,  # noqa: A002 - the option's name
    device: DeviceOption = "auto",
    data: DataOption = None,
    threads: ThreadsOption = None,
    settings: SetOption = None,
    turns: TurnsOption = 5,
    steps: StepsOption = 10,
    output: OutputOption = None,
) -> None:
    """Profile a trainer: steps, layers and kernels, and what measuring each costs.

    Each level is measured with the deeper ones off, in turns with steps under none. A profile that
    is cut short is kept as far as it went.

    Exit status: 0 measured, 1 the trainer could not go on, 2 bad arguments or nothing to train.
    """
    setting = Setting(
        scale=scale.value,
        precision=precision.value,
        device=device,
        compile=compile,
        data=data,
        threads=threads,
    )
    with reported():
        _profile(trainer, setting, pairs(settings or []), (turns, steps), output)


def _profile(
    trainer: str,
    setting: Setting,
    changes: Mapping[str, str],
    counts: tuple[int, int],
    output: Path | None,
) -> None:
    from podium.compliance.files.atomic import refuse_occupied
    from podium.reference_runs.catalogue import need_torch
    from podium.reference_runs.engine.launch import run_request

    request = run_request(trainer, setting, changes)
    need_torch()
    if output is not None:
        refuse_occupied(output)
    from podium.reference_runs.profiling.session import profile_trainer
    from podium.reference_runs.profiling.text import profile_text

    trace = None if output is None else output / "trace.json"
    turns, steps = counts
    made = profile_trainer(
        request, lambda each: _keep(each, output), turns=turns, turn_steps=steps, trace=trace
    )
    typer.echo(profile_text(made))


def _keep(made: Profile, folder: Path | None) -> None:
    """Write what there is so far, each file whole or not at all."""
    if folder is None:
        return
    from podium.compliance.report.profiled.page import render

    plain = asdict(made)
    files = {
        "profile.json": json.dumps(plain, indent=1) + "\n",
        "profile.html": render(plain),
        "layers.csv": _csv(plain["layers"]),
        "operators.csv": _csv(
            [{k: v for k, v in row.items() if k != "kernels"} for row in plain["operators"]]
        ),
        "kernels.csv": _csv(
            [
                {"module": row["module"], "phase": row["phase"], "operator": row["name"], **kernel}
                for row in plain["operators"]
                for kernel in row["kernels"]
            ]
        ),
    }
    _write(folder, files)


def _write(folder: Path, files: dict[str, str]) -> None:
    from podium.compliance.errors import UsageFault
    from podium.compliance.files.atomic import draft_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageFault(f"{folder} cannot be made: {error.strerror}") from None
    for name, text in files.items():
        if text:
            with draft_file(folder / name) as stream:
                stream.write(text.encode())


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
