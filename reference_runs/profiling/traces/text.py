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
    for each in report.ranks[:MOST_RANKS]:
        steps = f"{each.steps} step{'s' if each.steps > 1 else ''}" if each.marked else "no steps"
        lines.append(f"{each.file}: rank {each.rank} of {each.ranks}, {steps}")
    if len(report.ranks) > MOST_RANKS:
        lines.append(f"and {len(report.ranks) - MOST_RANKS} more traces")
    lines += [f"note: {each}" for each in report.notes]
    shown = report.ranks[:MOST_RANKS]
    lines += ["", *rank_lines("time per step (ms)", shown, [each.parts for each in shown])]
    lines += [_row("step", [each.step_ms for each in shown])]
    lines += ["", *rank_lines("idle time by cause (ms)", shown, [each.idle for each in shown])]
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
    yield f"{title:<44}" + "".join(f"{f'rank {each.rank}':>9}" for each in ranks)
    times = [{each.name: each.ms for each in column} for column in columns]
    for name in dict.fromkeys(name for column in times for name in column):
        yield _row(name, [column.get(name, 0.0) for column in times])


def _row(name: str, values: Iterable[float]) -> str:
    return f"  {cut(name, 41):<42}" + "".join(f"{value:>9.3f}" for value in values)


def path_lines(
    title: str, critical: Sequence[NamedTime], path: Iterable[PathWork]
) -> Iterator[str]:
    """The critical path of one rank."""
    whole = sum(each.ms for each in critical) or 1.0
    yield title
    for each in critical:
        yield f"  {each.name:<42}{each.ms:>9.3f}{each.ms / whole:>8.1%}"
    yield "  the longest work on it"
    for work in path:
        yield f"    {cut(f'{work.kind}: {work.name}', 55):<56}{work.ms:>9.3f} x{work.segments}"


def collective_lines(collectives: Sequence[Collective]) -> Iterator[str]:
    """The collectives, with their skew."""
    yield (
        f"{'collectives (ms per call)':<30}{'calls':>6}{'transfer':>10}{'skew':>8}{'most':>8}"
        f"{'last rank':>11}{'GB/s':>7}"
    )
    for each in collectives[:MOST]:
        rate = "" if each.bus_bytes_per_s is None else f"{each.bus_bytes_per_s / 1e9:.3g}"
        last = f"{each.last_rank} ({each.last_share:.0%})"
        name = f"{each.name} {each.group}" if each.group else each.name
        yield (
            f"  {cut(name, 27):<28}{each.calls:>6}{each.transfer_ms:>10.3f}{each.skew_ms:>8.3f}"
            f"{each.longest_skew_ms:>8.3f}{last:>11}{rate:>7}"
        ).rstrip()


def kernel_lines(rank: RankTrace) -> Iterator[str]:
    """The kernels, operators with FLOP, launches and sequences of one rank."""
    kind = "kernels" if rank.on_device else "operators, own time"
    yield f"{kind} of rank {rank.rank}, the longest {min(MOST, len(rank.kernels))}"
    yield f"  {'':<50}{'ms':>9}{'calls':>8}{'share':>9}"
    for each in rank.kernels[:MOST]:
        yield f"  {cut(each.name, 49):<50}{each.ms:>9.3f}{each.calls:>8.4g}{each.share:>9.1%}"
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


def launch_lines(found: Launches) -> Iterator[str]:
    """The launches of a device's work."""
    yield (
        f"launches: {found.per_step:.4g} per step; median delay {found.median_delay_us:.4g} us,"
        f" longest {found.longest_delay_us:.4g} us"
    )
    yield (
        f"  {found.short:.0%} of kernels are shorter than their launch; at most"
        f" {found.longest_queue} queued"
    )


def cut(text: str, width: int) -> str:
    """Text shortened to a width."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
