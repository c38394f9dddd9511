"""`podium run`: train a bundled reference benchmark and log it.

The one place where the tool meets the trainers; nothing of torch is imported before it is needed.
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

from podium.compliance.commands.options import Division
from podium.compliance.commands.run_progress import follow, told
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.reference_runs.engine.setting import ORG
from podium.reference_runs.errors import RunAborted, RunFault

if TYPE_CHECKING:
    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.setting import Division as DivisionName


EPILOG_RUN = (
    "Examples:  podium run llama2_70b_lora --runs 10 --output logs    "
    "torchrun --nproc-per-node 2 -m podium run llama31_8b"
)


class Scale(StrEnum):
    """Sizes of a benchmark."""

    SMOKE = "smoke"
    REFERENCE = "reference"


class Precision(StrEnum):
    """Types of number that the forward pass computes in."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"


def _list(wanted: bool) -> None:
    if wanted:
        from podium.reference_runs.catalogue import find, names

        for name in names():
            typer.echo(f"{name:<16} {find(name).title}")
        raise typer.Exit


BenchmarkArgument = Annotated[
    str, typer.Argument(help="Which; --list names them.", metavar="BENCHMARK", show_default=False)
]
ListOption = Annotated[
    bool, typer.Option("--list", callback=_list, is_eager=True, help="List the benchmarks.")
]
ScaleOption = Annotated[
    Scale, typer.Option("--scale", help="smoke: minutes on a processor; reference: the real one.")
]
DivisionOption = Annotated[
    Division | None,
    typer.Option("--division", help="Default: the one whose rules a smoke run can satisfy."),
]
RoundOption = Annotated[
    str | None, typer.Option("--round", help="Whose form the log has; default the newest.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of the first run; then one more.")]
RunsOption = Annotated[int, typer.Option("--runs", min=1, help="Independent runs, one log each.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", help="Folder of the logs; default runs/BENCHMARK. Kept: what is in."),
]
PrecisionOption = Annotated[Precision, typer.Option("--precision", help="Of the forward pass.")]
CompileOption = Annotated[bool, typer.Option("--compile", help="Compile the model with torch.")]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="The real dataset's folder (reference scale).")
]
CacheOption = Annotated[
    Path | None, typer.Option("--cache", help="Keep here what smoke scale makes at some cost.")
]
OrgOption = Annotated[str, typer.Option("--org", help="Who runs, as the log says it.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a field of the config (repeatable).", metavar="KEY=VALUE"),
]
DryOption = Annotated[
    bool, typer.Option("--dry-log", help="Only the hyperparameter records; trains nothing.")
]
ProfileOption = Annotated[
    Path | None, typer.Option("--profile", help="Write a trace of some steps here; print tables.")
]
ProcessesOption = Annotated[
    int, typer.Option("--processes", min=1, help="Ranks on this machine, started by torchrun.")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="Of torch; default 1 at smoke scale.")
]
ShardOption = Annotated[
    bool, typer.Option("--shard", help="Share the optimizer's state out between the ranks.")
]
CheckpointOption = Annotated[
    Path | None, typer.Option("--checkpoint", help="Keep the state here after each evaluation.")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on from --checkpoint; the clock has not stopped.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


def run(
    benchmark: BenchmarkArgument,
    scale: ScaleOption = Scale.SMOKE,
    division: DivisionOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    seed: SeedOption = 1,
    runs: RunsOption = 1,
    output: OutputOption = None,
    precision: PrecisionOption = Precision.FP32,
    compile: CompileOption = False,  # noqa: A002 - the option's name
    device: DeviceOption = "auto",
    data: DataOption = None,
    cache: CacheOption = None,
    org: OrgOption = ORG,
    settings: SetOption = None,
    dry_log: DryOption = False,
    profile: ProfileOption = None,
    processes: ProcessesOption = 1,
    threads: ThreadsOption = None,
    shard: ShardOption = False,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
    list: ListOption = False,  # noqa: A002, ARG001 - the option's name; its callback answers
) -> None:
    """Train a bundled reference benchmark and write its log, a real run of real code.

    At smoke scale a small model of the benchmark's real class learns synthetic data in a minute or
    two; the log says so. At reference scale it is the model and the hyperparameters of the round.

    Exit status: 0 every run reached its target, 1 one did not, 2 bad arguments or nothing to train.
    """
    from podium.reference_runs.engine.launch import order
    from podium.reference_runs.engine.setting import Setting

    with _plain_faults():
        if processes > 1 and "RANK" not in os.environ:
            raise typer.Exit(_start_ranks(processes))
        setting = Setting(
            scale=scale.value,
            seed=seed,
            precision=precision.value,
            device=device,
            compile=compile,
            shard=shard,
            threads=threads,
            data=data,
            cache=cache,
            checkpoint=checkpoint,
            resume=resume,
            profile=profile,
            org=org,
        )
        of: DivisionName | None = division.value if division else None
        ordered = order(benchmark, setting, _pairs(settings or []), (round, of))
        if dry_log:
            _dry_log(ordered, output)
            return
        converged = _train(ordered, output or Path("runs", benchmark), runs, quiet=quiet)
        raise typer.Exit(Exit.CLEAN if converged else Exit.FOUND)


@contextmanager
def _plain_faults() -> Iterator[None]:
    """A run that was aborted ends with status 1, one that could not begin is a usage fault."""
    try:
        yield
    except RunAborted as error:
        typer.echo(f"podium: {error}", err=True)
        raise typer.Exit(Exit.FOUND) from None
    except RunFault as error:
        raise UsageFault(str(error)) from None


def _start_ranks(processes: int) -> int:
    from podium.reference_runs.engine.processes import start

    return start(processes, ["-m", "podium", *sys.argv[1:]])


def _train(ordered: RunRequest, folder: Path, runs: int, *, quiet: bool) -> bool:
    """Train one run after the other; returns whether each reached its target."""
    from podium.reference_runs.engine.launch import series

    config, converged = ordered.config(), True
    says = os.environ.get("RANK", "0") == "0"
    for path, outcome in series(
        ordered, folder, runs, lambda path: follow(path, config, quiet=quiet or not says)
    ):
        converged &= outcome.converged
        if says:
            typer.echo("\n\n".join(filter(None, (outcome.profile, told(path, config, outcome)))))
    if says:
        usage = f"--usage {ordered.setting.usage} --round {ordered.setting.round}"
        typer.echo(f"judge: podium check {folder} {usage}")
    return converged


def _dry_log(ordered: RunRequest, output: Path | None) -> None:
    from podium.reference_runs.engine.launch import dry_log

    if output is None:
        sys.stdout.flush()
        dry_log(ordered, sys.stdout)
    elif output.exists():
        raise UsageFault(f"{output} exists already; nothing is written over it")
    else:
        dry_log(ordered, str(output))


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageFault(f"--set is {text!r}; must be KEY=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs
