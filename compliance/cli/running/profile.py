"""`podium profile`: profiles of trainers, studies of profiles, and plans made from studies."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from podium.compliance.cli.help import DefaultGroup, examples, group
from podium.compliance.cli.running.machine import (
    CompileOption,
    DeviceOption,
    MeshOption,
    Precision,
    PrecisionOption,
    ProcessesOption,
    ThreadsOption,
    ranks_wanted,
)
from podium.compliance.cli.running.profile_files import Call, keep_profile, quiet_recorder
from podium.compliance.cli.running.run import (
    DataOption,
    Scale,
    ScaleOption,
    SetOption,
    pairs,
    ranks_started,
    reported,
)
from podium.compliance.errors import UsageFault
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.parallel.mesh import parse
from podium.reference_runs.profiling.studies.study import Kind
from podium.reference_runs.profiling.wanted import ProfileRequest

app = group(
    "Profile a trainer: steps, layers and kernels, and the overhead of measuring.\n\n"
    "The name of the first command may be omitted: podium profile TRAINER.",
    DefaultGroup,
)


class Study(StrEnum):
    """Comparisons of several profiles."""

    SCALING = "scaling"
    PRECISION = "precision"
    COMPILE = "compile"
    BATCH = "batch"
    DEVICES = "devices"


class Level(StrEnum):
    """The depth of a profile."""

    RUN = "run"
    LAYERS = "layers"
    KERNELS = "kernels"


class Roofs(StrEnum):
    """The limits that a profile measures."""

    DEVICE = "device"
    ALL = "all"


class UtilizationMode(StrEnum):
    """How much of the machine's utilization is recorded."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


TrainerArgument = Annotated[
    list[str],
    typer.Argument(
        help="Benchmark; see podium run --list. With --study devices: profiles.",
        metavar="TRAINER",
        show_default=False,
    ),
]
StudyOption = Annotated[
    Study | None,
    typer.Option(
        "--study",
        help="Compare numbers of ranks, number types, eager and compiled, batch sizes or devices.",
    ),
]
LevelOption = Annotated[Level, typer.Option("--level", help="The deepest level to measure.")]
ProfileFolderOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="New folder: JSON, a page, tables as CSV, traces, the log and the utilization.",
        metavar="DIR",
    ),
]
TurnsOption = Annotated[
    int,
    typer.Option("--turns", min=1, help="Alternations of bare and measured steps.", metavar="N"),
]
StepsOption = Annotated[
    int, typer.Option("--steps", min=3, help="Steps of a level in each turn.", metavar="N")
]
UtilisationOption = Annotated[
    UtilizationMode,
    typer.Option(
        "--utilisation", help="auto: all that can be read; all: fail without GPU data; none."
    ),
]
InLogOption = Annotated[
    bool,
    typer.Option(
        "--utilisation-in-log", help="Also write the utilization to the log, as tracked_stats."
    ),
]
RoofsOption = Annotated[
    Roofs,
    typer.Option(
        "--roofs",
        help="all: also measure the rates of a step's sizes, of reading data and of all-reduce.",
    ),
]
BatchesOption = Annotated[
    str | None,
    typer.Option(
        "--batches",
        help="Sizes of --study batch; by default a quarter to four times the trainer's own.",
        metavar="N,N,...",
    ),
]
StudiesArgument = Annotated[
    list[str],
    typer.Argument(
        help="study.json of a scaling study, with optional @STEPS; or a CSV: job,devices,minutes.",
        metavar="JOBS...",
    ),
]
DevicesOption = Annotated[
    int, typer.Option("--devices", min=1, max=64, help="Available devices.", metavar="N")
]
PlanFolderOption = Annotated[
    Path | None,
    typer.Option("--output", help="New folder for schedule.json and a page.", metavar="DIR"),
]
TracesArgument = Annotated[
    list[Path],
    typer.Argument(
        help="Traces of torch.profiler, one per rank, or their folders.",
        metavar="TRACE...",
        show_default=False,
    ),
]
TraceFolderOption = Annotated[
    Path | None,
    typer.Option("--output", help="New folder for traces.json and tables as CSV.", metavar="DIR"),
]
BeforeArgument = Annotated[
    str, typer.Argument(help="First profile.json or trace.", metavar="A", show_default=False)
]
AfterArgument = Annotated[
    str, typer.Argument(help="Second profile.json or trace.", metavar="B", show_default=False)
]
DifferenceFolderOption = Annotated[
    Path | None,
    typer.Option("--output", help="New folder for difference.json and a CSV.", metavar="DIR"),
]


def _refuse_mesh_with_study(mesh: str | None, study: Study | None) -> None:
    if mesh and study is not None:
        raise UsageFault("--mesh cannot be used with --study: a study changes ranks or precision")


@app.command(
    epilog=examples(
        "podium profile trainer llama31_8b",
        "podium profile trainer resnet --precision bf16 --output profiles/resnet",
        "podium profile trainer cosmoflow --roofs all",
        "podium profile trainer ncf --study scaling --processes 4 --output scaling",
        "podium profile trainer --study devices old/profile.json new=b/profile.json",
    )
)
def trainer(
    trainer: TrainerArgument,
    study: StudyOption = None,
    batches: BatchesOption = None,
    scale: ScaleOption = Scale.SMOKE,
    precision: PrecisionOption = Precision.FP32,
    compile: CompileOption = False,  # noqa: A002 - the option's name
    device: DeviceOption = "auto",
    data: DataOption = None,
    processes: ProcessesOption = 1,
    mesh: MeshOption = None,
    threads: ThreadsOption = None,
    settings: SetOption = None,
    level: LevelOption = Level.KERNELS,
    turns: TurnsOption = 5,
    steps: StepsOption = 10,
    utilisation: UtilisationOption = UtilizationMode.AUTO,
    in_log: InLogOption = False,
    roofs: RoofsOption = Roofs.DEVICE,
    output: ProfileFolderOption = None,
) -> None:
    """Profile a trainer, or compare profiles in a study.

    Each level is measured with the deeper levels off, interleaved with uninstrumented steps. If a
    profile or a study is interrupted, the results so far are kept.

    Exit status: 0 measured, 1 the trainer failed, 2 bad arguments or nothing to train.
    """
    with reported():
        if study is Study.DEVICES:
            from podium.compliance.cli.running.studies import compare_devices

            compare_devices(trainer, output)
            return
        _refuse_mesh_with_study(mesh, study)
        if roofs is Roofs.ALL and level is not Level.KERNELS:
            raise UsageFault(f"--roofs all counts the operators of a step: omit --level {level}")
        setting = Setting(
            scale=scale.value,
            mesh=parse(mesh) if mesh else None,
            precision=precision.value,
            device=device,
            compile=compile,
            data=data,
            threads=threads,
        )
        request = ProfileRequest(
            turns=turns,
            turn_steps=steps,
            deepest=level.value,
            folder=output,
            utilisation=utilisation.value,
            in_log=in_log,
            roofs=roofs is Roofs.ALL,
        )
        if batches and study is not Study.BATCH:
            raise UsageFault("--batches lists the sizes of --study batch")
        changes = pairs(settings or [])
        call = Call(_one(trainer), setting, changes, request, _sizes(batches))
        if study is not None:
            from podium.compliance.cli.running.studies import run_study

            run_study(cast("Kind", study.value), call, processes)
            return
        with ranks_started(ranks_wanted(setting.mesh, processes)):
            _profile(call)


@app.command(
    epilog=examples(
        "podium profile schedule llama/study.json resnet/study.json@5000 --devices 4",
        "podium profile schedule jobs.csv --devices 8 --output plan",
    )
)
def schedule(
    jobs: StudiesArgument, devices: DevicesOption, output: PlanFolderOption = None
) -> None:
    """Plan jobs on equal devices from their measured scaling: the best plan and naive plans.

    Each job gets one of the device counts that it was measured with, and keeps its devices.

    Exit status: 0 planned, 2 bad arguments or jobs that do not fit.
    """
    from podium.compliance.cli.running.studies import plan_jobs

    with reported():
        plan_jobs(jobs, devices, output)


@app.command(
    epilog=examples(
        "podium profile read trace.json",
        "podium profile read profile/traces --output analysis",
    )
)
def read(traces: TracesArgument, output: TraceFolderOption = None) -> None:
    """Analyze traces of torch.profiler: idle time, critical path, collectives and kernels.

    Any program may have written them. FLOP need traces with record_shapes=True.

    Exit status: 0 analyzed, 2 bad arguments or not a trace.
    """
    from podium.compliance.cli.running.traces import read_traces

    with reported():
        read_traces(traces, output)


@app.command(
    epilog=examples(
        "podium profile compare old/profile.json new/profile.json",
        "podium profile compare old/trace.json new/trace.json",
    )
)
def compare(
    before: BeforeArgument, after: AfterArgument, output: DifferenceFolderOption = None
) -> None:
    """Compare two profiles or traces: settings, steps, parts, idle time, layers and kernels.

    Exit status: 0 compared, 2 bad arguments or not a profile.
    """
    from podium.compliance.cli.running.traces import compare_profiles

    with reported():
        compare_profiles(before, after, output)


def _one(trainers: list[str]) -> str:
    if len(trainers) > 1:
        raise UsageFault(f"expected one trainer, got {' '.join(trainers)}")
    return trainers[0]


def _sizes(batches: str | None) -> tuple[int, ...]:
    """The sizes in `--batches`, such as 16,32,64."""
    words = batches.split(",") if batches else []
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise UsageFault(f"--batches: expected sizes such as 16,32,64, got {batches!r}")
    return tuple(dict.fromkeys(map(int, words)))


def _profile(call: Call) -> None:
    from podium.compliance.files.atomic import refuse_occupied
    from podium.reference_runs.catalogue import need_torch
    from podium.reference_runs.engine.launch import run_request

    request = run_request(call.trainer, call.setting, call.changes)
    quiet_recorder()
    need_torch()
    folder = call.wanted.folder
    # The first rank makes the folder, so other ranks may find it made
    if folder is not None and os.environ.get("RANK", "0") == "0":
        refuse_occupied(folder)
    from podium.compliance.cli.running.topology import topology_for
    from podium.reference_runs.profiling.session import profile_trainer
    from podium.reference_runs.profiling.text import profile_text

    wanted = replace(call.wanted, topology=topology_for(call.setting.device))
    profile = profile_trainer(request, lambda profile: keep_profile(profile, folder), wanted)
    if profile is not None:
        typer.echo(profile_text(profile))
