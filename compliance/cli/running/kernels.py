"""`podium kernels`: measure single kernels, of lists or of trainers, on a device."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.analysis.tables import ChartOption, RowsOption, TextForm, deliver
from podium.compliance.cli.help import examples, group
from podium.compliance.cli.options import OutputOption as FileOption
from podium.compliance.cli.options import QuietOption
from podium.compliance.cli.running.kernel_files import Form, KernelRequest, entry
from podium.compliance.cli.running.kernel_ranks import (
    RANKS,
    MeshOption,
    RanksOption,
    rows_and_ranks,
)
from podium.compliance.cli.running.machine import Precision
from podium.compliance.cli.running.machine import PrecisionOption as TrainerPrecisionOption
from podium.compliance.cli.running.machine import ThreadsOption as TrainerThreadsOption
from podium.compliance.cli.running.progress import bar
from podium.compliance.cli.running.run import (
    DataOption,
    Scale,
    ScaleOption,
    SetOption,
    pairs,
    reported,
)
from podium.compliance.errors import UsageFault
from podium.reference_runs.engine.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from podium.reference_runs.kernels.result import KernelRun
    from podium.reference_runs.kernels.session import Conditions, Item

app = group("Measure single kernels, of DeepBench's lists or of a trainer, and compare devices.")


class List(StrEnum):
    """DeepBench's lists of problems."""

    TRAINING = "training"
    SERVER = "server"
    DEVICE = "device"


class KernelKind(StrEnum):
    """The kinds of kernel that the lists have."""

    GEMM = "gemm"
    CONVOLUTION = "convolution"
    RECURRENT = "recurrent"
    SPARSE_GEMM = "sparse_gemm"
    ALL_REDUCE = "all_reduce"


ListOption = Annotated[List, typer.Option("--list", help="List of DeepBench.")]
KindOption = Annotated[
    list[KernelKind] | None, typer.Option("--kind", help="Only kernels of this kind (repeatable).")
]
PrecisionOption = Annotated[Precision, typer.Option("--precision", help="Number type.")]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.", metavar="DEVICE")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="Threads of torch; default torch's setting.", metavar="N"
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        help="Time limit, such as 60s, 5m or 1h; kernels are spread over kinds and sizes.",
        metavar="TIME",
    ),
]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="New folder for kernels.json, kernels.html, kernels.csv and deepbench.txt.",
        metavar="DIR",
    ),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Continue an interrupted call in --output.")
]
FormOption = Annotated[Form, typer.Option("--format", help="Output format.")]
TrainerArgument = Annotated[
    str,
    typer.Argument(help="Benchmark; see podium run --list.", metavar="TRAINER", show_default=False),
]
ExportOption = Annotated[
    bool, typer.Option("--export", help="List the kernels with FLOP and bytes; do not measure.")
]
ComparedArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="kernels.json, its folder, or a public sheet such as NV_V100:mixed_fp16.",
        metavar="A B...",
        show_default=False,
    ),
]
EachOption = Annotated[bool, typer.Option("--each", help="Print a row for each kernel.")]


def _list(value: bool) -> None:
    if value:
        from podium.reference_runs.kernels.sheets import names

        typer.echo("\n".join(names()))
        raise typer.Exit


SheetsOption = Annotated[
    bool, typer.Option("--list", callback=_list, is_eager=True, help="List the public sheets.")
]


@app.command(
    epilog=examples(
        "podium kernels run --budget 60s",
        "podium kernels run --kind gemm --precision bf16 --output kernels/here",
        "podium kernels run --kind all_reduce --mesh 2x4",
    )
)
def run(
    name: ListOption = List.TRAINING,
    kinds: KindOption = None,
    precision: PrecisionOption = Precision.FP32,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    ranks: RanksOption = RANKS,
    mesh: MeshOption = None,
    budget: BudgetOption = None,
    output: FolderOption = None,
    resume: ResumeOption = False,
    format: FormOption = Form.TEXT,  # noqa: A002 - the option's name
    quiet: QuietOption = False,
) -> None:
    """Measure the kernels of DeepBench's lists: FLOP/s, bytes/s, and the share of the roofline.

    A kernel that does not fit or is not supported is skipped. Results are saved every second;
    --resume continues an interrupted call.

    Exit status: 0 measured, 1 a kernel failed, 2 bad arguments.
    """
    rows, ranks = (1, ranks) if mesh is None else rows_and_ranks(mesh, ranks)
    request = KernelRequest(output, format, budget=budget, resume=resume, quiet=quiet)
    with reported():
        from podium.reference_runs.catalogue import need_torch

        need_torch()
        from podium.reference_runs.kernels.lists import listed
        from podium.reference_runs.kernels.session import Conditions, Item, device_of, threads_of

        selected_kinds = kinds or [*KernelKind]
        problems = [
            problem for problem in listed(name.value, ranks, rows) if problem.kind in selected_kinds
        ]
        if not problems:
            raise UsageFault(f"list {name} has no kernel of this kind")
        conditions = Conditions(
            source=f"deepbench {name}",
            device=device_of(device),
            precision=precision.value,
            threads=threads_of(threads),
            ranks=ranks,
        )
        result = _measured([Item(problem) for problem in problems], conditions, request)
    _finish(result, request)


def _finish(result: KernelRun, request: KernelRequest) -> None:
    request.keep(result)
    request.show(result)
    if any(kernel.status == "failed" for kernel in result.kernels):
        raise typer.Exit(1)


def _measured(items: Sequence[Item], conditions: Conditions, request: KernelRequest) -> KernelRun:
    from podium.reference_runs.kernels.session import Bench, allow_tf32, measure, spread

    measurements = request.known(conditions)
    allow_tf32(conditions.device, conditions.precision)
    budget_s = request.budget_s
    order = None if budget_s is None else spread([item.problem for item in items])
    bench = Bench(conditions, budget_s)
    try:
        with bar("kernels", len(items), quiet=request.quiet) as watch:
            return measure(
                items,
                bench,
                budget_s=budget_s,
                order=order,
                known=measurements,
                keep=request.keep,
                watch=watch,
            )
    finally:
        bench.close()


@app.command(
    "from",
    epilog=examples(
        "podium kernels from llama31_8b",
        "podium kernels from resnet --scale reference --export --format csv",
    ),
)
def from_trainer(
    trainer: TrainerArgument,
    scale: ScaleOption = Scale.SMOKE,
    export: ExportOption = False,
    precision: TrainerPrecisionOption = Precision.FP32,
    device: DeviceOption = "auto",
    data: DataOption = None,
    threads: TrainerThreadsOption = None,
    ranks: RanksOption = RANKS,
    settings: SetOption = None,
    budget: BudgetOption = None,
    output: FolderOption = None,
    resume: ResumeOption = False,
    format: FormOption = Form.TEXT,  # noqa: A002 - the option's name
    quiet: QuietOption = False,
) -> None:
    """Record the kernels of a trainer's step, measure them, and print their share of the step.

    At reference scale without --data the step is recorded without tensor data: shapes, counts, FLOP
    and bytes are the same as in the run, but nothing is trained.

    Exit status: 0 measured, 1 a kernel failed, 2 bad arguments.
    """
    request = KernelRequest(output, format, budget=budget, resume=resume, quiet=quiet)
    setting = Setting(
        scale=scale.value,
        precision=precision.value,
        device=device,
        data=data,
        threads=threads,
    )
    with reported():
        result = _of_trainer(trainer, setting, pairs(settings or []), (ranks, export), request)
    _finish(result, request)


def _of_trainer(
    trainer: str,
    setting: Setting,
    changes: Mapping[str, str],
    recording_options: tuple[int, bool],
    kernel_request: KernelRequest,
) -> KernelRun:
    from podium.reference_runs.catalogue import need_torch
    from podium.reference_runs.engine.launch import run_request

    request = run_request(trainer, setting, changes)
    need_torch()
    from podium.reference_runs.kernels.session import Conditions, skipped, threads_of
    from podium.reference_runs.kernels.trainer import explained, recorded

    ranks, export = recording_options
    with recorded(request, ranks, timed=not export) as recording:
        conditions = Conditions(
            source=f"{trainer} at {setting.scale} scale",
            device=recording.device,
            precision=setting.precision,
            threads=threads_of(None),
            ranks=ranks,
        )
        if not export:
            return explained(_measured(recording.items, conditions, kernel_request), recording)
        skipped_items = tuple(
            skipped(item, setting.precision, "listed only") for item in recording.items
        )
        return conditions.listed(skipped_items)


@app.command(
    epilog=examples(
        "podium kernels compare kernels/here NV_V100 NV_P100:fp32",
        "podium kernels compare NV_V100 NV_T4:fp32 --chart compared.svg",
    )
)
def compare(
    compared: ComparedArgument = None,
    each: EachOption = False,
    format: RowsOption = TextForm.TEXT,  # noqa: A002 - the option's name
    output: FileOption = None,
    chart: ChartOption = None,
    list: SheetsOption = False,  # noqa: A002, ARG001 - the option's name; its callback answers
) -> None:
    """Compare measured kernels with each other and with DeepBench's public sheets.

    Exit status: 0 compared, 2 bad arguments.
    """
    from podium.compliance.tools.store.analyses.table import Analysis, Shown
    from podium.reference_runs.kernels.compare import EACH, SUMMARY, each_kernel, summary

    if not compared:
        raise UsageFault("nothing to compare; expected kernels files or public sheets (see --list)")
    with reported():
        entries = [entry(name) for name in compared]
    notes = tuple(note for entry in entries for note in entry.notes)
    details = Analysis(
        "kernels",
        f"Kernels: {', '.join(entry.name for entry in entries)}",
        EACH,
        each_kernel(entries),
        by=("part",),
        shown=tuple(map(Shown, EACH[1:])),
        notes=(*notes, "speed is relative to the first device."),
    )
    totals = details._replace(
        columns=SUMMARY,
        rows=summary(entries),
        shown=tuple(map(Shown, SUMMARY[1:])),
        notes=(
            *notes,
            "total_ms and speed (geometric mean, relative to the first) cover only common kernels.",
        ),
    )
    if chart is not None:
        from podium.compliance.tools.store.analyses.charts import write_chart

        write_chart(details, chart)
    deliver(details if each else totals, format, output)
