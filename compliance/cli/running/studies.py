"""The work of `podium profile --study` and `podium profile schedule`, and their files."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from podium.compliance.cli.running.profile_files import json_text, table, write
from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import refuse_occupied
from podium.compliance.reporting.profiled.page import render_schedule, render_study
from podium.reference_runs.engine.launch import run_request
from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.studies.devices import compared
from podium.reference_runs.profiling.studies.jobs import jobs_of, read_json
from podium.reference_runs.profiling.studies.running import batch_sizes, settings_of, studied
from podium.reference_runs.profiling.studies.schedule import planned
from podium.reference_runs.profiling.studies.study import Study
from podium.reference_runs.profiling.studies.text import devices_text, schedule_text, study_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.compliance.cli.running.profile_files import Call
    from podium.reference_runs.profiling.studies.study import DeviceStudy, Kind, Schedule, Variant


def run_study(kind: Kind, call: Call, processes: int) -> None:
    """Profile a trainer in each setting of a study; raises RunFault if none could be measured."""
    from podium.reference_runs.catalogue import need_torch

    _check_free(kind, call, processes)
    config = run_request(call.trainer, call.setting, call.changes).config()
    need_torch()
    empty = Study(kind=kind, benchmark=call.trainer, scale=call.setting.scale)
    with _place(call.wanted.folder) as folder:
        settings = settings_of(kind, processes, call.sizes or batch_sizes(config.global_batch_size))
        for study in studied(empty, settings, [*_words(call)], folder):
            _tell(study.variants[-1])
            if call.wanted.folder is not None:
                _keep(study, folder)
    if all(variant.step_ms is None for variant in study.variants):
        raise RunFault(study.variants[0].reason)
    typer.echo(study_text(study))


def _check_free(kind: Kind, call: Call, processes: int) -> None:
    """Raise UsageFault for an option that fixes the setting that the study varies."""
    if kind == "scaling" and processes < 2:
        raise UsageFault("--study scaling compares 1 to N ranks and needs --processes N")
    if kind != "scaling" and processes > 1:
        raise UsageFault(f"--processes cannot be used with --study {kind}")
    if kind == "batch" and "global_batch_size" in call.changes:
        raise UsageFault("--set global_batch_size cannot be used with --study batch; use --batches")
    setting = call.setting
    fixed = {"precision": setting.precision != "fp32", "compile": setting.compile}
    if fixed.get(kind):
        raise UsageFault(f"--{kind} cannot be used with --study {kind}, which tries each value")


def _words(call: Call) -> Iterator[str]:
    """The trainer and the options of every profile of a study."""
    setting, request = call.setting, call.wanted
    yield call.trainer
    values: dict[str, Any] = {
        "--scale": setting.scale,
        "--device": setting.device,
        "--data": setting.data,
        "--threads": setting.threads,
        "--level": request.deepest,
        "--turns": request.turns,
        "--steps": request.turn_steps,
        "--utilisation": request.utilisation,
        "--roofs": "all" if request.roofs else None,
    }
    for name, value in values.items():
        if value is not None:
            yield from (name, str(value))
    # A study appends the option that it varies, and the last value counts
    yield from ("--precision", setting.precision)
    yield from ["--compile"] if setting.compile else []
    yield from ["--utilisation-in-log"] if request.in_log else []
    for name, value in call.changes.items():
        yield from ("--set", f"{name}={value}")


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder of a study; a temporary folder without `--output`."""
    if folder is not None:
        refuse_occupied(folder)
        yield folder
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _tell(variant: Variant) -> None:
    # A study takes minutes, and standard output is for its table
    outcome = f"{variant.step_ms:.3f} ms per step" if variant.step_ms else variant.reason
    sys.stderr.write(f"{variant.name}: {variant.state}, {outcome}\n")


def _keep(study: Study, folder: Path) -> None:
    data = asdict(study)
    rows = [{k: v for k, v in row.items() if k != "parts"} for row in data["variants"]]
    write(
        folder,
        {
            "study.json": json_text(data),
            "study.html": render_study(data),
            "study.csv": table(rows),
        },
    )


def compare_devices(words: list[str], output: Path | None) -> None:
    """Compare saved profiles: FILE, or NAME=FILE to name the device."""
    if output is not None:
        refuse_occupied(output)
    study = compared(map(_named_profile, words))
    if output is not None:
        _keep_devices(study, output)
    typer.echo(devices_text(study))


def _named_profile(word: str) -> tuple[str, dict[str, Any]]:
    name, equals, path = word.partition("=")
    # A path may contain an equals sign
    if not equals or Path(word).exists():
        name, path = "", word
    profile = read_json(path)
    if not {"benchmark", "levels", "operators", "device_name"} <= profile.keys():
        raise RunFault(f"{path} is not a profile.json of podium profile")
    return name or profile["device_name"], profile


def _keep_devices(study: DeviceStudy, folder: Path) -> None:
    data = asdict(study)
    rows = [{"model": model["name"], **row} for model in data["models"] for row in model["on"]]
    write(
        folder,
        {
            "study.json": json_text(data),
            "study.html": render_study(data),
            "study.csv": table(rows),
        },
    )


def plan_jobs(words: list[str], devices: int, output: Path | None) -> None:
    """Plan jobs on devices, print the plan and write it."""
    if output is not None:
        refuse_occupied(output)
    try:
        schedule = planned(jobs_of(words), devices)
    except ValueError as error:
        raise RunFault(str(error)) from None
    if output is not None:
        _keep_schedule(schedule, output)
    typer.echo(schedule_text(schedule))


def _keep_schedule(schedule: Schedule, folder: Path) -> None:
    data = asdict(schedule)
    rows = [{**row, "devices": " ".join(map(str, row["devices"]))} for row in data["best"]["jobs"]]
    write(
        folder,
        {
            "schedule.json": json_text(data),
            "schedule.html": render_schedule(data),
            "schedule.csv": table(rows),
        },
    )
