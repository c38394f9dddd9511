"""Measured kernels as tables of at most 80 columns, as CSV, and in DeepBench's layout."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from podium.reference_runs.kernels.problems import (
    AllReduce,
    Call,
    Convolution,
    Gemm,
    Problem,
    Recurrent,
    SparseGemm,
    part_of,
)

if TYPE_CHECKING:
    from podium.reference_runs.kernels.result import KernelRun, Measured

MOST = 20
"""Number of kernels in the table; files have all."""
WIDEST = 34


def run_text(run: KernelRun) -> str:
    """Measurements by kind, and the longest kernels."""
    threads = f"{run.threads} thread{'s' if run.threads > 1 else ''}"
    lines = [f"{run.source}, {run.precision}, {threads} on {run.device} ({run.device_name})"]
    if run.roof:
        roof = run.roof
        lines.append(
            f"roof, measured here: {roof.flop_per_s / 1e9:.4g} GFLOP/s,"
            f" {roof.bytes_per_s / 1e9:.4g} GB/s"
        )
    if run.clock == "processor":
        lines.append("times are CPU times of this process: other processes do not count")
    lines += run.notes
    lines += ["", *_parts(run.kernels)]
    if run.step:
        lines += ["", *_shares(run)]
    done = sorted(
        (kernel for kernel in run.kernels if kernel.timing), key=lambda kernel: -_whole(kernel)
    )
    if done:
        lines += ["", *_kernels(done, counted=run.step is not None)]
    lines += _reasons(run.kernels)
    return "\n".join(lines)


def _whole(kernel: Measured) -> float:
    assert kernel.timing is not None
    return kernel.count * kernel.timing.median_ms


def _parts(kernels: Sequence[Measured]) -> Iterator[str]:
    yield f"{'kind':<30}{'measured':>10}{'skipped':>9}{'failed':>8}{'TFLOP/s':>10}{'of roof':>9}"
    for part in dict.fromkeys(part_of(kernel.problem) for kernel in kernels):
        own = [kernel for kernel in kernels if part_of(kernel.problem) == part]
        counts = [sum(kernel.status == word for kernel in own) for word in _STATUSES]
        best = max(own, key=lambda kernel: kernel.tflops or 0)
        rate = f"{best.tflops:.3g}" if best.tflops else ""
        share = f"{best.flop_share:.0%}" if best.flop_share else ""
        yield f"  {part:<28}{counts[0]:>10}{counts[1]:>9}{counts[2]:>8}{rate:>10}{share:>9}"


_STATUSES = ("measured", "skipped", "failed")


def _shares(run: KernelRun) -> Iterator[str]:
    assert run.step is not None
    step = run.step
    yield f"a step: {step.ms:.3f} ms (lower quartile of {step.steps})"
    yield f"  {'kernels by kind':<28}{'calls':>8}{'ms':>10}{'of step':>9}{'alone ms':>10}"
    for share in run.shares:
        yield _share(share.kind, share.calls, share.ms, share.share, share.alone_ms)
    if run.explained is not None:
        calls, ms, alone = (sum(getattr(share, name) for share in run.shares) for name in _SUMS)
        yield _share("together", calls, ms, run.explained, alone)


_SUMS = ("calls", "ms", "alone_ms")


def _share(name: str, calls: float, ms: float, share: float, alone: float) -> str:
    return f"  {name:<28}{calls:>8.0f}{ms:>10.3f}{share:>9.1%}{alone:>10.3f}"


def _kernels(done: Sequence[Measured], *, counted: bool) -> Iterator[str]:
    yield f"kernels, the longest {min(MOST, len(done))} of {len(done)} (ms of one call)"
    head = "calls" if counted else "cold"
    yield f"  {'':<{WIDEST}}{head:>8}{'ms':>10}{'+-':>5}{'GFLOP/s':>9}{'GB/s':>7}{'roof':>5}"
    for kernel in done[:MOST]:
        timing = kernel.timing
        assert timing is not None
        near = (timing.high_ms - timing.low_ms) / 2 / timing.median_ms
        cold = "" if timing.cold_ms is None else f"{timing.cold_ms:.3f}"
        extra = f"{kernel.count:g}" if counted else cold
        rate = "" if kernel.tflops is None else f"{kernel.tflops * 1000:.4g}"
        flow = "" if kernel.gb_per_s is None else f"{kernel.gb_per_s:.3g}"
        share = kernel.flop_share or kernel.bandwidth_share
        of_roof = "" if share is None else f"{share:.0%}"
        name = kernel.problem.label
        name = name if isinstance(kernel.problem, Call) else f"{kernel.problem.kind} {name}"
        yield (
            f"  {_cut(name):<{WIDEST}}{extra:>8}{timing.median_ms:>10.3f}{near:>5.0%}"
            f"{rate:>9}{flow:>7}{of_roof:>5}"
        )


def _cut(text: str) -> str:
    return text if len(text) < WIDEST else f"{text[: WIDEST - 2]}…"


def _reasons(kernels: Iterable[Measured]) -> list[str]:
    """Why kernels are not measured, each reason once."""
    counts: dict[tuple[str, str], int] = {}
    for kernel in kernels:
        if kernel.reason:
            counts[kernel.status, kernel.reason] = counts.get((kernel.status, kernel.reason), 0) + 1
    return ["", *(f"{count} {word}: {why}"[:80] for (word, why), count in counts.items())]


def run_csv(run: KernelRun) -> str:
    """A row for each kernel."""
    rows = run_rows(run)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0] if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def run_rows(run: KernelRun) -> list[dict[str, object]]:
    """A flat row for each kernel."""
    return [*map(_row, run.kernels)]


_TIMES = (
    *("first_ms", "cold_ms", "median_ms", "low_ms", "high_ms", "spread", "repeats"),
    "clock_mhz",
)


def _row(kernel: Measured) -> dict[str, object]:
    plain = asdict(kernel)
    times = plain.pop("timing") or {}
    del plain["problem"]
    head = {"kind": kernel.problem.kind, "kernel": kernel.problem.label}
    return {**head, **plain, **{name: times.get(name) for name in _TIMES}}


def deepbench_text(run: KernelRun) -> str:
    """DeepBench's tables: whole microseconds, a line for each problem, directions in columns."""
    times = {
        listed: round(kernel.timing.median_ms * 1000)
        for kernel in run.kernels
        if kernel.timing and (listed := as_listed(kernel.problem)) is not None
    }
    tables = (
        *_gemm_lines(times, run),
        *_convolution_lines(times, run),
        *_recurrent_lines(times, run),
    )
    return "\n".join((*tables, *_other_lines(times, run)))


def as_listed(problem: Problem) -> Problem | None:
    """A trainer's product in DeepBench's form; None if its layout cannot represent it."""
    if not isinstance(problem, Call):
        return problem
    sides = dict(problem.dimensions)
    if problem.kind == "gemm" and sides.get("batch", 1) == 1:
        return Gemm(sides["m"], sides["n"], sides["k"], bool(sides["a_t"]), bool(sides["b_t"]))
    return None


Times = dict[Problem, int]


def _gemm_lines(times: Times, run: KernelRun) -> Iterator[str]:
    own = {p: us for p, us in times.items() if isinstance(p, Gemm)}
    if own:
        yield "    m       n      k     a_t     b_t      precision        time (usec)"
    for p, us in own.items():
        flags = f"{'t' if p.a_t else 'n':>7}{'t' if p.b_t else 'n':>8}"
        yield f"{p.m:>7}{p.n:>8}{p.k:>8}{flags}{run.precision:>15}{us:>19}"


_CONVOLUTION = (
    *("w", "h", "c", "n", "k", "filter_w", "filter_h", "pad_w", "pad_h", "wstride", "hstride"),
)
_HEADS = ("w", "h", "c", "n", "k", "f_w", "f_h", "pad_w", "pad_h", "stride_w", "stride_h")


def _convolution_lines(times: Times, run: KernelRun) -> Iterator[str]:
    own: dict[tuple[int, ...], dict[str, int]] = {}
    for p, us in times.items():
        if isinstance(p, Convolution):
            key = tuple(getattr(p, name) for name in _CONVOLUTION)
            own.setdefault(key, {})[p.direction] = us
    if own:
        heads = "".join(f"{head:>9}" for head in _HEADS)
        times_of = "  fwd_time (usec)  bwd_inputs_time (usec)  bwd_params_time (usec)"
        yield f"{heads}    precision{times_of}"
    for key, us_by_way in own.items():
        sides = "".join(f"{side:>9}" for side in key)
        ways = ("forward", "backward_inputs", "backward_weights")
        texts = [str(us_by_way.get(way, "")) for way in ways]
        yield f"{sides}{run.precision:>13}{texts[0]:>17}{texts[1]:>24}{texts[2]:>24}".rstrip()


def _recurrent_lines(times: Times, run: KernelRun) -> Iterator[str]:
    own: dict[tuple[str, int, int, int], dict[str, int]] = {}
    for p, us in times.items():
        if isinstance(p, Recurrent):
            own.setdefault((p.cell, p.hidden, p.batch, p.timesteps), {})[p.direction] = us
    if own:
        yield "    type    hidden       N  timesteps  precision  fwd_time (usec)  bwd_time (usec)"
    for (cell, *sides), us_by_way in own.items():
        numbers = f"{sides[0]:>10}{sides[1]:>8}{sides[2]:>11}"
        texts = [str(us_by_way.get(way, "")) for way in ("forward", "backward")]
        yield f"{cell:>8}{numbers}{run.precision:>11}{texts[0]:>17}{texts[1]:>17}".rstrip()


def _other_lines(times: Times, run: KernelRun) -> Iterator[str]:
    sparse = {p: us for p, us in times.items() if isinstance(p, SparseGemm)}
    if sparse:
        yield "    m       n      k   sparsity      precision        time (usec)"
    for p, us in sparse.items():
        yield f"{p.m:>7}{p.n:>8}{p.k:>8}{p.sparsity:>10g}{run.precision:>15}{us:>19}"
    sums = {p: us for p, us in times.items() if isinstance(p, AllReduce)}
    if sums:
        yield "  # of floats   ranks   bytes transferred   time (msec)"
    for kernel, us in sums.items():
        yield f"{kernel.elements:>13}{kernel.ranks:>8}{4 * kernel.elements:>20}{us / 1000:>14.3f}"
