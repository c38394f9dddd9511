"""The analysis of traces as tables of at most 80 columns."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from podium.reference_runs.profiling.traces.names import kernel_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from podium.reference_runs.profiling.traces.report import (
        Annotation,
        Collective,
        Copies,
        Launches,
        NamedTime,
        PathWork,
        RankTrace,
        TraceReport,
    )
    from podium.reference_runs.profiling.traces.report import (
        Sequence as KernelSequence,
    )

MOST, MOST_RANKS = 10, 4
"""Rows of a table, and ranks that are shown; the JSON has all."""
LEAST = 0.0005
"""Fraction of the critical path; shorter work on it is not shown."""


def traces_text(report: TraceReport) -> str:
    """All tables of an analysis."""
    first = report.ranks[0]
    lines: list[str] = []
    for rank in report.ranks[:MOST_RANKS]:
        steps = f"{rank.steps} step{'s' if rank.steps > 1 else ''}" if rank.marked else "no steps"
        lines.append(f"{rank.file}: rank {rank.rank} of {rank.ranks}, {steps}")
    if len(report.ranks) > MOST_RANKS:
        lines.append(f"and {len(report.ranks) - MOST_RANKS} more traces")
    lines += [f"note: {note}" for note in report.notes]
    shown = report.ranks[:MOST_RANKS]
    lines += ["", *rank_lines("time per step (ms)", shown, [rank.parts for rank in shown])]
    lines += [_row("step", [rank.step_ms for rank in shown])]
    lines += ["", *rank_lines("idle time by cause (ms)", shown, [rank.idle for rank in shown])]
    title = f"critical path of rank {first.rank} (ms per step): work outside it causes no delay"
    lines += ["", *path_lines(title, first.critical, first.path)]
    if report.collectives:
        lines += ["", *collective_lines(report.collectives)]
    lines += ["", *kernel_lines(first)]
    return "\n".join(lines)


def rank_lines(
    title: str, ranks: Sequence[RankTrace], columns: Sequence[Iterable[NamedTime]]
) -> Iterator[str]:
    """A row for each name, a column for each rank."""
    yield f"{title:<44}" + "".join(f"{f'rank {rank.rank}':>9}" for rank in ranks)
    times = [{row.name: row.ms for row in column} for column in columns]
    for name in dict.fromkeys(name for column in times for name in column):
        yield _row(name, [column.get(name, 0.0) for column in times])


def _row(name: str, values: Iterable[float]) -> str:
    return f"  {cut(name, 41):<42}" + "".join(f"{value:>9.3f}" for value in values)


def path_lines(
    title: str, critical: Sequence[NamedTime], path: Iterable[PathWork]
) -> Iterator[str]:
    """The critical path of one rank."""
    whole = sum(part.ms for part in critical) or 1.0
    yield title
    for part in critical:
        yield f"  {part.name:<42}{part.ms:>9.3f}{part.ms / whole:>8.1%}"
    yield f"  {'the longest work on it':<58}{'ms':>9}{'segments':>10}"
    works = [work for work in path if work.ms >= whole * LEAST]
    names = kernel_names((work.name for work in works), 44)
    for work in works:
        yield f"    {f'{work.kind}: {names[work.name]}':<56}{work.ms:>9.3f}{work.segments:>10}"


def collective_lines(collectives: Sequence[Collective]) -> Iterator[str]:
    """The collectives, with their skew."""
    yield (
        f"{'collectives (ms per call)':<30}{'calls':>6}{'transfer':>10}{'skew':>8}{'most':>8}"
        f"{'last rank':>11}{'GB/s':>7}"
    )
    for collective in collectives[:MOST]:
        rate = (
            "" if collective.bus_bytes_per_s is None else f"{collective.bus_bytes_per_s / 1e9:.3g}"
        )
        last = f"{collective.last_rank} ({collective.last_share:.0%})"
        name = f"{collective.name} {collective.group}" if collective.group else collective.name
        yield (
            f"  {cut(name, 27):<28}{collective.calls:>6}{collective.transfer_ms:>10.3f}"
            f"{collective.skew_ms:>8.3f}{collective.longest_skew_ms:>8.3f}{last:>11}{rate:>7}"
        ).rstrip()


def kernel_lines(rank: RankTrace) -> Iterator[str]:
    """The kernels, operators, ranges, copies, launches and sequences of one rank."""
    kind = "kernels" if rank.on_device else "operators, own time"
    kernels = rank.kernels[:MOST]
    names = kernel_names((kernel.name for kernel in kernels), 49)
    yield f"{kind} of rank {rank.rank}, the longest {len(kernels)}"
    yield f"  {'':<50}{'ms':>9}{'calls':>8}{'share':>9}"
    for kernel in kernels:
        yield f"  {names[kernel.name]:<50}{kernel.ms:>9.3f}{kernel.calls:>8.4g}{kernel.share:>9.1%}"
    if rank.launchers:
        yield ""
        yield f"  {'operators that launch kernels':<50}{'ms':>9}{'calls':>8}{'share':>9}"
    for launcher in rank.launchers[:MOST]:
        yield (
            f"  {cut(launcher.name, 49):<50}{launcher.ms:>9.3f}{launcher.calls:>8.4g}"
            f"{launcher.share:>9.1%}"
        )
    yield from _counted_lines(rank)
    yield from copy_lines(rank.copies)
    yield from annotation_lines(rank.annotations, on_device=rank.on_device)
    if rank.launches:
        yield ""
        yield from launch_lines(rank.launches)
    yield from sequence_lines(rank.sequences)


def _counted_lines(rank: RankTrace) -> Iterator[str]:
    if rank.counted:
        yield ""
        yield f"  {'products, convolutions, attention':<50}{'ms':>9}{'calls':>8}{'GFLOP/s':>9}"
    for operator in rank.counted[:MOST]:
        rate = "" if operator.rate is None else f"{operator.rate / 1e9:.4g}"
        name = cut(f"{operator.name} {operator.shapes}", 49)
        yield f"  {name:<50}{operator.ms:>9.3f}{operator.calls:>8.4g}{rate:>9}"


def copy_lines(copies: Sequence[Copies]) -> Iterator[str]:
    """The copies and fills of memory, with their bandwidth."""
    if copies:
        yield ""
        yield f"{'copies of memory (per step)':<40}{'ms':>9}{'calls':>8}{'size':>10}{'rate':>12}"
    for copy in copies:
        size = "" if copy.bytes is None else prefixed(copy.bytes, "B")
        rate = "" if copy.bytes_per_s is None else prefixed(copy.bytes_per_s, "B/s")
        line = f"  {cut(copy.name, 37):<38}{copy.ms:>9.3f}{copy.calls:>8.4g}{size:>10}{rate:>12}"
        yield line.rstrip()


def annotation_lines(annotations: Sequence[Annotation], *, on_device: bool) -> Iterator[str]:
    """The annotated ranges."""
    if annotations:
        yield ""
        yield (
            f"{'annotated ranges (ms per step)':<39}{'calls':>6}{'host':>9}{'device':>9}"
            f"{'shortest':>9}{'longest':>8}"
        )
    for found in annotations[:MOST]:
        device = f"{found.device_ms:.3f}" if on_device else ""
        yield (
            f"  {cut(found.name, 36):<37}{found.calls:>6.4g}{found.host_ms:>9.3f}{device:>9}"
            f"{found.shortest_ms:>9.3f}{found.longest_ms:>8.3f}"
        )


def sequence_lines(sequences: Sequence[KernelSequence]) -> Iterator[str]:
    """The frequent sequences, a line for each kernel of one."""
    if sequences:
        yield ""
        yield f"{'frequent sequences of kernels (per step)':<60}{'ms':>9}{'calls':>8}"
    names = kernel_names((name for found in sequences for name in found.kernels), 49)
    for found in sequences:
        figures = f"{found.ms:>9.3f}{found.calls:>8.4g}"
        for name, same in groupby(names[kernel] for kernel in found.kernels):
            times = len([*same])
            kernel = f"{name} ({times} times)" if times > 1 else name
            yield f"  {kernel:<58}{figures}" if figures else f"  > {kernel}"
            figures = ""


def launch_lines(launches: Launches) -> Iterator[str]:
    """The launches of a device's work."""
    yield (
        f"launches: {launches.per_step:.4g} per step;"
        f" median delay {_delay(launches.median_delay_us)},"
        f" longest {_delay(launches.longest_delay_us)}"
    )
    yield (
        f"  {launches.short:.0%} of kernels are shorter than their launch; at most"
        f" {launches.longest_queue} queued"
    )
    yield (
        f"  {launches.tiny:.0%} of kernels are shorter than 10 us: {launches.tiny_time:.0%} of the"
        " time of kernels"
    )
    yield (
        f"  {launches.late_starts:.0%} of kernels start over 100 us after the call;"
        f" {launches.slow_calls:.0%} of calls take over 50 us"
    )


def _delay(us: float) -> str:
    return f"{us:.4g} us" if us < 1000 else f"{us / 1000:.4g} ms"


PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def prefixed(value: float, unit: str) -> str:
    """A value with a decimal prefix before its unit."""
    factor, prefix = next((choice for choice in PREFIXES if value >= choice[0]), PREFIXES[-1])
    return f"{value / factor:.4g} {prefix}{unit}"


def cut(text: str, width: int) -> str:
    """Text shortened to a width."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
