"""The analysis of traces as tables of at most 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from podium.reference_runs.profiling.traces.report import (
        Collective,
        Launches,
        NamedTime,
        PathWork,
        RankTrace,
        TraceReport,
    )

MOST, MOST_RANKS = 10, 4
"""Rows of a table, and ranks that are shown; the JSON has all."""


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
    title = f"critical path of rank {first.rank} (ms per step)"
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
    yield "  the longest work on it"
    for work in path:
        yield f"    {cut(f'{work.kind}: {work.name}', 55):<56}{work.ms:>9.3f} x{work.segments}"


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
    """The kernels, operators with FLOP, launches and sequences of one rank."""
    kind = "kernels" if rank.on_device else "operators, own time"
    yield f"{kind} of rank {rank.rank}, the longest {min(MOST, len(rank.kernels))}"
    yield f"  {'':<50}{'ms':>9}{'calls':>8}{'share':>9}"
    for kernel in rank.kernels[:MOST]:
        yield (
            f"  {cut(kernel.name, 49):<50}{kernel.ms:>9.3f}{kernel.calls:>8.4g}{kernel.share:>9.1%}"
        )
    if rank.counted:
        yield ""
        yield f"  {'products, convolutions, attention':<50}{'ms':>9}{'calls':>8}{'GFLOP/s':>9}"
    for operator in rank.counted[:MOST]:
        rate = "" if operator.rate is None else f"{operator.rate / 1e9:.4g}"
        name = cut(f"{operator.name} {operator.shapes}", 49)
        yield f"  {name:<50}{operator.ms:>9.3f}{operator.calls:>8.4g}{rate:>9}"
    if rank.launches:
        yield ""
        yield from launch_lines(rank.launches)
    if rank.sequences:
        yield "frequent sequences of kernels (ms per step)"
    for sequence in rank.sequences:
        name = cut(" > ".join(sequence.kernels), 55)
        yield f"  {name:<56}{sequence.ms:>9.3f} x{sequence.calls:.4g}"


def launch_lines(launches: Launches) -> Iterator[str]:
    """The launches of a device's work."""
    yield (
        f"launches: {launches.per_step:.4g} per step;"
        f" median delay {launches.median_delay_us:.4g} us,"
        f" longest {launches.longest_delay_us:.4g} us"
    )
    yield (
        f"  {launches.short:.0%} of kernels are shorter than their launch; at most"
        f" {launches.longest_queue} queued"
    )


def cut(text: str, width: int) -> str:
    """Text shortened to a width."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
