"""`podium run`: train a bundled reference benchmark and log it.

Torch is not imported before it is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import warn
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import Division
from podium.compliance.cli.running.machine import (
    AcceleratorsOption,
    CompileMode,
    CompileModeOption,
    CompileOption,
    DeviceOption,
    MemoryOption,
    MeshOption,
    PlanOption,
    ProcessesOption,
    ShardOption,
    ThreadsOption,
    TrainingPrecision,
    TrainingPrecisionOption,
    print_plan,
    ranks_wanted,
)
from podium.compliance.cli.running.progress import follow, outcome_text
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.interrupts import raise_always
from podium.reference_runs.engine.setting import ORG, Setting
from podium.reference_runs.errors import RunAborted, RunFault
from podium.reference_runs.parallel.mesh import parse

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from podium.reference_runs.catalogue import Benchmark
    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.loop import Watch


EXAMPLES = examples(
    "podium run llama2_70b_lora --runs 10 --output logs",
    "podium run bert --trace trace.json",
    "podium run llama31_8b --scale reference --plan --accelerators 8",
    "torchrun --nproc-per-node 2 -m podium run llama31_8b",
)


class Scale(StrEnum):
    """Scales of a benchmark."""

    SMOKE = "smoke"
    REFERENCE = "reference"


def _list(value: bool) -> None:
    if value:
        from podium.reference_runs.catalogue import find, names

        for name in names():
            benchmark = find(name)
            typer.echo(f"{name:<16} {benchmark.title} ({_rounds(benchmark)})")
        from podium.compliance.judging.plugins.extensions import trainers

        for name, package in trainers().items():
            typer.echo(f"{name:<16} from the plug-in package {package}")
        raise typer.Exit


def _rounds(benchmark: Benchmark) -> str:
    """The rounds whose log format a trainer can write: "Training 3.0 to 6.0"."""
    if not benchmark.rounds:
        return "no round"
    first, last = benchmark.rounds[0], benchmark.rounds[-1]
    usage = {"training": "Training", "hpc": "HPC"}[benchmark.usage]
    return f"{usage} {first} to {last}" if first != last else f"{usage} {first}"


BenchmarkArgument = Annotated[
    str,
    typer.Argument(help="Benchmark; see --list.", metavar="BENCHMARK", show_default=False),
]
# Eager, so that --list is handled before typer requires BENCHMARK
ListOption = Annotated[
    bool, typer.Option("--list", callback=_list, is_eager=True, help="List the benchmarks.")
]
ScaleOption = Annotated[
    Scale, typer.Option("--scale", help="smoke: minutes on a CPU; reference: the real benchmark.")
]
DivisionOption = Annotated[
    Division | None,
    typer.Option("--division", help="Default: the division whose rules a smoke run can satisfy."),
]
RoundOption = Annotated[
    str | None,
    typer.Option("--round", help="Round of the log format; default the newest.", metavar="ROUND"),
]
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed", min=0, help="Seed of the first run; each further run adds 1.", metavar="N"
    ),
]
RunsOption = Annotated[
    int, typer.Option("--runs", min=1, help="Independent runs, one log each.", metavar="N")
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="Folder of the logs, default runs/BENCHMARK; existing files are kept.",
        metavar="DIR",
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the real dataset (reference scale).", metavar="DIR"),
]
SubsetOption = Annotated[
    bool,
    typer.Option("--allow-subset", help="Accept a dataset of another size (open division)."),
]
CacheOption = Annotated[
    Path | None,
    typer.Option("--cache", help="Cache the data of smoke scale in this folder.", metavar="DIR"),
]
WeightsOption = Annotated[
    Path | None,
    typer.Option("--weights", help="Start from these safetensors files.", metavar="DIR"),
]
OrgOption = Annotated[str, typer.Option("--org", help="Organization in the log.", metavar="NAME")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a field of the config (repeatable).", metavar="KEY=VALUE"),
]
DryOption = Annotated[
    bool, typer.Option("--dry-log", help="Log the hyperparameters only; do not train.")
]
TraceOption = Annotated[
    Path | None,
    typer.Option("--trace", help="Write a trace of some steps; print tables.", metavar="FILE"),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Save the state after each evaluation.", metavar="FILE"),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Resume from --checkpoint; the pause counts as run time.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")]


def run(
    benchmark: BenchmarkArgument,
    scale: ScaleOption = Scale.SMOKE,
    division: DivisionOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    seed: SeedOption = 1,
    runs: RunsOption = 1,
    output: OutputOption = None,
    precision: TrainingPrecisionOption = TrainingPrecision.FP32,
    compile: CompileOption = False,  # noqa: A002 - the option's name
    compile_mode: CompileModeOption = None,
    device: DeviceOption = "auto",
    data: DataOption = None,
    allow_subset: SubsetOption = False,
    cache: CacheOption = None,
    weights: WeightsOption = None,
    org: OrgOption = ORG,
    settings: SetOption = None,
    dry_log: DryOption = False,
    trace: TraceOption = None,
    processes: ProcessesOption = 1,
    threads: ThreadsOption = None,
    shard: ShardOption = False,
    mesh: MeshOption = None,
    plan: PlanOption = False,
    accelerators: AcceleratorsOption = 1,
    memory: MemoryOption = "80GiB",
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
    list: ListOption = False,  # noqa: A002, ARG001 - the option's name; its callback answers
) -> None:
    """Train a bundled reference benchmark and write its log.

    Exit status: 0 every run reached its target (--plan: a mesh fits), 1 otherwise, 2 bad arguments.
    """
    with reported():
        setting = Setting(
            scale=scale.value,
            seed=seed,
            org=org,
            precision=precision.value,
            device=device,
            compile=compile or compile_mode is not None,
            compile_mode=(compile_mode or CompileMode.DEFAULT).value,
            shard=shard,
            mesh=parse(mesh) if mesh else None,
            threads=threads,
            data=data,
            allow_subset=allow_subset,
            cache=cache,
            weights=weights,
            checkpoint=checkpoint,
            resume=resume,
            trace=trace,
        )
        request = _request(benchmark, setting, settings or [], round, division)
        if plan:
            print_plan(request, accelerators, memory)
        raise typer.Exit(_run(request, output, runs, processes, dry_log=dry_log, quiet=quiet))


@contextmanager
def reported() -> Iterator[None]:
    """Exit with status 1 for an aborted run; raise UsageFault for a run that cannot start."""
    # The trainers and torchrun end a run in several steps after an interrupt
    raise_always()
    try:
        yield
    except RunAborted as error:
        warn(str(error))
        raise typer.Exit(Exit.FOUND) from None
    except RunFault as error:
        raise UsageFault(str(error)) from None


@contextmanager
def ranks_started(processes: int) -> Iterator[None]:
    """Run the block in each rank; with several ranks, this process only waits for them."""
    # If torchrun has set RANK, this process is a rank
    if processes > 1 and "RANK" not in os.environ:
        raise typer.Exit(_start_ranks(processes))
    yield


def _request(
    benchmark: str,
    setting: Setting,
    settings: list[str],
    round_name: str | None,
    division: Division | None,
) -> RunRequest:
    from podium.reference_runs.engine.launch import run_request

    if "." in benchmark:
        benchmark = _from_plugin(benchmark)
    return run_request(
        benchmark, setting, pairs(settings), (round_name, division.value if division else None)
    )


def _from_plugin(qualified_name: str) -> str:
    """The benchmark name of a trainer PLUGIN.NAME; registers the package of the trainer."""
    from podium.compliance.judging.plugins.extensions import package_of
    from podium.reference_runs.catalogue import add

    name = qualified_name.partition(".")[2]
    add(name, package_of(qualified_name))
    return name


def _run(
    request: RunRequest,
    output: Path | None,
    runs: int,
    processes: int,
    *,
    dry_log: bool,
    quiet: bool,
) -> Exit:
    # A dry log declares hyperparameters only: no outcome and no folder of runs
    if dry_log:
        _dry_log(request, output)
        return Exit.CLEAN
    folder = output or Path("runs", request.benchmark.name)
    with ranks_started(ranks_wanted(request.setting.mesh, processes)):
        return Exit.CLEAN if _train(request, folder, runs, quiet=quiet) else Exit.FOUND


def _start_ranks(processes: int) -> int:
    from podium.reference_runs.engine.machine.processes import start

    # Each rank parses the same arguments; with RANK set, it does not start ranks again
    return start(processes, ["-m", "podium", *sys.argv[1:]])


def _train(request: RunRequest, folder: Path, runs: int, *, quiet: bool) -> bool:
    """Train the runs in sequence; return whether each reached its target."""
    from podium.reference_runs.engine.launch import series

    config, converged = request.config(), True
    first = os.environ.get("RANK", "0") == "0"  # the other ranks print nothing

    def watch(path: Path) -> AbstractContextManager[Watch]:
        return follow(path, config, quiet=quiet or not first)

    for path, outcome in series(request, folder, runs, watch):
        # A failed run does not end the series: a result may have one, scored as its slowest
        converged &= outcome.converged
        if first:
            text = outcome_text(path, config, outcome)
            typer.echo("\n\n".join(filter(None, (outcome.trace, text))))
    if first:
        usage = f"--usage {request.setting.usage} --round {request.setting.round}"
        typer.echo(f"next: podium check {folder} {usage}")
    return converged


def _dry_log(request: RunRequest, output: Path | None) -> None:
    from podium.reference_runs.engine.launch import dry_log

    if output is None:
        sys.stdout.flush()
        dry_log(request, sys.stdout)
    elif output.exists():
        raise UsageFault(f"{output} already exists and is not overwritten")
    else:
        dry_log(request, str(output))


def pairs(texts: list[str]) -> dict[str, str]:
    """The values of `--set` by name; raises UsageFault."""
    values = {}
    for text in texts:
        # Only the first = separates: a value may contain others
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageFault(f"--set: expected KEY=VALUE, got {text!r}")
        values[name.strip()] = value.strip()
    return values
